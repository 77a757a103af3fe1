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

# changed RESULT FILE LINE: with this line at the file's end.
changed() {
    cp "$work/$2" "$work/kept"
    printf '%s\n' "$3" >> "$work/$2"
    expect "$1" "$2 with $3"
    cp "$work/kept" "$work/$2"
}

expect accepted "the code as it is"
changed refused rsmd/node/events.c 'void f(int fd) { pwrite(fd, "", 1, 0); }'
changed refused rsmd/node/memfd.c 'int g(int fd) { return ftruncate(fd, 0); }'
changed refused librsm/core/event.c 'long h(int fd) { return syscall(SYS_pwrite64, fd, "", 1, 0); }'
changed refused librsm/core/event_post.c 'int i(int fd) { return fcntl(fd, F_SETPIPE_SZ, 4096); }'
changed refused librsm/region/region.c 'int j(int fd) { return fallocate (fd, 0, 0, 1); }'
changed accepted rsmd/node/events.c '/* pwrite(fd, "", 1, 0) waits */ static const char k[] = "write(2): read()";'
changed accepted rsmd/node/events.c 'void l(void) { ops->open(0); event_write(1); }'
rm "$work/rsmd/common/worker.c"
expect refused "a line for a file that is not there"
exit "$failed"
