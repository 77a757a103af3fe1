#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# links.sh DIR: every relative link in the Markdown files of DIR leads to a file that exists, and where it
# names an anchor of a Markdown file, to a heading there.
set -u
cd "$1" || exit 1
checked=0
broken=0
declare -A anchors # by file: one a line

# The anchors that GitHub makes of a file's headings: of equal ones the second ends with -1.
anchors_of() {
    awk '/^ *(```|~~~)/ { code = !code }
        !code && /^#+ / {
            sub(/^#+ +/, "")
            sub(/ +#* *$/, "")
            while (match($0, /\]\([^)]*\)/)) # of a link its text
                $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
            gsub(/[][!"#$%&\047()*+,.\/:;<=>?@\\^`{|}~]/, "")
            gsub(/ /, "-")
            slug = tolower($0)
            print slug (slug in seen ? "-" seen[slug] : "")
            seen[slug]++
        }' "$1"
}

has_anchor() {
    [ -n "${anchors[$1]+known}" ] || anchors[$1]=$(anchors_of "$1")
    grep -qxF -- "$2" <<< "${anchors[$1]}"
}

report() {
    echo "$document: link to $link leads $1"
    broken=$((broken + 1))
}

while IFS= read -r -d '' document; do
    folder=$(dirname "$document")
    while IFS= read -r link; do
        case $link in
        '' | *://* | mailto:*) continue ;;
        '#'*) target=$document ;;
        *) target=$folder/${link%%#*} ;;
        esac
        checked=$((checked + 1))
        if [ ! -e "$target" ]; then
            report nowhere
        elif [[ $link = *'#'* && $target = *.md ]] && ! has_anchor "$target" "${link#*#}"; then
            report "to a file without that heading"
        fi
    done < <(grep -o '](\([^)]*\))' "$document" | sed 's/^](//; s/)$//; s/ ".*"$//')
done < <(find . \( -path ./build -o -path ./.git \) -prune -o -name '*.md' -print0)
echo "$checked links checked, $broken broken"
[ "$checked" -gt 0 ] && [ "$broken" -eq 0 ]
