# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# For scripts that source it: a fresh Debian of some release in a folder, and commands in there. Needs root, mmdebstrap and
# the apt mirror ($RSM_MIRROR, or http://deb.debian.org/debian).

# root_archive RELEASE ARCHIVE: the release's essential packages and apt, made anew each day.
root_archive() {
    [ -z "$(find "$2" -mtime -1 2>/dev/null)" ] || return 0
    mkdir -p "$(dirname "$2")"
    mmdebstrap --quiet --variant=apt --format=tar "$1" "$2.new" "${RSM_MIRROR:-http://deb.debian.org/debian}" || return
    mv "$2.new" "$2"
}

# root_new ARCHIVE ROOT: the folder ROOT, with what is in the archive and nothing else. No service is started where no
# service manager runs.
root_new() {
    rm -rf --one-file-system "$2"
    mkdir -p "$2"
    tar -x -C "$2" -f "$1" --exclude='./dev/*'
    cp /etc/resolv.conf "$2/etc/resolv.conf"
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod +x "$2/usr/sbin/policy-rc.d"
}

# root_inside ROOT COMMAND...: in name spaces that end with the command, as a container has them: / is mounted, and /sys
# cannot be written.
root_inside() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child sh -eu -c '
        mount --make-rprivate /
        mount --rbind "$0" "$0"
        mount -t proc proc "$0/proc"
        mount --rbind /sys "$0/sys"
        mount -o remount,bind,ro "$0/sys"
        mount -t tmpfs -o mode=0755 tmpfs "$0/dev"
        for node in null zero full random urandom tty; do
            touch "$0/dev/$node"
            mount --bind "/dev/$node" "$0/dev/$node"
        done
        ln -s /proc/self/fd "$0/dev/fd"
        mkdir -m 1777 "$0/dev/shm"
        mount -t tmpfs tmpfs "$0/dev/shm"
        exec chroot "$@"' "$1" "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "${@:2}"
}
