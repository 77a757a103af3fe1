#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test.sh RUN_OPTIONS... SCRIPT: run SCRIPT in lab machines that run systemd, with the packages of build/package
# ($RSM_PACKAGES) in /packages/new, the same as release 1.0.0-0 in /packages/before, in /lab/programs two programs that
# were compiled with these packages, prog (debian/tests/prog.c) and load (load.c), and what page.py finds in doc/two-hosts.md and doc/wireguard.md.
# The option --kernel is for the disks, too.
set -eu
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source=$(realpath "$here/../../..")
packages=${RSM_PACKAGES:-$source/build/package}
cache=${RSM_LAB_CACHE:-$source/build/lab}
not_run() {
    echo "lab: not run: $*"
    exit 77
}

ls "$packages"/rsmd_*.deb >/dev/null 2>&1 || not_run "there are no packages in $packages: ./dev package"
mkdir -p "$cache"
wanted=()
for ((i = 1; i < $#; i++)); do
    next=$((i + 1))
    [ "${!i}" != --kernel ] || wanted=(--kernel "${!next}")
done
kernel=$("$here/../run.sh" "${wanted[@]}" --which-kernel) || {
    status=$?
    echo "$kernel"
    exit "$status"
}
# shellcheck disable=SC2086 # version and root
disks=$("$here/system.sh" "$packages" "$cache" $kernel) || exit $?
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
for package in "$packages"/librsm2_*.deb "$packages"/librsm-dev_*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
libraries=$(dirname "$(find "$work/root" -name librsm.so.2)")
for program in "$source/debian/tests/prog.c" "$here/load.c"; do
    "${CC:-cc}" "$program" -o "$work/$(basename "$program" .c)" -I "$work/root/usr/include" -L "$libraries" -lrsm
done
options=()
for disk in $disks; do
    options+=(--disk "$disk")
done
for program in prog load; do # without their libraries, which packages bring
    options+=(--file "$work/$program=/lab/programs/$program")
done
python3 -B "$here/page.py" "$source/doc/two-hosts.md" "$source/packaging/examples/rsm-two-hosts.conf" \
    "$source/doc/wireguard.md" "$work"
options+=(--file "$work/steps=/lab/steps" --file "$work/rdma=/lab/rdma" --file "$work/wireguard=/lab/wireguard" --file "$source/debian/tests/first-steps=/lab/first-steps"
    --file "$source/README.md=/lab/README.md")
"$here/../run.sh" "${options[@]}" "$@"
