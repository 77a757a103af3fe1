#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rsm_strerrorname() and rsm_strerror() know every error of rsm_common.h, with a text of its own, and take any number.
#
#   strerror.sh SOURCE_DIR COMPILER
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-strerror.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
{
    cat <<'C'
#include <limits.h>
#include <rsm/rsm_strerror.h>
#include <stdio.h>
#include <string.h>
static const struct { int error; const char *name; } errors[] = {
C
    sed -n "s/^#define \(RSMERR_[A-Z_]*\|RSM_SUCCESS\) *(\{0,1\}[0-9].*/    {\1, \"\1\"},/p" "$1/include/rsm/rsm_common.h" | sort -u # not the second names
    cat <<'C'
};
enum { COUNT = sizeof errors / sizeof *errors };
static int wrong;
static void expect(int truth, const char *name, const char *what)
{
    if (!truth)
        wrong = printf("FAILED: %s %s\n", name, what);
}
int main(void)
{
    static const int others[] = {-1, INT_MAX, INT_MIN};
    for (int i = 0; i < COUNT; i++) {
        const char *text = rsm_strerror(errors[i].error);
        expect(!strcmp(rsm_strerrorname(errors[i].error), errors[i].name), errors[i].name, "has another name");
        expect(strcmp(text, rsm_strerror(-1)) != 0, errors[i].name, "has no text");
        for (int j = 0; j < i; j++)
            expect(strcmp(text, rsm_strerror(errors[j].error)) != 0, errors[i].name, "has the text of another");
    }
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        expect(!strcmp(rsm_strerrorname(others[i]), "unknown error"), "a number that is no error", "has a name");
    expect(COUNT > 40, "the list", "is short");
    printf("%d errors\n", COUNT);
    return wrong != 0;
}
C
} >"$work/errors.c"
"$2" -std=c99 -Wall -Wextra -Werror -I"$1/include" "$work/errors.c" -o "$work/errors" && "$work/errors" || exit 1
# Examples have no table of their own.
for source in "$1"/examples/*/*.c; do
    if grep -q '^ *X(RSMERR_\|"RSMERR_' "$source"; then
        echo "FAILED: $source names errors by itself"
        exit 1
    fi
done
