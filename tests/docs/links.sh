#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# links.sh DIR: every relative link in the Markdown files of DIR leads to a file that exists.
set -u
cd "$1" || exit 1
checked=0
broken=0
while IFS= read -r -d '' document; do
    folder=$(dirname "$document")
    while IFS= read -r link; do
        case $link in
        '' | '#'* | *://* | mailto:*) continue ;;
        esac
        checked=$((checked + 1))
        if [ ! -e "$folder/${link%%#*}" ]; then
            echo "$document: link to $link leads nowhere"
            broken=$((broken + 1))
        fi
    done < <(grep -o '](\([^)]*\))' "$document" | sed 's/^](//; s/)$//; s/ ".*"$//')
done < <(find . \( -path ./build -o -path ./.git \) -prune -o -name '*.md' -print0)
echo "$checked links checked, $broken broken"
[ "$checked" -gt 0 ] && [ "$broken" -eq 0 ]
