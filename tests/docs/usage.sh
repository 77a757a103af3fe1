#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage.sh PROGRAM PAGE: the program's --help and its manual page name the same options.
set -u
shown=$("$1" --help | grep -o '^  -\{1,2\}[A-Za-z]*\(, --[a-z]*\)*' | tr -d ' ' | tr ',' '\n' | sort)
described=$(sed -n 's/^\.It Fl \(-\{0,1\}[A-Za-z]*\).*/-\1/p' "$2" | sort)
if [ -z "$shown" ] || [ "$shown" != "$described" ]; then
    echo "options of --help (left) and of the manual page (right) differ:"
    diff -y <(echo "$shown") <(echo "$described")
    exit 1
fi
echo "$(wc -l <<<"$shown") options"
