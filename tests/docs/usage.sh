#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage.sh PROGRAM PAGE: the program's --help and its manual page name the same options, -h is --help, and --help fits a
# terminal of 80 columns.
set -u
shown=$("$1" --help | grep -o '^ \{2,\}-\{1,2\}[A-Za-z0-9-]*\(, --[a-z0-9-]*\)*' | tr -d ' ' | tr ',' '\n' | sort)
described=$(sed -n 's/^\.It Fl \(-\{0,1\}[A-Za-z0-9-]*\).*/-\1/p' "$2" | sort)
if [ -z "$shown" ] || [ "$shown" != "$described" ]; then
    echo "options of --help (left) and of the manual page (right) differ:"
    diff -y <(echo "$shown") <(echo "$described")
    exit 1
fi
if ! short=$("$1" -h) || [ "$short" != "$("$1" --help)" ]; then
    echo "-h is not --help: $short"
    exit 1
fi
wide=$("$1" --help | awk 'length > 80')
if [ -n "$wide" ]; then
    printf 'lines of --help above 80 columns:\n%s\n' "$wide"
    exit 1
fi
echo "$(wc -l <<<"$shown") options"
