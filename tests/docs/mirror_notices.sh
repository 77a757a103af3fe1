#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mirror.sh must notice product files without a test and without a row, and rows that are wrong or not needed.
#
#   mirror_notices.sh SOURCE_DIR
set -u
lint=$(realpath "$1")/tests/docs/mirror.sh || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
for file in librsm/base/a.c librsm/base/b.c rsmd/node/a.c tools/t/t.c tests/unit/base/test_a.c \
    tests/unit/rsmd/node/test_a.c tests/unit/tools/t/test_t.c tests/integration/test_all.c; do
    mkdir -p "$work/$(dirname "$file")"
    : > "$work/$file"
done
mkdir -p "$work/compat" "$work/kernel" "$work/examples"

# rows RESULT SAYS ROW...: what the lint says of a list of these rows.
rows() {
    expected=$1 says=$2
    shift 2
    printf '# file | tests | reason\n\n' > "$work/tests/tested-through.txt"
    [ $# -eq 0 ] || printf '%s\n' "$@" >> "$work/tests/tested-through.txt"
    if "$lint" "$work" > "$work/said" 2>&1; then
        result=accepted
    else
        result=refused
    fi
    [ "$result" = "$expected" ] && grep -qF "$says" "$work/said" && return
    [ "$result" = accepted ] && [ "$expected" = accepted ] && return
    echo "$*: $result, and not '$says'"
    cat "$work/said"
    failed=1
}

good='librsm/base/b.c | integration/test_all.c | it needs the rest'
rows accepted '' "$good"
rows accepted '' 'librsm/base/b.c | integration/test_all.c unit/base/test_a.c | two tests'
rows refused 'librsm/base/b.c: there is neither tests/unit/base/test_b.c nor a row'
rows refused 'there is no librsm/base/c.c' "$good" 'librsm/base/c.c | integration/test_all.c | gone'
rows refused 'has a test, tests/unit/base/test_a.c' "$good" 'librsm/base/a.c | integration/test_all.c | why'
rows refused 'has a test, tests/unit/rsmd/node/test_a.c' "$good" 'rsmd/node/a.c | integration/test_all.c | why'
rows refused 'two rows' "$good" "$good"
rows refused 'there is no tests/integration/test_b.c' 'librsm/base/b.c | integration/test_b.c | gone'
rows refused 'there is no tests/x.c' 'librsm/base/b.c | integration/test_all.c x.c | one of two is gone'
rows refused 'a row is' "$good" 'librsm/base/b.c | integration/test_all.c'
rows refused 'a row is' "$good" 'librsm/base/b.c | | no test'
rows refused 'a row is' 'librsm/base/b.c | integration/test_all.c | '

# listed RESULT SAYS TEST...: what the lint says if these are the tests that CTest has.
listed() {
    expected=$1 says=$2
    shift 2
    printf '  Test #1: debug.%s\n' "$@" > "$work/list"
    if "$lint" "$work" - < "$work/list" > "$work/said" 2>&1; then
        result=accepted
    else
        result=refused
    fi
    [ "$result" = "$expected" ] && grep -qF "$says" "$work/said" && return
    [ "$result" = accepted ] && [ "$expected" = accepted ] && return
    echo "CTest has $*: $result, and not '$says'"
    cat "$work/said"
    failed=1
}

rows accepted '' "$good"
listed accepted '' unit.base.a unit.rsmd.node.a unit.tools.t.t other.test
listed accepted '' unit.base.a.once unit.base.a.twice unit.rsmd.node.a unit.tools.t.t
listed refused 'tests/unit/base/test_a.c: CTest does not run it' unit.base.ab unit.rsmd.node.a unit.tools.t.t
listed refused 'tests/unit/base/test_a.c: CTest does not run it' valgrind.unit.base.a unit.rsmd.node.a unit.tools.t.t
listed refused 'tests/unit/rsmd/node/test_a.c: CTest does not run it' unit.base.a unit.node.a unit.tools.t.t

# A test of the same name in another folder is not the file's.
mkdir "$work/tests/unit/core"
mv "$work/tests/unit/base/test_a.c" "$work/tests/unit/core/test_a.c"
rows refused 'librsm/base/a.c: there is neither' "$good"
rm -r "$work/tests/unit/core"
: > "$work/tests/unit/base/test_a.c"
rm "$work/tests/unit/tools/t/test_t.c"
rows refused 'tools/t/t.c: there is neither' "$good"
exit "$failed"
