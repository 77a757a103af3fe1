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
