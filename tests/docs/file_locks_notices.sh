#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# file_locks.pl must notice a call that is added, also to a file that has such calls, and a line that has
# no reason any more; and it must not mind comments and strings.
#
#   file_locks_notices.sh SOURCE_DIR
set -u
source=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp -r "$source/librsm" "$source/rsmd" "$source/compat" "$work" || exit 1
failed=0

# expect RESULT WHAT: what the lint says of the copy.
expect() {
    if "$source/tests/docs/file_locks.pl" "$work" "$source/tests/docs/file_locks.txt" > "$work/said" 2>&1; then
        result=accepted
    else
        result=refused
    fi
    [ "$result" = "$1" ] && return
    echo "$2: $result"
    cat "$work/said"
    failed=1
}

# plant FILE LINE: with this line at the file's end from now on.
plant() {
    printf '%s\n' "$2" >> "$work/$1"
}

# named FILE CALL: the lint has said this.
named() {
    grep -q "^$1 $2: " "$work/said" && return
    echo "$1: $2 is not noticed"
    cat "$work/said"
    failed=1
}

expect accepted "the code as it is"
plant rsmd/node/events.c '/* pwrite(fd, "", 1, 0) waits */ static const char k[] = "write(2): read()";'
plant rsmd/node/events.c 'void l(void) { ops->open(0); event_write(1); }'
expect accepted "comments, strings and others' functions"
plant rsmd/node/events.c 'void f(int fd) { pwrite(fd, "", 1, 0); }'
plant rsmd/node/memfd.c 'int g(int fd) { return ftruncate(fd, 0); }'
plant librsm/core/event.c 'long h(int fd) { return syscall(SYS_pwrite64, fd, "", 1, 0); }'
plant librsm/core/event_post.c 'int i(int fd) { return fcntl(fd, F_SETPIPE_SZ, 4096); }'
plant librsm/region/region.c 'int j(int fd) { return fallocate (fd, 0, 0, 1); }'
expect refused "calls that are added"
named rsmd/node/events.c pwrite
named rsmd/node/memfd.c ftruncate
named librsm/core/event.c SYS_pwrite64
named librsm/core/event_post.c F_SETPIPE_SZ
named librsm/region/region.c fallocate
for file in rsmd/node/events.c rsmd/node/memfd.c librsm/core/event.c librsm/core/event_post.c librsm/region/region.c; do
    cp "$source/$file" "$work/$file"
done
rm "$work/rsmd/common/worker.c"
expect refused "a line for a file that is not there"
exit "$failed"
