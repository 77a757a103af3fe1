#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The units of systemd: they are valid, they name no node, and the service is confined.
#
#   units.sh BUILD-DIRECTORY RSMD
set -eu
build=$1
rsmd=$2

if ! command -v systemd-analyze >/dev/null; then
    echo "systemd-analyze is not installed" >&2
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is installed later is where it was built.
for unit in "$build"/packaging/*.service "$build"/packaging/*.socket; do
    name=$(basename "$unit" | sed 's/@/@eth0/')
    sed -E "s#^(ExecStart=)[^ ]*/rsmd#\1$rsmd#" "$unit" >"$work/$name"
done
if ! found=$(systemd-analyze verify --man=no "$work"/*.service "$work"/*.socket 2>&1); then
    echo "$found" >&2
    exit 1
fi
# A word about one of these units, as opposed to others of this host, is a mistake in it.
if echo "$found" | grep -F "$work" >&2; then
    exit 1
fi

# Without a configuration the host has no node that users would meet instead of their own.
for unit in rsmd.service rsmd.socket; do
    grep -q '^ConditionPathExists=/.*/rsm\.conf$' "$work/$unit" || {
        echo "$unit starts without a configuration" >&2
        exit 1
    }
done

# What rsm-rxe@ executes, of an interface that would execute something else if its name were part of that, and on a kernel
# without the module.
mkdir "$work/bin"
printf '#!/bin/sh\necho "$#: $*" >>"%s/said"\nexit 1\n' "$work" >"$work/bin/rdma"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/modinfo"
chmod +x "$work/bin/rdma" "$work/bin/modinfo"
interface='e";touch evil;"0'
# shellcheck disable=SC2016 # the shell below expands "$interface"
sed -e ':more' -e '/\\$/{N' -e 's/\\\n//' -e 'b more' -e '}' "$build/packaging/rsm-rxe@.service" |
    sed -n 's/^Exec[A-Z][a-z]*=-\{0,1\}//p' | sed -e 's/\$\$/$/g' -e 's/ %I$/ "$interface"/' \
    -e "s/%I/$(printf %s "$interface" | sed 's/[/&]/\\&/g')/g" >"$work/commands"
[ "$(wc -l <"$work/commands")" -eq 2 ] || { cat "$work/commands" >&2; exit 1; }
(cd "$work" && PATH=$work/bin:$PATH interface=$interface sh ./commands >"$work/out" 2>&1) || :
if [ -e "$work/evil" ] || ! grep -qxF "7: link add rxe_$interface type rxe netdev $interface" "$work/said"; then
    cat "$work/said" "$work/out" >&2
    echo "rsm-rxe@ executes the name of an interface" >&2
    exit 1
fi
if ! [ -d /sys/module/rdma_rxe ] && ! grep -q 'linux-image-amd64' "$work/out"; then
    cat "$work/out" >&2
    echo "rsm-rxe@ does not say which kernel has rdma_rxe" >&2
    exit 1
fi

if grep -nE '^(ListenSequentialPacket|ExecStart)=.*(node-[0-9]|--node)' "$work"/*; then
    echo "a unit names a node: it would fit that one alone" >&2
    exit 1
fi

# Tenths: up to 4.9 is OK.
systemd-analyze security --offline=true --threshold=30 --no-pager "$work/rsmd.service" >"$work/report" || {
    cat "$work/report" >&2
    exit 1
}
tail -n 1 "$work/report"
