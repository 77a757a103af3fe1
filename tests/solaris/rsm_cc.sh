#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rsm-cc: options of Sun's compiler become others or are dropped with a note, pragmas are honoured, the C of Kernighan
# and Ritchie compiles, and a pointer that an undeclared function would cut is an error.
#
#   rsm_cc.sh RSM_CC SOURCE_DIR LIBDIR COMPILER
set -u
rsm_cc=$1 source=$2 libdir=$3 compiler=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-cc-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export RSM_CC=$compiler RSM_CC_LIBRARIES="-L$libdir -Wl,-rpath,$libdir"
export RSM_CC_INCLUDES="-I$source/compat/solaris/include -I$source/compat/include -I$source/include"
cd "$work" || exit 1

failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
cc() {
    bash "$rsm_cc" "$@" >"$work/log" 2>&1
}
# becomes OPTION... : WORD...: all these words are in the command, and there is no note.
# drops OPTION...: none of the option is in the command, and a note names it.
becomes() {
    local options=() word
    while [ "$1" != : ]; do
        options+=("$1")
        shift
    done
    shift
    bash "$rsm_cc" -xdryrun "${options[@]}" x.o >commands.txt 2>notes || fail "${options[*]}: $(cat notes)"
    [ -s notes ] && fail "${options[*]}: $(cat notes)"
    for word in "$@"; do
        tr ' ' '\n' <commands.txt | tr -d '\134' | grep -qxF -e "$word" || fail "${options[*]} is not $word: $(cat commands.txt)"
    done
}
drops() {
    bash "$rsm_cc" -xdryrun "$@" x.o >commands.txt 2>notes || fail "$*: $(cat notes)"
    grep -q 'note: .* dropped' notes || fail "$*: no note"
    tr ' ' '\n' <commands.txt | grep -qxF -e "$1" && fail "$1 was not dropped"
}

becomes -mt : -pthread
# The others are translated before the compiler is asked for anything, so that one compiler is enough.
if ! "$compiler" --version | grep -q clang; then
    becomes -lthread : -pthread
    becomes -lposix4 : -lrt
    becomes -xO3 : -O2
    becomes -xO5 : -O3
    becomes -G -h libx.so.1 : -shared -fPIC -Wl,-soname,libx.so.1
    becomes -G -hliby.so : -Wl,-soname,liby.so
    becomes -R/a:/b -R /c : -Wl,-rpath,/a:/b -Wl,-rpath,/c
    becomes -v -errwarn : -Wall -Werror
    becomes -errwarn=%all : -Werror
    becomes -KPIC : -fPIC
    becomes -K pic : -fpic
    becomes -xcode=pic32 : -fPIC
    becomes -Xt : -std=gnu89
    becomes -Xc : -std=c99
    becomes -xc99=all : -std=gnu99
    becomes -z text -zdefs : -Wl,-z,text -Wl,-z,defs
    becomes -Bstatic : -Wl,-Bstatic
    becomes -z allextract : -Wl,--whole-archive
    becomes -xarch=amd64 : -D_GNU_SOURCE
    becomes -DX=1 -D Y -Ia -I b : -DX=1 -DY -Ia -Ib
    becomes -Wl,-z,now -fno-common : -Wl,-z,now -fno-common # not Sun's
    for option in -xarch=v8plus -m32 -xtarget=ultra3 -xchip=ultra -erroff=E_X -errwarn=E_X -lsocket -lnsl -lgen \
        -lkstat -ldoor -lumem -xlibmil -dalign -fsimple=2 -fns -xprefetch=auto -Wc,-Qrm; do
        drops "$option"
    done
    drops -K thread
    drops -B direct
    drops -Y P,/usr/lib
fi
for wrong in "-M nosuch" "x.il" "-h" "-P"; do
    # shellcheck disable=SC2086 # words
    bash "$rsm_cc" -xdryrun x.o $wrong >log 2>&1 && fail "$wrong is no error"
    grep -q '^rsm-cc: error: ' log || fail "$wrong: no message: $(cat log)"
done

# The C of Kernighan and Ritchie, as it is by default (-Xa): no types, no prototypes, calls before the definition.
cat >old.c <<'C'
struct pair { int first, second; };
static number = 3;
char *names[2];
main(argc, argv)
    int argc;
    char **argv;
{
    struct pair pair;
    unsigned char *bytes = names[0];
    set(&pair, number);
    if (argc > 9)
        nothing(argv, bytes);
    printf("%d\n", pair.first + later(pair.second, 'a'));
    exit(0);
}
set(pair, value)
    struct pair *pair;
{
    pair->first = value;
    pair->second = 2 * value;
}
later(value, letter)
    char letter;
{
    return value + letter - 'a';
}
nothing(words, bytes)
    char **words;
    char *bytes;
{
    long *pointer = words[0];
    int other = pointer == (long *)bytes;
    if (other)
        return;
    return 1;
}
C
# A compiler that refuses what gcc 14 and clang 16 refuse, whichever this one is.
cat >strict-cc <<END
#!/bin/sh
exec $RSM_CC -Werror=implicit-int -Werror=implicit-function-declaration -Werror=int-conversion \
    -Werror=incompatible-pointer-types -Werror=return-type "\$@"
END
chmod +x strict-cc
./strict-cc -std=gnu99 -c old.c 2>/dev/null && fail "the strict compiler takes old C: it shows nothing"
for RSM_CC in "$compiler" "$work/strict-cc"; do
    for dialect in '' -Xa -Xt -Xs -Xc -xc99=all; do
        rm -f old old.o
        # shellcheck disable=SC2086 # no word if empty
        { cc $dialect old.c -o old && [ "$(./old)" = 9 ]; } || fail "$RSM_CC $dialect: old C: $(cat log)"
    done
    cc -O -c old.c || fail "$RSM_CC -c: old C: $(cat log)"
    cc -errwarn old.c -o old && fail "$RSM_CC: -errwarn takes warnings for none"
    # What an undeclared function returns would be cut to half a pointer.
    for use in 'char *p = nobody_declares(10);' 'char *p = (char *)nobody_declares(10);'; do
        echo "int main() { $use p[0] = 1; return 0; }" >cut.c
        for dialect in -Xa -Xc; do
            cc $dialect -erroff=%all -c cut.c && fail "$RSM_CC $dialect: half a pointer compiles: $use"
            grep -q 'rsm-cc: note: cut.c calls undeclared' log || fail "$RSM_CC $dialect: no note"
        done
        grep -q nobody_declares log || fail "nobody says what is undeclared: $(cat log)"
    done
    # Where all functions are declared a number may travel in a pointer.
    echo 'int f(void *p); int main(void) { int i = 3; return f((void *)i); }' >number.c
    cc -c number.c || fail "$RSM_CC: a number in a pointer: $(cat log)"
done
RSM_CC=$compiler

for option in --version -V; do
    { cc $option && grep -q '^rsm-cc (librsm) [0-9]' log && [ "$(wc -l <log)" -gt 1 ]; } || fail "$option: $(cat log)"
done
{ cc --help && grep -q '^Usage: rsm-cc' log && grep -q -- '-xarch' log; } || fail "--help: $(cat log)"

# Pragmas, some of them from a header.
cat >pragmas.h <<'C'
#pragma ident "@(#)pragmas.h	1.2"
#pragma init(from_header)
C
align='#pragma align 256 (global)'
"$RSM_CC" --version | grep -q clang && align=
{
    echo "$align"
    cat <<'C'
#pragma ident	"@(#)pragmas.c	1.7 02/11/05"
#include <errno.h>
#include <stdio.h>
#pragma redefine_extname outside inside
#include "pragmas.h"
#pragma init (first , second)
#	pragma fini(last)
#if 0
#pragma init(nobody)
#endif
char global[3];
extern int outside(void);
extern int other(void);
int outside(void) { return 5; }
int real(void) { return 7; }
static int begun;
static void from_header(void) { begun += 1; }
static void first(void) { begun += 10; }
static void second(void) { begun += 100; }
static void last(void) { puts("last"); }
int main(void)
{
    printf("%d %d %s %s\n", begun, other(), sys_errlist[ENOENT], __FILE__);
    return sys_nerr < 100 || (size_t)global % ALIGNED != 0;
}
/* Behind the calls: clang takes other() for two functions in calls that follow. */
#pragma weak other = real
C
} >pragmas.c
wanted=$(printf '111 7 No such file or directory pragmas.c\nlast\n0')
check_pragmas() {
    [ "$(./pragmas 2>&1; echo $?)" = "$wanted" ] || fail "$1: $(./pragmas 2>&1)"
}
aligned=${align:+256}
cc -v -errwarn -xO3 -mt -xarch=v9 -DALIGNED="${aligned:-1}" pragmas.c -o pragmas || fail "compiled and linked at once: $(cat log)"
[ -s log ] && fail "not silent: $(cat log)"
check_pragmas "compiled and linked at once"
rm -f pragmas.o pragmas
cc -v -errwarn -DALIGNED="${aligned:-1}" -c pragmas.c || fail "compiled: $(cat log)"
cc -# -DALIGNED="${aligned:-1}" -c pragmas.c
if ! "$RSM_CC" --version | grep -q clang; then
    grep -q unused-command-line-argument log && fail "an option of clang's for gcc"
fi
cc -o pragmas pragmas.o || fail "linked: $(cat log)"
check_pragmas "compiled, then linked"
nm pragmas.o | grep -q ' T inside$' || fail "redefine_extname was ignored"

# Alignment that cannot be had is no silent matter: it is there, or an error.
printf '#pragma align 128 (kept)\nstatic char kept[3] = "x";\nchar *use(void) { return kept; }\n' >aligned.c
printf 'extern char *use(void);\nint main(void) { return (int)((unsigned long)use() %% 128); }\n' >main.c
if cc -c aligned.c; then
    { cc main.c aligned.o -o aligned && ./aligned; } || fail "align was ignored"
fi
printf '#pragma init\nint x;\n' >wrong.c
cc -c wrong.c && fail "#pragma init without a function was ignored"

# A shared library with a map file of Solaris's.
printf 'LIB_1 {\n    global: entry;\n    local: *;\n};\n' >map
printf 'int entry(void) { return 3; }\nint inner(void) { return 4; }\n' >entry.c
cc -G -Kpic -h libentry.so.1 -R "$work" -M map entry.c -o libentry.so || fail "a library: $(cat log)"
readelf -d libentry.so >dynamic
grep -q 'SONAME.*\[libentry\.so\.1\]' dynamic || fail "-h was ignored"
grep -qE 'R(UN)?PATH.*'"$work" dynamic || fail "-R was ignored"
nm -D libentry.so | grep -q 'inner' && fail "-M was ignored"
# shellcheck disable=SC2016 # it is Solaris's own
printf '$mapfile_version 2\nSYMBOL_SCOPE { global: entry; };\n' >map2
cc -G -M map2 entry.c && fail "a map file of version 2 was taken"

# A program of 2002, as its makefile would have it.
cc -mt -xO3 -xarch=v8plusa -v -KPIC -D_REENTRANT "$source/tests/solaris/msgpump.c" -o msgpump -lrsm -lthread \
    -lposix4 -lsocket -lnsl -lgen || fail "msgpump: $(cat log)"
[ "$(grep -c ' dropped: ' log)" -eq 4 ] || fail "msgpump: other notes: $(cat log)"
RSM_CC_QUIET=1 bash "$rsm_cc" -c -lsocket entry.c 2>&1 | grep . && fail "RSM_CC_QUIET is not quiet"
exit $failed
