#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where the test of a product file is: tests/unit/DIR/test_FILE.c for librsm/DIR/FILE.c, and
# tests/unit/DIR/test_FILE.c for DIR/FILE.c elsewhere. A file without one has a row in tests/tested-through.txt.
#
#   mirror.sh SOURCE_DIR [-]
#
# With -, standard input is the output of `ctest -N`, and each of these tests must be in it: test_FILE.c as
# unit.DIR.FILE, or as several tests of that name with a further word.
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

find librsm rsmd tools compat kernel examples -name '*.c' ! -path '*/build/*' ! -name '*.mod.c' |
    LC_ALL=C sort > "$work/files"
find tests -type f | sed 's|^tests/||' > "$work/tests"
registered=
if [ "${2-}" = - ]; then
    registered=$work/registered
    sed -n 's/^ *Test *#[0-9]*: [^.]*\.unit\./unit./p' > "$registered"
fi
[ "$(wc -l < "$work/files")" -gt 0 ] || {
    echo "there are no product files"
    exit 1
}
awk -F' *[|] *' -v list=tests/tested-through.txt -v files="$work/files" -v tests="$work/tests" -v registered="$registered" '
    function wrong(what) {
        print list ":" FNR ": " what
        bad = 1
    }
    function own_test(file,   dir) {
        sub(/^librsm\//, "", file)
        dir = file
        sub(/[^\/]*$/, "", dir)
        return "unit/" dir "test_" substr(file, length(dir) + 1)
    }
    # Whether CTest has the test of a file.
    function is_registered(test,   name) {
        sub(/\.c$/, "", test)
        sub(/\/test_/, "/", test)
        gsub(/\//, ".", test)
        for (name in has)
            if (name == test || index(name, test ".") == 1)
                return 1
        return 0
    }
    BEGIN {
        while (registered != "" && (getline line < registered) > 0)
            has[line] = 1
        while ((getline line < files) > 0)
            is_file[line] = order[++files_count] = line
        while ((getline line < tests) > 0)
            is_test[line] = 1
    }
    /^#/ || NF == 0 { next }
    NF != 3 || $2 == "" || $3 == "" {
        wrong("a row is: file | tests | reason")
        next
    }
    {
        if (!($1 in is_file))
            wrong("there is no " $1)
        else if ($1 in row)
            wrong($1 " has two rows")
        else if (own_test($1) in is_test)
            wrong($1 " has a test, tests/" own_test($1) ": its row is not needed")
        row[$1] = 1
        count = split($2, named, / +/)
        for (i = 1; i <= count; i++)
            if (!(named[i] in is_test))
                wrong("there is no tests/" named[i])
    }
    END {
        for (i = 1; i <= files_count; i++) {
            test = own_test(order[i])
            if (test in is_test) {
                if (registered != "" && !is_registered(test)) {
                    print "tests/" test ": CTest does not run it"
                    bad = 1
                }
            } else if (!(order[i] in row)) {
                print order[i] ": there is neither tests/" test " nor a row in " list
                bad = 1
            }
        }
        exit bad
    }' tests/tested-through.txt
