#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh PROGRAM [ARGUMENTS]: run a test program and the processes it forks under valgrind. The
# daemon runs without: its own tests are there for it.
set -u
if ! command -v valgrind > /dev/null; then
    echo "not run: valgrind is not installed"
    exit 77
fi
# The ioctl is USERFAULTFD_IOC_NEW, which valgrind does not know and says so.
valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
    --trace-children=yes --trace-children-skip='*/rsmd,*/short-lived-rsmd,/bin/sh' "$@"
