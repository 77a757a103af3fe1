#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# links.sh must notice links to files and headings that are not there, and accept those that are.
#
#   links_notices.sh SOURCE_DIR
set -u
lint=$(realpath "$1")/tests/docs/links.sh || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
mkdir "$work/doc"
cat > "$work/doc/other.md" << 'END'
# Title
## 4. Memory: `extents`, and *pages*
## Locks that others can hold
### See [the other](other.md#title)
## Twice
## Twice
```
# no heading
```
END

# linked RESULT LINK: what the lint says of a document with that link.
linked() {
    echo "# Own heading: [text]($2)." > "$work/README.md"
    if "$lint" "$work" > "$work/said" 2>&1; then
        result=accepted
    else
        result=refused
    fi
    [ "$result" = "$1" ] && return
    echo "$2: $result"
    cat "$work/said"
    failed=1
}

linked accepted doc/other.md
linked accepted doc/other.md#title
linked accepted doc/other.md#4-memory-extents-and-pages
linked accepted doc/other.md#locks-that-others-can-hold
linked accepted doc/other.md#see-the-other
linked accepted doc/other.md#twice
linked accepted doc/other.md#twice-1
linked accepted '#own-heading-text'
linked accepted https://example.org/#anything
linked refused doc/others.md
linked refused doc/other.md#locks
linked refused doc/other.md#twice-2
linked refused doc/other.md#no-heading
linked refused doc/other.md#Title
linked refused 'doc/other.md#'
linked refused '#title'
exit "$failed"
