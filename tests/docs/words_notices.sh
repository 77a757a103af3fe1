#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# words.pl must notice a word to avoid in a comment and in a name, a file and a heading that do not
# exist, and a long line; and it must accept phrases that the glossary excepts, and strings.
#
#   words_notices.sh SOURCE_DIR
set -u
source=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$source" || exit 1
for folder in include librsm rsmd tools compat examples kernel doc tests man; do
    cp -r "$folder" "$work" || exit 1
done
cp ./*.md "$work" || exit 1
failed=0

# expect RESULT WHAT FILE: what the lint says of the copy's file.
expect() {
    if "$source/tests/docs/words.pl" "$work" "$3" > "$work/said" 2>&1; then
        result=accepted
    else
        result=refused
    fi
    [ "$result" = "$1" ] && return
    echo "$2: $result"
    cat "$work/said"
    failed=1
}

# changed RESULT FILE LINE: with this line at the file's end.
changed() {
    cp "$work/$2" "$work/kept"
    printf '%s\n' "$3" >> "$work/$2"
    expect "$1" "$2 with $3" "$2"
    cp "$work/kept" "$work/$2"
}

long='/* A line of more than a hundred columns, which no reader of a patch or a terminal sees whole: too long. */'
changed refused rsmd/node/events.c '/* Nobody waits. */'
changed refused rsmd/node/events.c '/* The daemon has
 * told it. */'
changed refused librsm/core/event.c 'static int told_of_it;'
changed refused librsm/core/event.c '/* The own
 * node. */'
changed refused compat/solaris/rsm-cc.in '# Whoever calls this.'
changed refused librsm/protocol/bodies.def '/* See no_such_file.h. */'
changed refused include/rsm/rsmapi.h '/* See doc/architecture.md, "No such heading". */'
changed refused include/rsm/rsmapi.h '/* See doc/architecture.md, section 99. */'
changed refused kernel/rsm_ntb/main.c "$long"
changed refused librsm/rsm.pc.in "$long"
changed accepted librsm/core/event.c '/* As far as event.h and doc/glossary.md, "Words to avoid" say. */ static int tolden;'
changed accepted librsm/core/event.c 'static const char k[] = "nobody told the far side";'
sed -i '/^| .tell./d' "$work/doc/glossary.md"
changed accepted librsm/core/event.c '/* It tells. */'
sed -i '/^## Words to avoid/d' "$work/doc/glossary.md"
expect refused "a glossary without the table" librsm/core/event.c
exit "$failed"
