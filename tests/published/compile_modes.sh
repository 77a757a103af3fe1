#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compile a program of the old kind as its users would, in every dialect that they may have set, and
# link it with -lrsm. Its warnings are its own affair; errors are ours.
#
#   compile_modes.sh SOURCE COMPILER SOURCE_DIR LIBRARY_DIR [SANITIZERS]
set -u
source=$1 compiler=$2 tree=$3 libraries=$4 sanitizers=${5:-}

work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-modes.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
CPATH=$tree/compat/include:$tree/include
LIBRARY_PATH=$libraries
export CPATH LIBRARY_PATH
sanitize=${sanitizers:+-fsanitize=$sanitizers}

dialects="gnu89 gnu99 gnu11 gnu17"
case $("$compiler" --version 2>&1) in
*clang*) ;; # refuses "void main" in the strict dialects, whatever the headers say
*) dialects="c89 c99 c11 $dialects" ;;
esac
# C23 abolished declarations without parameters, which the old programs have.
echo 'extern void sleep(); void nap(void); void nap(void) { sleep(1); }' > "$work/probe.c"
if "$compiler" -std=gnu2x -c "$work/probe.c" -o "$work/probe.o" 2>"$work/log"; then
    dialects="$dialects gnu2x"
else
    echo "$compiler: gnu2x is left out: it has no declarations without parameters"
fi

# Not the lines of the source that compilers quote: they are not ours to spread.
complaints() {
    grep -E '^[^ ]*: (fatal )?error: |ld: ' "$work/log" | cut -c1-300
}

failed=0 modes=0
try() {
    modes=$((modes + 1))
    # shellcheck disable=SC2086 # $sanitize is one word or none
    if ! (cd "$work" && "$compiler" "$@" "$source" -lrsm $sanitize -o program) > "$work/log" 2>&1
    then
        failed=$((failed + 1))
        echo "FAILED: $compiler $*"
        complaints
    fi
}
try
for dialect in $dialects; do
    try -std="$dialect"
    try -std="$dialect" -O2
    try -std="$dialect" -D_GNU_SOURCE
    try -std="$dialect" -O2 -D_GNU_SOURCE
done
echo "$compiler: $modes modes, $failed failed"
[ $failed -eq 0 ]
