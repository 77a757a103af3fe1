#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh PART: one of the tests of librsm in a fresh Debian 13 below build/debian13, as somebody has it who types ./dev
# there: a change root that mmdebstrap makes of the mirror, into which ./dev installs what it needs. It is made anew each day.
#   demo      ./dev demo, the first command of README
#   build     ./dev build
#   test ...  ./dev test ..., of that build
#   package   ./dev package debian
# Without root, mmdebstrap or the mirror nothing can be run: exit status 77, or 1 with RSM_LAB_REQUIRED=1.
set -eu -o pipefail
cd "$(dirname "$(realpath "$0")")/../.."
. packaging/root.sh
release=trixie
folder=$PWD/build/debian13
root=$folder/root

cannot() {
    echo "Debian 13 cannot be had: $*"
    [ "${RSM_LAB_REQUIRED-}" != 1 ] || exit 1
    exit 77
}

# The tree as it is, committed or not; what was built in the root stays.
lay_out() {
    local build=$root/source/build
    mkdir -p "$build"
    mv "$build" "$folder/build.kept"
    rm -rf "$root/source"
    mkdir "$root/source"
    find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0 | tar -c --null -T - | tar -x -C "$root/source"
    mv "$folder/build.kept" "$build"
}

begin() {
    local archive=$folder/base.tar
    [ "$(id -u)" -eq 0 ] || cannot "only root can make a change root"
    command -v mmdebstrap >/dev/null || cannot "mmdebstrap is not installed"
    mkdir -p "$folder"
    if [ -z "$(find "$archive" -mtime -1 2>/dev/null)" ] || [ ! -e "$folder/made" ]; then
        rm -f "$folder/made"
        root_archive "$release" "$archive" >"$folder/mmdebstrap.log" 2>&1 ||
            cannot "$(grep -m 1 '^[EW]:' "$folder/mmdebstrap.log" || tail -n 1 "$folder/mmdebstrap.log")"
        root_new "$archive" "$root"
        touch "$folder/made"
    fi
    lay_out
}

begin
case $1 in
demo)
    root_inside "$root" sh -c 'cd /source && exec ./dev demo' | tee "$folder/demo.log"
    grep -qx 'demo: 3 messages went from node 2 to node 1' "$folder/demo.log"
    ;;
build)
    root_inside "$root" sh -c 'cd /source && exec ./dev build'
    ;;
test)
    # shellcheck disable=SC2016
    root_inside "$root" sh -c 'cd /source && exec ./dev test "$@"' sh "${@:2}"
    ;;
package)
    root_inside "$root" sh -c 'cd /source && exec ./dev package debian'
    ;;
esac
