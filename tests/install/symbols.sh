#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The symbols of the libraries are those that debian/*.symbols lists. If they differ, the Debian packages do not build.
#
#   symbols.sh LIBRARY_FOLDER
#
# RSM_SOURCE_DIR is the source tree.
set -u
command -v nm >/dev/null || {
    echo "not run: nm is not installed (package binutils)"
    exit 77
}
failed=0
for list in "$RSM_SOURCE_DIR"/debian/*.symbols; do
    read -r library _ <"$list"
    mapfile -t listed < <(sed -n 's/^ \([^ (]*@[^ ]*\) .*/\1/p' "$list" | LC_ALL=C sort)
    # Private symbols are one line of the list, a regular expression in quotation marks.
    private=$(sed -n 's/^ (regex|optional)"\(.*\)" .*/\1/p' "$list")
    mapfile -t defined < <(nm -D --defined-only --with-symbol-versions "$1/$library" |
        sed 's/.* //; s/@@/@/; s/^\([^@]*\)$/\1@\1/' | grep -v -e "${private:-^$}" | LC_ALL=C sort -u)
    [ ${#defined[@]} -gt 0 ] || {
        echo "FAILED: no symbols in $1/$library"
        failed=1
        continue
    }
    diff -U0 <(printf '%s\n' "${listed[@]}") <(printf '%s\n' "${defined[@]}") || {
        echo "FAILED: ${list##*/} (-) and $library (+) differ: see doc/packaging.md, \"Binary interfaces\""
        failed=1
    }
done
exit "$failed"
