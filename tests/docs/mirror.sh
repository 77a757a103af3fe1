#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where the test of a product file is: tests/unit/DIR/test_FILE.c for librsm/DIR/FILE.c, and
# tests/unit/DIR/test_FILE.c for DIR/FILE.c elsewhere. A file without one has a row in tests/tested-through.txt.
#
#   mirror.sh SOURCE_DIR
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

find librsm rsmd tools compat kernel examples -name '*.c' ! -path '*/build/*' ! -name '*.mod.c' |
    LC_ALL=C sort > "$work/files"
find tests -type f | sed 's|^tests/||' > "$work/tests"
[ "$(wc -l < "$work/files")" -gt 0 ] || {
    echo "there are no product files"
    exit 1
}
awk -F' *[|] *' -v list=tests/tested-through.txt -v files="$work/files" -v tests="$work/tests" '
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
    BEGIN {
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
        for (i = 1; i <= files_count; i++)
            if (!(order[i] in row) && !(own_test(order[i]) in is_test)) {
                print order[i] ": there is neither tests/" own_test(order[i]) " nor a row in " list
                bad = 1
            }
        exit bad
    }' tests/tested-through.txt
