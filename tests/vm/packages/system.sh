#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# system.sh PACKAGES CACHE KERNEL MODULES: make the disks of a lab machine that runs Debian with systemd, and print their
# names:
#   1. a minimal Debian of this host's release, with an SSH server and nftables, and with the kernel modules that a host
#      has, but with nothing that librsm needs;
#   2. a package repository: the .debs of PACKAGES, the same as release 1.0.0-0 (the release before), and Debian's packages that
#      they, doc/two-hosts.md and doc/wireguard.md install. Machines have no other network than the one between them.
# Both are kept in CACHE until what they are made of changes. Only root can make them. Needs the apt mirror ($RSM_MIRROR, or
# http://deb.debian.org/debian) the first time. KERNEL is the version and MODULES the folder lib/modules/KERNEL is in.
# Status 77 with a reason: something that is needed is missing.
set -eu
packages=$(realpath "$1")
cache=$(realpath "$2")
kernel=$3
modules=$4/lib/modules/$3
mirror=${RSM_MIRROR:-http://deb.debian.org/debian}
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# What a host has before it gets librsm, and what doc/two-hosts.md tells to install beside librsm.
host="systemd-sysv udev dbus kmod procps hostname iproute2 nftables openssh-server openssh-client iputils-ping"
beside="munge openssl ibverbs-providers rdma-core iproute2"
bare="wireguard-tools" # without what it recommends, which is a kernel

missing() {
    echo "lab: not run: $*" >&2
    exit 77
}

[ -e "$(echo "$packages"/rsmd_*.deb)" ] || missing "the packages are not built: ./dev package"
for tool in mmdebstrap dpkg-deb apt-ftparchive mke2fs depmod; do
    command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing "$tool is not installed"
done
[ -d "$modules" ] || missing "there are no modules of kernel $kernel in $4"

# kept NAME TEXT...: the name of the disk that was made of this, whether it is there or not. Older ones are removed.
kept() {
    local name=$1 path
    path=$cache/$name-$(printf '%s\n' "${@:2}" | cat - "$0" | sha256sum | cut -c1-16).ext4
    if [ ! -e "$path" ]; then
        rm -f "$cache/$name"-*.ext4
    fi
    echo "$path"
}

# disk FOLDER SIZE TARGET
disk() {
    PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -d "$1" "$3.new" "$2" >&2
    mv "$3.new" "$3"
}

names=$(for package in "$packages"/*.deb; do dpkg-deb -f "$package" Package; done | grep -v -e -dkms -e -dbgsym)
depends=$(for package in "$packages"/*.deb; do dpkg-deb -f "$package" Depends Recommends; done)
case $kernel in
*-cloud-*) system=$(kept cloud "$release" "$kernel" "$host") ;;
*) system=$(kept debian "$release" "$kernel" "$host") ;;
esac
repository=$(kept repository "$depends" "$beside $bare" "$(cat "$packages"/*.deb | sha256sum)")
if [ -e "$system" ] && [ -e "$repository" ]; then
    echo "$system"
    echo "$repository"
    exit
fi
[ "$(id -u)" -eq 0 ] || missing "only root can make the file system of a machine"
work=$(mktemp -d "$cache/system.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

make_system() {
    local root=$work/root part
    mmdebstrap --quiet --variant=apt --include="${host// /,}" --format=tar "$release" - "$mirror" >"$work/root.tar" ||
        missing "no Debian from $mirror"
    mkdir "$root"
    tar -x -C "$root" -f "$work/root.tar" --exclude='./dev/*'
    rm "$work/root.tar"
    # The modules of a network host; not those of 4000 other devices.
    mkdir -p "$root/lib/modules/$kernel/kernel/drivers/net"
    for part in net lib crypto drivers/infiniband drivers/virtio drivers/block/virtio_blk.ko drivers/net/virtio_net.ko \
        drivers/net/net_failover.ko drivers/net/veth.ko drivers/net/wireguard arch/x86/crypto drivers/char/hw_random drivers/dca fs/autofs fs/configfs; do
        if [ -e "$modules/kernel/$part" ]; then
            (cd "$modules" && tar -c "kernel/$part") | tar -x -C "$root/lib/modules/$kernel"
        fi
    done
    cp "$modules"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$kernel" 2>/dev/null || :
    PATH=$PATH:/usr/sbin:/sbin depmod -b "$root" "$kernel" 2>/dev/null
    # Timers that a short life has no use for.
    mkdir -p "$root/etc/systemd/system"
    for part in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer \
        fstrim.timer systemd-tmpfiles-clean.timer getty@tty1.service serial-getty@ttyS0.service systemd-update-utmp.service \
        systemd-update-utmp-runlevel.service systemd-pstore.service; do
        ln -sf /dev/null "$root/etc/systemd/system/$part"
    done
    # Root of each host may log in to the other one.
    mkdir -p "$root/root/.ssh"
    chmod 0700 "$root/root/.ssh"
    ssh-keygen -q -t ed25519 -N '' -C lab -f "$root/root/.ssh/id_ed25519"
    cp "$root/root/.ssh/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
    sed 's/^/alpha,beta,192.0.2.1,192.0.2.2 /' "$root"/etc/ssh/ssh_host_ed25519_key.pub >"$root/root/.ssh/known_hosts"
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
    rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
    echo 'deb [trusted=yes] file:/packages/new ./' >"$root/etc/apt/sources.list.d/lab.list"
    # The administrator's "yes".
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90lab"
    ln -s run/lab "$root/lab"
    mkdir "$root/packages"
    disk "$root" 1200M "$system"
}

# before FROM TO: the package as the release before had it.
before() {
    local folder=$work/repack version
    rm -rf "$folder"
    dpkg-deb -R "$1" "$folder"
    version=$(dpkg-deb -f "$1" Version)
    sed -i "s/\\b${version//./\\.}\\b/${version%-*}-0/g" "$folder/DEBIAN/control"
    dpkg-deb -Znone --root-owner-group -b "$folder" "$2" >/dev/null
}

make_repository() {
    local pool=$work/packages root=$work/plain package
    mkdir -p "$pool/new" "$pool/before" "$root"
    for package in "$packages"/*.deb; do
        case $package in
        *-dkms_* | *-dbgsym_*) continue ;;
        esac
        cp "$package" "$pool/new"
        before "$package" "$pool/before"
    done
    # What is missing on the first disk for these, by the package manager's word.
    mmdebstrap --quiet --variant=apt --include="${host// /,}" "$release" "$root" "$mirror" >/dev/null 2>&1 ||
        missing "no Debian from $mirror"
    cp -R "$pool/new" "$root/packages"
    (cd "$root/packages" && apt-ftparchive packages . >Packages)
    echo 'deb [trusted=yes] file:/packages ./' >"$root/etc/apt/sources.list.d/lab.list"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    chroot "$root" apt-get -qq update
    # shellcheck disable=SC2086 # words
    if ! chroot "$root" apt-get -qq -y --download-only install $names $beside >/dev/null ||
        ! chroot "$root" apt-get -qq -y --download-only --no-install-recommends install $bare >/dev/null; then
        missing "Debian's packages cannot be had"
    fi
    cp "$root"/var/cache/apt/archives/*.deb "$pool/new" # those of file: are not copied there
    (cd "$pool/new" && apt-ftparchive packages . >Packages)
    (cd "$pool/before" && apt-ftparchive packages . >Packages)
    disk "$pool" 256M "$repository"
}

[ -e "$system" ] || make_system
[ -e "$repository" ] || make_repository
echo "$system"
echo "$repository"
