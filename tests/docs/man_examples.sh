#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_examples.sh SOURCE COMPILER LIBDIR [SANITIZERS]: every example in C of the manual pages compiles
# without a warning, alone; and the one that is a whole program runs and says hello.
set -u
source=$1 compiler=$2 libdir=$3 sanitizers=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../published/private_node.sh"
private_node_begin
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# Each literal display of the section of a page on functions becomes a file, and of any page each one that
# includes a header or looks like C: it is then compiled as it is. The pages write a backslash as \e.
for page in "$source"/man/*.[1-9]*; do
    case $page in
    *.3*) functions=1 ;;
    *) functions=0 ;;
    esac
    awk -v base="$work/$(basename "$page")" -v functions="$functions" '
        function looks_like_c(line) {
            return line ~ /^ *#include / || line ~ /^ *(if|for|while|switch) \(.*[;{)]$/ ||
                   line ~ /^ *(static |const )*(int|void|char|struct [a-z_]+|[a-z_0-9]+_t) .*[;{(,]$/ ||
                   line ~ /^ *(rsm_|SCI)[A-Za-z_]+\(.*[,;]$/
        }
        /^\.Sh / { examples = functions && $0 == ".Sh EXAMPLES" }
        /^\.Ed/ {
            if (inside && is_c)
                printf "%s", text > (base "." ++count ".c")
            inside = 0
        }
        inside { gsub(/\\e/, "\\"); is_c = is_c || looks_like_c($0); text = text $0 "\n" }
        /^\.Bd / { inside = 1; text = ""; is_c = examples }' "$page"
done

flags="-std=c99 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -Wshadow -Wconversion -I$source/include
       -I$source/compat/include -I$source/compat/sisci/include"
compiled=0 ran=0
for example in "$work"/*.c; do
    # shellcheck disable=SC2086 # words
    "$compiler" $flags -fsyntax-only "$example" || fail "$(basename "$example") does not compile"
    compiled=$((compiled + 1))
    grep -q '^int main' "$example" || continue
    # shellcheck disable=SC2086 # words
    "$compiler" $flags ${sanitizers:+-fsanitize=$sanitizers} "$example" -L"$libdir" -lrsm \
        -Wl,-rpath,"$libdir" -o "$work/program" || fail "$(basename "$example") does not link"
    said=$(timeout 60 "$work/program" 2>&1)
    [ "$said" = hello ] || fail "$(basename "$example") said: $said"
    ran=$((ran + 1))
done
[ $ran -gt 0 ] || fail "no example is a whole program"
for page in "$source"/man/*.3rsm; do
    [ -f "$work/$(basename "$page").1.c" ] || fail "$(basename "$page") has no example"
done
private_node_finished || failed=1
echo "$compiled examples compiled, $ran run"
exit $failed
