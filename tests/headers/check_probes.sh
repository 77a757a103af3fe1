#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The libraries have the static probes that rsm-probes(7) lists, with as many arguments, and no others.
#
#   check_probes.sh READELF SOURCE LIBDIR BUILT_WITH_PROBES
set -u
readelf=$1 source=$2 libdir=$3 built=$4
LC_ALL=C
export LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-probes.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
libraries="librsm.so.2 rsm/librsm_mapping.so libsisci.so.1"

# FILE PROBE ARGUMENTS, each once; a name is one probe at several places.
: > "$work/found"
for library in $libraries; do
    "$readelf" -n "$libdir/$library" > "$work/notes" || exit 1
    awk -v file="${library##*/}" '
        $1 == "Provider:" { provider = $2 }
        $1 == "Name:" { name = $2 }
        $1 == "Arguments:" { print provider == "librsm" ? file : provider, name, NF - 1 }' \
        "$work/notes" >> "$work/found"
done
if [ "$built" != 1 ]; then
    [ ! -s "$work/found" ] || { echo "FAILED: a build without probes has some"; exit 1; }
    echo "this build has no probes (RSM_WITH_USDT)"
    exit 77
fi
sort -u "$work/found" > "$work/sorted"

# As the page has it: .It Li NAME Ta Pa FILE Ta a, b, c
{
    awk '/^\.It Li [a-z_]+ Ta Pa / { print $6, $3, NF - 7 }' "$source/man/rsm-probes.7"
} | sort > "$work/wanted"
[ "$(wc -l < "$work/wanted")" -eq 7 ] || { echo "FAILED: rsm-probes(7) does not list 7 probes"; exit 1; }
diff -u "$work/wanted" "$work/sorted" || { echo "FAILED: the probes differ (- missing, + too many)"; exit 1; }
echo "$(wc -l < "$work/found") places of 7 probes"
