#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# all.sh PROGRAM CHECK...: these are all direct checks that the program has.
set -u
listed=$("$1" --list --area D | sed -n 's/^\(D-[0-9]*\) .*/\1/p' | tr '\n' ' ')
shift
[ -n "$listed" ] && [ "$listed" = "$* " ] && exit 0
echo "checks of the program:  $listed"
echo "with a mistake to find: $*"
exit 1
