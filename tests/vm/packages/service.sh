#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The life of the packages on a host with systemd: install the release before, use it, upgrade, restart, remove, install
# again, purge. Nobody else's programs are in the machine: what runs was installed by apt.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
set -eu

# What doc/packaging.md and rsmd(8) say that a segment does when rsmd is upgraded, and when it is restarted.
at_upgrade=survives
at_restart=survives

step() {
    echo "--- $* (after $(cut -d. -f1 /proc/uptime) s)"
}
# said FILE TEXT: within half a minute.
said() {
    lab_until 30 grep -q -e "$2" "$1" || {
        cat "$1"
        lab_fail "nobody said: $2"
    }
}
status_text() {
    systemctl show -p StatusText --value rsmd
}
has_status() {
    status_text | grep -q -e "$1"
}
main_pid() {
    systemctl show -p MainPID --value rsmd
}
# Files that belong to no package and that the system does not change by itself. Some packages name theirs as before
# /lib became a link to /usr/lib.
unowned() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /packages -o \
        -path /var/tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/apt -o \
        -path /var/lib/systemd -o -path /root \) -prune -o -print | LC_ALL=C sort |
        LC_ALL=C comm -23 - <(sed -E 's,^/(bin|sbin|lib|lib32|lib64)/,/usr&,' /var/lib/dpkg/info/*.list | LC_ALL=C sort -u)
}
# start_load, and end_load WORD: both processes say it.
start_load() {
    /lab/programs/load >/tmp/load 2>&1 &
    load=$!
    said /tmp/load 'load: running'
}
end_load() {
    kill -USR1 "$load"
    wait "$load" || lab_fail "load ended with status $?"
    sed 's/^/result: /' /tmp/load
    ! grep -q LOST /tmp/load || lab_fail "data were lost"
    [ "$(grep -c -e "porter: $1" /tmp/load)" -eq 2 ] || lab_fail "segments do not do what is documented: $1"
}

step "install the release before"
ip link set lo up
apt-get -qq update
# What README's first steps need beside the packages: a compiler, and somebody who tries them.
apt-get -qq install munge gcc openssl >/dev/null
useradd --create-home reader
userdel --remove reader
unowned >/tmp/before
packages=(librsm2 librsm2-tcp librsm2-verbs librsm2-ntb librsm-dev librsm-solaris1 librsm-solaris-dev libsisci1 libsisci-dev rsmd rsm-tools sisci-tools librsm-doc)
files=()
for name in "${packages[@]}"; do
    files+=("$(echo /packages/before/"${name}"_*.deb)")
done
apt-get -qq install "${files[@]}" >/tmp/apt 2>&1 || {
    cat /tmp/apt
    lab_fail "the packages do not install"
}
version=$(dpkg-query -W -f '${Version}' rsmd)
[[ $version == *-0 ]] || lab_fail "installed is $version"
getent group rsm >/dev/null || lab_fail "there is no group rsm"

step "first steps, without a configuration"
for unit in rsmd.service rsmd.socket; do
    systemctl --quiet is-enabled "$unit" || lab_fail "$unit is not enabled"
    ! systemctl --quiet is-active "$unit" || lab_fail "$unit runs a node that nobody has configured"
done
! systemctl --failed --no-legend | grep . || lab_fail "units failed"
useradd --create-home reader
/lab/first-steps /lab/README.md || lab_fail "README's first lines do not work"
/lab/first-steps /lab/README.md reader || lab_fail "README's first lines do not work for a user"
# Daemons of nodes end a moment after their last program.
lab_until 60 userdel --remove reader

step "service"
printf '[controller sci0]\ntransport = shm\n' >/etc/rsm/rsm.conf
systemctl start rsmd.socket rsmd.service
lab_until 30 has_status '^node 1' || lab_fail "STATUS= is: $(status_text)"
echo "result: STATUS=$(status_text)"
systemctl --no-pager status rsmd | head -n 12
rsmstat -a
exposure=$(systemd-analyze --no-pager security rsmd.service | tail -n 1)
echo "result: systemd-analyze security: $exposure"
case $exposure in
*' OK '* | *' SAFE '* | *' PERFECT '*) ;;
*) lab_fail "systemd-analyze security: $exposure" ;;
esac

step "programs"
[ "$(/lab/programs/prog)" = legacy ] || lab_fail "the program for Solaris did not say: legacy"
setpriv --reuid 65534 --regid 65534 --clear-groups /lab/programs/prog >/tmp/prog || lab_fail "it does not work for nobody"
# Node 2 is not of this host: the program that wants it ends at once, and says why and what to do.
for user in 0 65534; do
    ! setpriv --reuid "$user" --regid "$user" --clear-groups env RSM_LOG=error RSM_NODE=2 timeout 5 rsmtest -i -n 1 \
        >/tmp/refused 2>&1 </dev/null || lab_fail "it is node 2"
    grep -q "no node 2 in /run/rsm, where this host's system daemon is node 1.*RSM_RUNTIME_DIR" /tmp/refused || {
        cat /tmp/refused
        lab_fail "nobody says why node 2 cannot be"
    }
    ! setpriv --reuid "$user" --regid "$user" --clear-groups env RSM_NODE=2 timeout 5 rsmtest -i -n 1 >/tmp/refused 2>&1 </dev/null ||
        lab_fail "it is node 2"
    grep -q 'RSM_NODE.*RSM_LOG=error' /tmp/refused || {
        cat /tmp/refused
        lab_fail "it does not say where to look"
    }
done
systemd-run --quiet --unit rsmd-node2 rsmd --foreground --node=2 --runtime-dir=/run/rsm
lab_until 30 test -S /run/rsm/node-2.sock || lab_fail "the daemon of node 2 does not listen"
RSM_NODE=2 stdbuf -oL rsmtest -e -n 1 >/tmp/exporter 2>&1 </dev/null &
exporter=$!
said /tmp/exporter 'Local node id = 2'
echo 'between two nodes' | timeout 60 rsmtest -i -n 2 >/tmp/importer 2>&1 || {
    cat /tmp/importer
    lab_fail "rsmtest failed"
}
said /tmp/exporter 'between two nodes'
kill "$exporter" 2>/dev/null || :
systemctl stop rsmd-node2

step "reload"
pid=$(main_pid)
start_load
printf '[controller sci0]\ntransport = shm\n[controller second0]\ntransport = shm\n' >/etc/rsm/rsm.conf
systemctl reload rsmd
second() {
    rsmstat --controllers | grep -q second0
}
lab_until 30 second || lab_fail "reload brought no controller: $(rsmstat --controllers)"
echo 'nonsense' >/etc/rsm/rsm.conf
systemctl reload rsmd || :
second || lab_fail "a reload of a bad file took the controllers away"
printf '[controller sci0]\ntransport = shm\n' >/etc/rsm/rsm.conf
[ "$(main_pid)" = "$pid" ] || lab_fail "reload started another daemon"
end_load survives

step "upgrade"
start_load
apt-get -qq install "${packages[@]}" >/tmp/apt 2>&1 || {
    cat /tmp/apt
    lab_fail "the packages cannot be upgraded"
}
[ "$(dpkg-query -W -f '${Version}' rsmd)" != "$version" ] || lab_fail "nothing was upgraded"
echo "result: upgrade: daemon $pid, now $(main_pid)"
[ "$(main_pid)" = "$pid" ] || lab_fail "the upgrade started another daemon"
served_on() {
    journalctl --no-pager -u rsmd | grep -q "are served on"
}
lab_until 30 served_on || lab_fail "the upgrade did not replace the running program"
end_load "$at_upgrade"

step "restart"
start_load
systemctl restart rsmd
lab_until 30 has_status '^node 1' || lab_fail "STATUS= is: $(status_text)"
end_load "$at_restart"
[ "$(/lab/programs/prog)" = legacy ] || lab_fail "no program works after a restart"

# Another host, in a network name space: the service's links are encrypted by rsm-tlsd, which it starts as a user of its
# own.
step "links with TLS"
ip netns add other
ip link add tls1 type veth peer name tls2 netns other
ip address add 10.99.7.1/24 dev tls1
ip link set tls1 up
ip -n other address add 10.99.7.2/24 dev tls2
ip -n other link set tls2 up
ip -n other link set lo up
{
    printf '[cluster]\nauth = tls\n[controller sci0]\ntransport = shm\n'
    printf '[node 1]\nhost = %s\naddress = 10.99.7.1\n[node 2]\nhost = other\naddress = 10.99.7.2\n' "$(uname -n)"
} >/etc/rsm/rsm.conf
rsm-cert -d /etc/rsm/tls -c /etc/rsm/rsm.conf
rsmd --check || lab_fail "rsmd --check refuses it"
systemctl restart rsmd
systemd-run --quiet --unit rsmd-other -p NetworkNamespacePath=/run/netns/other -p RuntimeDirectory=rsm-other \
    rsmd --foreground --node=2 --runtime-dir=/run/rsm-other
link_is_up() {
    rsmstat --links --wide | grep -q '^ *2 .* up '
}
lab_until 30 link_is_up || {
    journalctl --no-pager -n 30 -u rsmd -u rsmd-other
    lab_fail "the link does not come up: $(rsmstat --links --wide)"
}
rsmstat --links --wide
for pid in $(pgrep -x rsm-tlsd); do
    echo "result: rsm-tlsd runs as $(ps -o user= -p "$pid"), seccomp $(sed -n 's/^Seccomp:[[:space:]]*//p' "/proc/$pid/status")"
    [ "$(ps -o user:20= -p "$pid" | tr -d ' ')" = rsm-tlsd ] || lab_fail "rsm-tlsd runs as another user"
    grep -q '^Seccomp:[[:space:]]*2' "/proc/$pid/status" || lab_fail "rsm-tlsd can make all system calls"
    grep -q '^NoNewPrivs:[[:space:]]*1' "/proc/$pid/status" || lab_fail "rsm-tlsd can gain privileges"
done
[ "$(pgrep -xc rsm-tlsd)" -eq 2 ] || lab_fail "there are $(pgrep -xc rsm-tlsd) rsm-tlsd of two daemons"
systemctl stop rsmd-other
ip netns delete other
rm -r /etc/rsm/tls
printf '[controller sci0]\ntransport = shm\n' >/etc/rsm/rsm.conf
systemctl restart rsmd
lab_until 30 has_status '^node 1' || lab_fail "STATUS= is: $(status_text)"

step "members by a program"
printf '#!/bin/sh\necho 1 - 127.0.0.1\necho 5 elsewhere 127.0.0.5\n' >/etc/rsm/members
chmod 755 /etc/rsm/members
printf '[cluster]\nnodes = exec:/etc/rsm/members\nauth = none\ninsecure = yes\n[controller sci0]\ntransport = shm\n' \
    >/etc/rsm/rsm.conf
rsmd --check | grep -q '^exec:/etc/rsm/members: nodes: 2$' || lab_fail "rsmd --check does not ask the program"
systemctl restart rsmd
has_member() {
    rsmstat --links | grep -q '^ *5  *127.0.0.5 '
}
lab_until 30 has_member || {
    journalctl --no-pager -n 30 -u rsmd
    lab_fail "the program's nodes are not there: $(rsmstat --links)"
}
[ -f /run/rsm/members ] || lab_fail "the members are not kept"
rm /etc/rsm/members
printf '[controller sci0]\ntransport = shm\n' >/etc/rsm/rsm.conf
systemctl restart rsmd
lab_until 30 has_status '^node 1' || lab_fail "STATUS= is: $(status_text)"
systemctl reset-failed rsmd.service # these were many starts for systemd's default of five in ten seconds

step "stop, and socket activation"
start_load
systemctl stop rsmd.service
end_load ended
systemctl --quiet is-active rsmd.socket || lab_fail "rsmd.socket stops with the service"
! systemctl --quiet is-active rsmd.service || lab_fail "rsmd does not stop"
[ "$(/lab/programs/prog)" = legacy ] || lab_fail "a program does not start the service"
systemctl --quiet is-active rsmd.service || lab_fail "the service was not started by the socket"

step "remove, install again"
apt-get -qq remove "${packages[@]}" >/dev/null 2>&1
! pgrep -x rsmd >/dev/null || lab_fail "a removed package's daemon runs: $(pgrep -ax rsmd)"
[ -f /etc/rsm/rsm.conf ] || lab_fail "removing took the configuration"
apt-get -qq install "${packages[@]}" >/dev/null 2>&1
systemctl start rsmd
[ "$(/lab/programs/prog)" = legacy ] || lab_fail "no program works after a reinstallation"
for name in "${packages[@]}"; do
    [ -z "$(dpkg --verify "$name")" ] || lab_fail "$name: $(dpkg --verify "$name")"
done

step "purge"
apt-get -qq purge "${packages[@]}" >/dev/null 2>&1
unowned | LC_ALL=C comm -13 /tmp/before - >/tmp/left
find /run -name '*rsm*' ! -path '/run/lab/*' ! -path '/run/systemd/transient/*' >>/tmp/left
[ ! -s /tmp/left ] || {
    cat /tmp/left
    lab_fail "purging leaves the above"
}
systemctl --failed --no-legend | tee /tmp/failed
[ ! -s /tmp/failed ] || lab_fail "units failed"
echo "result: nothing is left"
