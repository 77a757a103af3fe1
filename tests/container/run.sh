#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh [--rootless] [--shm SIZE] CONFINE COMMAND...: a command of this host's files as in a container of Docker's or Podman's defaults:
# root with few capabilities, behind the filter of CONFINE (confine.c), in name spaces of its own, without the host's
# devices, /sys and /proc/sys for reading alone, and 64 MiB of /dev/shm, or SIZE; "none": there is no /dev/shm. --rootless: in
# a user name space, whose root has no privilege outside.
# Without root, or where no name spaces can be made, status 77.
set -eu
shm=64m
if [ "$1" = --rootless ]; then
    shift
    # The shell waits for its map of users, with which it becomes root.
    # shellcheck disable=SC2016
    unshare --user sh -c 'until [ "$(id -u)$(id -g)" = 00 ]; do sleep 0.01; done; exec "$0" "$@"' "$0" "$@" &
    for ((i = 0; i < 500; i++)); do
        [ "$(readlink /proc/$!/ns/user)" = "$(readlink /proc/self/ns/user)" ] || break
        sleep 0.01
    done
    if ! { echo 0 0 65536 >/proc/$!/gid_map && echo 0 0 65536 >/proc/$!/uid_map; } 2>/dev/null; then
        kill $! 2>/dev/null || true
        echo "skipped: no user name space can be made here"
        exit 77
    fi
    wait $!
    exit
fi
if [ "$1" = --shm ]; then
    shm=$2
    shift 2
fi
if [ "$(id -u)" -ne 0 ] || ! unshare --mount --pid --net --ipc --uts --fork true 2>/dev/null; then
    echo "skipped: only root can make what a container is of, and some containers let nobody"
    exit 77
fi
# shellcheck disable=SC2016
exec unshare --mount --pid --net --ipc --uts --fork --kill-child sh -eu -c '
    shm=$0
    ip link set lo up
    mount --make-rprivate /
    mount -t proc proc /proc
    mount --bind /proc/sys /proc/sys
    mount -o remount,bind,ro /proc/sys
    for file in /proc/kcore /proc/keys /proc/timer_list; do
        [ ! -e "$file" ] || mount --bind /dev/null "$file"
    done
    mount -t sysfs -o ro sysfs /sys
    mkdir -p /run/rsm-container
    mount -t tmpfs -o mode=0755 tmpfs /run/rsm-container
    for node in null zero full random urandom tty; do
        touch "/run/rsm-container/$node"
        mount --bind "/dev/$node" "/run/rsm-container/$node"
    done
    mount --rbind /run/rsm-container /dev
    umount -R -l /run/rsm-container
    for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
        ln -s "${link#*:}" "/dev/${link%%:*}"
    done
    mkdir -m 755 /dev/pts
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts /dev/pts
    ln -s pts/ptmx /dev/ptmx
    if [ "$shm" != none ]; then
        mkdir -m 1777 /dev/shm
        mount -t tmpfs -o "nosuid,nodev,size=$shm" tmpfs /dev/shm
    fi
    exec "$@"' "$shm" "$@"
