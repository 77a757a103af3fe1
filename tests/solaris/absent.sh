#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A header of what Linux does not have says in one line what to use; no header that Linux has is hidden so.
#
#   absent.sh LIST DIRECTORY COMPILER
set -u
list=$1 directory=$2 compiler=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-absent.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0 count=0
grep -v '^#' "$list" >"$work/list"
while IFS='|' read -r header instead; do
    count=$((count + 1))
    echo "#include <$header>" >"$work/a.c"
    if "$compiler" -fsyntax-only "$work/a.c" 2>/dev/null; then
        echo "FAILED: Linux has <$header>"
        failed=1
    fi
    "$compiler" -fsyntax-only -I"$directory" "$work/a.c" 2>"$work/log"
    if [ "$(grep -c 'error:' "$work/log")" -ne 1 ] || ! grep 'error:' "$work/log" | grep -F "$instead" | grep -qF 'rsm-solaris(7)'; then
        echo "FAILED: <$header>: $(cat "$work/log")"
        failed=1
    fi
done <"$work/list"
for header in kstat.h procfs.h sys/priocntl.h door.h port.h; do
    grep -q "^$header|" "$work/list" || { echo "FAILED: $header is not in the list"; failed=1; }
done
echo "$count headers"
exit $failed
