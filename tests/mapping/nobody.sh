#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nobody.sh [--with CAPABILITY] COMMAND...: run a command as a user without privileges, but for that one, in
# a build that such a user can reach; a program of it has to be among the arguments.
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: this user is unprivileged anyway"
    exit 77
fi
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ "$1" = --with ]; then
    nobody="$nobody --inh-caps=+$2 --ambient-caps=+$2"
    shift 2
fi
for program; do
    case $program in
    */tests/bin/*) break ;;
    esac
done
if ! $nobody test -x "$program"; then
    echo "skipped: others than root cannot reach $program, or cannot have what they need"
    exit 77
fi
exec $nobody "$@"
