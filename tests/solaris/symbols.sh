#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library's symbols are those of its map, and the headers declare each of them.
#
#   symbols.sh NM LIBRARY SOURCE_DIR [SANITIZERS]
set -u
nm=$1 library=$2 kit=$3/compat/solaris sanitizers=${4:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-symbols.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

sed -n 's/^ *\([a-z_0-9]*\);$/\1/p' "$kit/librsm-solaris.map" | sort > "$work/wanted"
# Sanitizers have symbols of their own.
"$nm" -D --defined-only "$library" | sed -n 's/.* [TDB] \([^@]*\)@*RSM_SOLARIS_1$/\1/p' | sort \
    > "$work/exported"
[ -s "$work/wanted" ] || exit 1
if ! diff "$work/wanted" "$work/exported"; then
    echo "FAILED: the map (<) and the library (>) differ"
    exit 1
fi
if [ -z "$sanitizers" ] && "$nm" -D --defined-only "$library" | grep -v '[@ ]RSM_SOLARIS_1$'; then
    echo "FAILED: these symbols have no version"
    exit 1
fi
while read -r symbol; do
    grep -rqE "[ *]${symbol#rsm_solaris_}(\(|\[\];|;)" "$kit/include" || {
        echo "FAILED: no header declares $symbol"
        exit 1
    }
done < "$work/wanted"
echo "$(wc -l < "$work/wanted") symbols"
