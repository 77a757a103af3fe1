#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every file that the build installs is in exactly one package of debian/, and every line of debian/*.install finds a
# file.
#
#   packages.sh CMAKE BUILD_DIR LIBDIR
#
# RSM_SOURCE_DIR is the source tree.
set -u
cmake=$1 build=$2 libdir=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# A manifest of the whole, as other installations of this build folder write it, too.
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
declare -A found
count=0
while IFS= read -r file; do
    # As debian/rules installs it.
    case $file in
    "$libdir"/lib*.so* | "$libdir"/rsm/* | "$libdir"/pkgconfig/* | "$libdir"/cmake/*) path=usr/lib/TRIPLET/${file#"$libdir"/} ;;
    lib/systemd/* | lib/udev/*) path=$file ;;
    share/doc/librsm/LICENSE | share/doc/librsm/CHANGELOG.md) continue ;; # copyright, changelog
    share/doc/librsm/*) path=usr/share/doc/librsm-doc/${file#share/doc/librsm/} ;;
    *) path=usr/$file ;;
    esac
    count=$((count + 1))
    in=
    IFS=/ read -ra parts <<<"$path"
    starts=("${parts[0]}")
    for part in "${parts[@]:1}"; do
        starts+=("${starts[-1]}/$part")
    done
    for list in "$RSM_SOURCE_DIR"/debian/*.install; do
        package=${list##*/}
        while read -r pattern _; do
            # A pattern's * stands for no slash: compare with as many parts of the path as it has.
            slashes=${pattern//[!\/]/}
            start=${starts[${#slashes}]-}
            # shellcheck disable=SC2053 # a pattern
            if [[ $start == $pattern ]]; then
                [[ " $in " == *" ${package%.install} "* ]] || in="$in ${package%.install}"
                found[$package $pattern]=1
            fi
        done <"$list"
    done
    case $in in
    '') fail "$path is in no package" ;;
    *' '*' '*) fail "$path is in several packages:$in" ;;
    esac
done < <(cd "$work/prefix" && find . ! -type d -printf '%P\n' | sort)
[ "$count" -gt 100 ] || fail "only $count files"

for list in "$RSM_SOURCE_DIR"/debian/*.install; do
    while read -r pattern _; do
        case $pattern in
        usr/src/*) continue ;;                                                # debian/rules lays it out
        */librsm_verbs.so) [ -e "$build/lib/rsm/librsm_verbs.so" ] || continue ;; # where there is one
        esac
        [ -n "${found[${list##*/} $pattern]-}" ] || fail "$pattern of ${list##*/} finds nothing"
    done <"$list"
done
[ "$failed" -eq 0 ] && echo "$count files are in one package each"
exit "$failed"
