#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What ./dev would install on a machine that has nothing: those who build a release to use it, or look at the demo, get what
# README says that a build needs, and no tools for tests.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$RSM_SOURCE_DIR/dev" "$work/dev"
mkdir "$work/bin"
# Nothing is installed; a request to install something is written down and fails.
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\ncase $* in *install*) echo "$*" >"%s/request"; exit 1 ;; esac\n' "$work" >"$work/bin/apt-get"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work"/bin/*
failed=0
wanted=$(sed -n 's/^    \(build-essential .*\)/\1/p' "$RSM_SOURCE_DIR/README.md")
[ -n "$wanted" ] || exit 1
for verb in 'build release' demo 'demo sisci' 'build debug'; do
    rm -f "$work/request"
    # shellcheck disable=SC2086 # words
    PATH=$work/bin:$PATH "$work/dev" $verb >"$work/log" 2>&1
    for package in $wanted; do
        grep -qw -e "$package" "$work/request" || {
            cat "$work/log"
            echo "FAILED: ./dev $verb does not install $package"
            failed=1
        }
    done
    tools=" $(grep -ow -e clang -e valgrind -e gdb -e mandoc -e libcmocka-dev "$work/request" | tr '\n' ' ')"
    case $verb in
    'build debug') [ "$tools" != ' ' ] || failed=1 ;; # which is to be seen here
    *) [ "$tools" = ' ' ] || {
        echo "FAILED: ./dev $verb installs$tools"
        failed=1
    } ;;
    esac
done
exit "$failed"
