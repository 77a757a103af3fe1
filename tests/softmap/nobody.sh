#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nobody.sh COMMAND...: run a command as a user without privileges, in a build that such a user can
# reach; the last argument is a program of it.
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: this user is unprivileged anyway"
    exit 77
fi
for program; do :; done
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if ! $nobody test -x "$program"; then
    echo "skipped: others than root cannot reach $program"
    exit 77
fi
exec $nobody "$@"
