#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_lint.sh DIR: every manual page in DIR is free of mandoc's warnings.
set -u
shopt -s nullglob
if ! command -v mandoc >/dev/null; then
    echo "skipped: mandoc is not installed"
    exit 77
fi
pages=("$1"/*.[1-9] "$1"/*.[1-9]{rsm,sci,lib})
if [ ${#pages[@]} -eq 0 ]; then
    echo "no manual page in $1"
    exit 1
fi
echo "${#pages[@]} pages"
# Else the footer names the system on which the page is read.
other=$(grep -L '^\.Os librsm$' "${pages[@]}")
if [ -n "$other" ]; then
    echo "FAILED: not '.Os librsm': $other"
    exit 1
fi
# A quotation goes on to the end of its line, whatever No stands between.
if grep -n '^\..*Dq .* Dq ' "${pages[@]}"; then
    echo "FAILED: quotations in a quotation"
    exit 1
fi
exec mandoc -T lint -W warning "${pages[@]}"
