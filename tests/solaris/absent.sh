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
# All in one file each: an error of the preprocessor does not end it.
while IFS='|' read -r header instead; do
    count=$((count + 1))
    printf '#if __has_include(<%s>)\n#error Linux has <%s>\n#endif\n' "$header" "$header" >>"$work/linux.c"
    echo "#include <$header>" >>"$work/kit.c"
done <"$work/list"
echo 'extern int more;' | tee -a "$work/linux.c" >>"$work/kit.c"
"$compiler" -fsyntax-only "$work/linux.c" || { echo "FAILED: Linux has headers of the list"; failed=1; }
many=
"$compiler" --version | grep -q clang && many=-ferror-limit=0
"$compiler" -fsyntax-only $many -I"$directory" "$work/kit.c" 2>"$work/log"
while IFS='|' read -r header instead; do
    grep "^$directory/$header:[0-9:]* error:" "$work/log" >"$work/errors"
    if [ "$(wc -l <"$work/errors")" -ne 1 ] || ! grep -F "$instead" "$work/errors" | grep -qF 'rsm-solaris(7)'; then
        echo "FAILED: <$header>: $(cat "$work/errors")"
        failed=1
    fi
done <"$work/list"
[ "$(grep -c 'error:' "$work/log")" -eq "$count" ] || { echo "FAILED: other errors: $(cat "$work/log")"; failed=1; }
for header in kstat.h procfs.h sys/priocntl.h door.h port.h; do
    grep -q "^$header|" "$work/list" || { echo "FAILED: $header is not in the list"; failed=1; }
done
echo "$count headers"
exit $failed
