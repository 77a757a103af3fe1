#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test.sh FOLDER SOURCE: install the packages of FOLDER in a fresh Debian, a change root that mmdebstrap makes of this
# host's release, and run the tests of SOURCE/debian/tests there, each in a copy of its own with the packages that its
# Depends names. Then build and install SOURCE in such a copy with exactly the packages that README.md names. Needs root
# and the apt mirror ($RSM_MIRROR, or http://deb.debian.org/debian).
set -eu
. "$(dirname "$(realpath "$0")")/root.sh"
folder=$(realpath "$1")
source=$(realpath "$2")
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
[ "$(id -u)" -eq 0 ] || {
    echo "test.sh: only root can make a change root" >&2
    exit 1
}
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages"
cp "$folder"/*.deb "$work/packages"
(cd "$work/packages" && apt-ftparchive packages . >Packages)
base=$folder/base-$release.tar
root_archive "$release" "$base"

# fresh: a new copy at $root, with the packages to be tested, and nothing else that is not essential.
root=$work/root
fresh() {
    root_new "$base" "$root"
    cp -R "$work/packages" "$root/packages"
    echo 'deb [trusted=yes] file:/packages ./' >"$root/etc/apt/sources.list.d/tested.list"
    inside apt-get update -qq
}

# inside COMMAND...: in $root.
inside() {
    root_inside "$root" "$@"
}

failed=()
# run NAME COMMAND...: a test; its output is shown if it fails.
run() {
    local name=$1 start=$SECONDS
    shift
    if "$@" >"$folder/test-$name.log" 2>&1; then
        echo "passed: $name ($((SECONDS - start)) s)"
    else
        tail -n 40 "$folder/test-$name.log"
        echo "FAILED: $name (all of its output: $folder/test-$name.log)"
        failed+=("$name")
    fi
}

packaged() {
    local name=$1 depends
    depends=$(sed -n "/^Tests: $name\$/,/^\$/s/^Depends: //p" "$source/debian/tests/control" | tr -d ,)
    fresh
    # shellcheck disable=SC2086 # a list of words
    inside apt-get install -y -q --no-install-recommends $depends
    mkdir -p "$root/source/tests"
    cp -R "$source/debian" "$root/source/debian"
    cp -R "$source/tests/install" "$root/source/tests/install"
    mkdir "$root/source/tests/docs"
    cp "$source/tests/docs/links.sh" "$root/source/tests/docs"
    cp "$source/README.md" "$root/source"
    inside sh -c "cd /source && exec timeout 900 debian/tests/$name"
}

# legacy-program, which runs without rsmd above, with it.
installed_together() {
    fresh
    inside apt-get install -y -q --no-install-recommends librsm-dev gcc libc6-dev rsmd
    mkdir -p "$root/source"
    cp -R "$source/debian" "$root/source/debian"
    inside sh -c 'cd /source && exec timeout 900 debian/tests/legacy-program'
}

# README.md as a reader types it who has built the packages: its line of installation in their folder, without any
# repository that has them, and then what it says to try.
readme() {
    local line user
    line=$(sed -n '/^## Install/,/^## /s/^    \(apt install \..*rsmd.*\)/\1/p' "$source/README.md")
    [ -n "$line" ] || {
        echo "README.md does not install packages"
        return 1
    }
    fresh
    rm "$root/etc/apt/sources.list.d/tested.list"
    inside apt-get update -qq
    mkdir -p "$root/tmp/source"
    cp "$source/README.md" "$source/debian/tests/first-steps" "$root/tmp/source"
    inside sh -euc "cd /packages; ${line/apt install/apt-get install -y -q}; useradd --create-home reader" || return 1
    # What somebody who looks at a node has no use for.
    if inside dpkg-query -W libcmocka0 2>/dev/null; then
        echo "rsm-tools brings the above"
        return 1
    fi
    for user in '' reader; do
        inside timeout 300 /tmp/source/first-steps /tmp/source/README.md $user || return 1
    done
    # Its second line, for SISCI.
    line=$(sed -n '/^## Install/,/^## /s/^    \(apt install \..*sisci.*\)/\1/p' "$source/README.md")
    inside sh -euc "cd /packages; ${line/apt install/apt-get install -y -q}" || return 1
    inside timeout 300 /tmp/source/first-steps /tmp/source/README.md reader
}

from_source() {
    local packages
    packages=$(sed -n 's/^    \(build-essential .*\)/\1/p' "$source/README.md")
    [ -n "$packages" ] || {
        echo "README.md names no packages"
        return 1
    }
    fresh
    # shellcheck disable=SC2086
    inside apt-get install -y -q --no-install-recommends $packages
    mkdir "$root/source"
    tar -x -C "$root/source" --strip-components=1 -f "$folder"/librsm_*.orig.tar.xz 2>/dev/null ||
        (xz -dc "$folder"/librsm_*.orig.tar.xz | tar -x -C "$root/source" --strip-components=1)
    # shellcheck disable=SC2016
    inside sh -euc 'cd /source
        cmake --preset release
        cmake --build --preset release
        cmake --install build/release
        ldconfig
        cc tests/install/hello.c -lrsm -o /tmp/hello
        [ "$(/tmp/hello)" = hello ]
        rsmtest --version
        bash tests/docs/links.sh /usr/local/share/doc/librsm
        tests/install/readme_program.sh /usr/local/share/doc/librsm/README.md
        # The service as README sets it up. sudo is not needed here, and neither a service manager nor udev runs.
        apt-get install -y -q --no-install-recommends systemd udev >/dev/null
        printf "#!/bin/sh\nexec \"\$@\"\n" >/usr/local/bin/sudo
        printf "#!/bin/sh\necho \"\$*\" >>/tmp/udev\n" >/usr/local/bin/udevadm
        # systemctl enables offline, but starts nothing without a manager.
        printf "%s\n" "#!/bin/bash" "exec /bin/systemctl \"\${@/#--now/--quiet}\"" >/usr/local/bin/systemctl
        chmod +x /usr/local/bin/sudo /usr/local/bin/udevadm /usr/local/bin/systemctl
        sed -n "/^    sudo systemd-sysusers/,/^\$/p" README.md >/tmp/lines
        grep -q "systemctl enable" /tmp/lines
        SYSTEMD_OFFLINE=1 sh -eux /tmp/lines
        grep -qx "control --reload" /tmp/udev
        grep -q "^rsm:" /etc/group
        grep -q "^rsm-ntb:" /etc/group
        [ -e /etc/systemd/system/multi-user.target.wants/rsmd.service ]
        [ -e /etc/systemd/system/sockets.target.wants/rsmd.socket ]
        [ -d /etc/rsm ]
        SYSTEMD_OFFLINE=1 systemctl disable rsmd.socket rsmd.service
        rm /usr/local/bin/sudo /usr/local/bin/udevadm /usr/local/bin/systemctl
        cmake --build build/release --target uninstall
        left=$(find /usr/local -name "*rsm*" -o -name "*sisci*")
        [ -z "$left" ] || { echo "left: $left"; exit 1; }'
}

mapfile -t names < <(sed -n 's/^Tests: //p' "$source/debian/tests/control")
if [ -n "${RSM_PACKAGE_TESTS-}" ]; then # some of them
    read -ra names <<<"$RSM_PACKAGE_TESTS"
fi
for name in "${names[@]}"; do
    run "$name" packaged "$name"
done
run with-daemon installed_together
run readme readme
[ "${RSM_FROM_SOURCE-yes}" = no ] || run from-source from_source
[ ${#failed[@]} -eq 0 ] || {
    echo "failed: ${failed[*]}"
    exit 1
}
echo "the packages install and work in a fresh Debian ($release)"
