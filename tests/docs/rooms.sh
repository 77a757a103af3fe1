#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Hold the code to the table in doc/architecture.md that says which folder may include headers of
# which others.
#
#   rooms.sh SOURCE_DIR
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Rows "folder used", one for each pair that the table allows; and the folders, longest first.
awk -F'|' '/^\| folder \|.*may use/ { table = 1; next }
    table && !/^\|/ { exit }
    table && split($2, name, "`") == 3 {
        print name[2], name[2]
        for (i = 2; i <= split($4, used, "`"); i += 2)
            print name[2], used[i]
    }' doc/architecture.md > "$work/allowed"
[ "$(wc -l < "$work/allowed")" -gt 20 ] || {
    echo "doc/architecture.md has no table of folders any more"
    exit 1
}

find include librsm rsmd tools compat examples -name '*.[ch]' -o -name '*.def' > "$work/files"
# shellcheck disable=SC2046 # names of this tree hold no blanks
grep -n '^ *# *include *"' $(cat "$work/files") |
    sed 's/^\([^:]*\):\([0-9]*\):.*"\([^"]*\)".*/\1 \2 \3/' > "$work/includes"
awk -v files="$work/files" -v allowed="$work/allowed" '
    function folder_of(path,   best, f) {
        best = ""
        for (f in folders)
            if (index(path, f) == 1 && length(f) > length(best))
                best = f
        return best
    }
    BEGIN {
        while ((getline line < files) > 0)
            exists[line] = 1
        while ((getline line < allowed) > 0) {
            split(line, pair, " ")
            folders[pair[1]] = 1
            may[pair[1], pair[2]] = 1
        }
        count = split("librsm/ rsmd/ include/ compat/include/ tools/ tools/common/ compat/solaris/include/ compat/sisci/include/", roots, " ")
    }
    {
        own = $1
        sub(/[^\/]*$/, "", own)
        target = own $3
        while (sub(/[^\/]+\/\.\.\//, "", target))
            continue
        target = target in exists ? target : ""
        for (i = 1; target == "" && i <= count; i++)
            if ((roots[i] $3) in exists)
                target = roots[i] $3
        from = folder_of($1)
        to = folder_of(target)
        if (from == "") {
            print $1 ": its folder is not in the table"
            bad = 1
        } else if (target == "") {
            print $1 ":" $2 ": there is no " $3
            bad = 1
        } else if (index(target, "include/") != 1 && index(target, "compat/include/") != 1 && !((from, to) in may)) {
            print $1 ":" $2 ": " from " may not include " target
            bad = 1
        }
    }
    END { exit bad }' "$work/includes" || failed=1

# A transport is named where it lives and in the registry.
for transport in librsm/transport/*/; do
    name=$(basename "$transport")
    # shellcheck disable=SC2046
    grep -nE "\"$name\"|transport/$name/" $(grep -v "^librsm/transport/\\($name/\\|registry\\)" "$work/files" |
        grep '^librsm\|^rsmd') /dev/null | grep -v '^tools/' && {
        echo "these name the transport $name outside its folder and the registry"
        failed=1
    }
done
exit "${failed:-0}"
