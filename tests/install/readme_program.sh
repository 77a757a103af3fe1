#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# readme_program.sh README: the program that README shows compiles by the line that it shows for that, without a warning, and
# prints what it says. Of "cc" and of where librsm is, the environment tells (PATH, CPATH, LIBRARY_PATH, LD_LIBRARY_PATH).
set -eu
readme=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # Markdown's
sed -n '/^```c$/,/^```$/p' "$readme" | sed '/^```/d' >"$work/prog.c"
[ "$(grep -c '^int main(' "$work/prog.c")" -eq 1 ] || { echo "$readme shows no program"; exit 1; }
line=$(sed -n 's/^    \(cc -o prog prog\.c .*\)/\1/p' "$readme")
[ -n "$line" ] || { echo "$readme shows no line that compiles it"; exit 1; }
said=$(cd "$work" && sh -euc "$line" 2>&1) || { echo "$said"; exit 1; }
[ -z "$said" ] || { echo "$line: $said"; exit 1; }
printed=$(cd "$work" && timeout 60 ./prog)
grep -qF "prints \`$printed\`" "$readme" || { echo "it prints: $printed"; exit 1; }
echo "README's program prints: $printed"
