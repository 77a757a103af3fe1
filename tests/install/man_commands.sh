#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_commands.sh COMPILER PREFIX LIBDIR: the command lines that manual pages show for compiling a program
# do so with what is installed, and the programs say hello. install.sh has set the environment.
set -u
compiler=$1 prefix=$2 libdir=$3
here=$(cd "$(dirname "$0")" && pwd)
man=$RSM_SOURCE_DIR/man
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-man-commands.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 ran=0
fail() {
    echo "FAILED: $*"
    failed=1
}

mkdir "$work/bin"
for name in cc gcc; do
    printf '#!/bin/sh\nexec %s "$@"\n' "$compiler" >"$work/bin/$name"
done
chmod +x "$work/bin/cc" "$work/bin/gcc"
export PATH=$work/bin:$prefix/bin:$PATH
# rsm-cc names the directories of the prefix that it was built for.
export RSM_CC_LIBRARIES=-L$prefix/$libdir
export RSM_CC_INCLUDES="-I$prefix/include/rsm-solaris -I$prefix/include"

# commands PAGE: what its .Dl lines show, as typed; a line that ends with a backslash goes on.
commands() {
    sed -n 's/^\.Dl //p' "$man/$1" | sed -e 's/^"\(.*\)"$/\1/' -e 's/\\(dq/"/g' -e 's/\\ / /g' \
        -e 's/\\e/\\/g' -e 's/^\$ //' | sed -e ':more' -e '/\\$/{N' -e 's/\\\n//' -e 'b more' -e '}'
}

# run PAGE PROGRAM: type them beside file.c and prog.c, with a makefile as there are many.
run() {
    local command directory
    while IFS= read -r command; do
        directory=$work/$((ran += 1))
        mkdir "$directory"
        cp "$here/$2" "$directory/file.c"
        cp "$here/$2" "$directory/prog.c"
        # shellcheck disable=SC2016 # for make
        printf 'LDLIBS = -lrsm -lthread -lsocket\nprog: prog.c\n\t$(CC) -o prog prog.c $(LDLIBS)\n' \
            >"$directory/Makefile"
        if ! (cd "$directory" && bash -c "$command") >"$work/log" 2>&1; then
            cat "$work/log"
            fail "$1: $command"
            continue
        fi
        case $command in *-'###'*) continue ;; esac # shows what it would do
        set -- "$1" "$2" "$directory"/prog "$directory"/a.out
        [ -x "$3" ] || set -- "$1" "$2" "$4"
        [ "$(timeout 60 "$3" 2>&1)" = hello ] || fail "$1: $command: says $("$3" 2>&1 | head -n 1)"
    done < <(commands "$1")
}

run rsm-solaris.7 hello_solaris.c
run rsm-cc.1 hello_solaris.c
run sisci.7 hello_sisci.c
[ "$ran" -ge 7 ] || fail "only $ran commands found"
echo "$ran command lines of manual pages run"
exit "$failed"
