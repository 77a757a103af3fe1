#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# refused.sh CMAKE CC SOURCE: processors with 32-bit pointers and C libraries other than glibc are refused in
# one line, by the headers and by the configuration.
set -u
cmake=$1 cc=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect TEXT COMMAND...: it fails and says so, once.
expect() {
    text=$1
    shift
    if "$@" >/dev/null 2>"$work/output"; then
        echo "FAILED: not refused: $*"
        failed=1
    elif [ "$(grep -c "$text" "$work/output")" -ne 1 ]; then
        echo "FAILED: no \"$text\" of: $*"
        cat "$work/output"
        failed=1
    else
        echo "ok: $(grep "$text" "$work/output")"
    fi
}

# A compiler for such processors need not be here: what the headers ask is left out instead.
expect 'error.*i686 and x32 are not supported' "$cc" -U__LP64__ -E -I "$source/include" \
    -fno-diagnostics-show-caret "$source/include/rsm/rsm_common.h"
"$cc" -E -I "$source/include" "$source/include/rsm/rsm_common.h" >/dev/null || failed=1

expect 'i686 and x32 are not supported' "$cmake" -S "$source" -B "$work/narrow" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_SIZEOF_VOID_P=4 -DCMAKE_C_COMPILER_FORCED=TRUE
# As a musl compiler does, this one knows of no glibc.
printf '#!/bin/sh\nexec %s -U__GLIBC__ -D_FEATURES_H=1 "$@"\n' "$cc" >"$work/musl-cc"
chmod +x "$work/musl-cc"
if command -v musl-gcc >/dev/null; then
    compiler=$(command -v musl-gcc)
else
    compiler=$work/musl-cc
fi
expect 'librsm needs glibc' "$cmake" -S "$source" -B "$work/musl" -DCMAKE_C_COMPILER="$compiler"
exit $failed
