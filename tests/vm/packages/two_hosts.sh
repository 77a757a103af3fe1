#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# two_hosts.sh LIST...: doc/two-hosts.md on two fresh hosts: every command of these lists, which page.py makes, in its order,
# on the host that the page says. /lab/steps is the page up to RDMA, and alone it is for a kernel for clouds;
# /lab/wireguard is doc/wireguard.md, which goes on there.
# What differs from the page's hosts: apt finds Debian's packages in a local repository and takes "yes" for granted. The
# hosts have other names and another interface than the page, whose values are replaced as it asks for. Who copies and
# pastes is this script, by SSH, which the page does not use.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh
set -eu
host=alpha other_ip=192.0.2.2
if [ "$LAB_MACHINE" -eq 2 ]; then
    host=beta other_ip=192.0.2.1
fi
export PAGER=cat SYSTEMD_PAGER=''

# Before the page: an address, a firewall that lets nobody in but by SSH. netem: see lab_wire in lab.sh.
hostname "ip-192-0-2-$LAB_MACHINE"
echo "127.0.1.1 $(hostname)" >>/etc/hosts
ip link set lo up
ip link set eth0 down
ip link set eth0 name ens5
ip link set ens5 mtu 4500 up
ip address add "192.0.2.$LAB_MACHINE/24" dev ens5
tc qdisc replace dev ens5 root netem delay 1us limit 10000
nft -f - <<'END'
table inet filter {
    chain input {
        type filter hook input priority filter; policy drop;
        iif lo accept
        ct state established,related accept
        meta l4proto { 1, 58 } accept comment "ICMP"
        tcp dport 22 accept
    }
}
END
# The packages have been copied there, and not those that Debian has.
mkdir /tmp/packages
for package in /packages/new/*.deb; do
    case ${package##*/} in
    librsm* | libsisci* | rsm* | sisci*) ln -s "$package" /tmp/packages ;;
    esac
done
! command -v rsmd munge rdma_rxe || lab_fail "this host is not fresh"
! rdma link 2>/dev/null | grep -q . || lab_fail "this host has an RDMA device"
if [ $# -eq 1 ]; then
    [[ $(uname -r) == *-cloud-* ]] || lab_fail "this kernel is not for clouds: $(uname -r)"
    ! modinfo rdma_rxe >/dev/null 2>&1 || lab_fail "this kernel has soft-RoCE"
fi
dpkg-query -W -f '${Package}\n' | sort >/tmp/packages.before
# A keyboard on which nobody types.
mkfifo /tmp/keyboard
exec 7<>/tmp/keyboard

# printed FILE TEXT|TEXT...: whether all of them are there, whatever the spaces.
printed() {
    local text texts
    IFS='|' read -ra texts <<<"$2"
    for text in "${texts[@]}"; do
        tr -s ' \t' ' ' <"$1" | grep -qwF -e "$text" || return 1
    done
}

# once NUMBER COMMAND: in the shell of the page, which keeps variables and folder; its input is in /tmp/input and its
# output in /tmp/N.
: >/tmp/shell
once() {
    timeout 900 bash -o pipefail -c ". /tmp/shell
$2" <"/tmp/input" >"/tmp/$1" 2>&1
}
once_and_prints() {
    once "$1" "$2" && printed "/tmp/$1" "$3"
}

uptime_s() {
    cut -d. -f1 /proc/uptime
}

number=0
copied=0
begun=$(uptime_s)
left=()
while IFS=$'\t' read -r where manner prints command <&3; do
    number=$((number + 1))
    echo "typed on $host" >/tmp/input
    case $command in # a reader's own values; alpha and beta are ip-192-0-2-1 and ip-192-0-2-2 here
    alpha=*) command="alpha=ip-192-0-2-1 alpha_ip=192.0.2.1" ;;
    beta=*) command="beta=ip-192-0-2-2 beta_ip=192.0.2.2" ;;
    esac
    if [ "$where" = both ] || [ "$where" = "$host" ]; then
        echo "$host ($(uptime_s) s)# $command"
        case $command in # what the page of the tunnel tells to end
        'systemctl stop rsmd'*)
            kill "${left[@]}" 2>/dev/null || :
            left=()
            ;;
        esac
        patience=0
        case $command in # what a reader repeats who sees it too early
        'systemctl status'* | rsmstat* | 'rdma link') patience=90 ;;
        esac
        if [ "$manner" = paste ]; then
            # shellcheck disable=SC2029 # the name that this side knows
            ssh "$other_ip" "cat /tmp/$copied" >/tmp/input || lab_fail "there is nothing to paste"
            [ -s /tmp/input ] || lab_fail "there is nothing to paste"
        fi
        if [ "$manner" = leave ]; then
            # shellcheck disable=SC2086 # words
            stdbuf -oL $command >"/tmp/$number" 2>&1 </tmp/keyboard 7>&- &
            left+=($!)
            lab_until 60 test -s "/tmp/$number" || lab_fail "$command says nothing"
            last=$number
        elif [ "$prints" = - ]; then
            once "$number" "$command" || {
                cat "/tmp/$number"
                lab_fail "step $number: $command"
            }
        else
            lab_until "$patience" once_and_prints "$number" "$command" "$prints" || {
                cat "/tmp/$number"
                journalctl --no-pager -u rsmd | tail -n 20
                lab_fail "step $number: $command: does not print $prints"
            }
        fi
        cat "/tmp/$number"
        case $command in
        cd\ * | alpha=* | beta=* | iface=*) echo "$command" >>/tmp/shell ;;
        esac
    fi
    # What is pasted next is what the other host has printed last.
    [ "$where" = both ] || [ "$where" = "$host" ] || copied=$number
    lab_note "step-$number-$host"
    for other in alpha beta; do
        lab_await "step-$number-$other" 1000
    done
    # What is typed on beta appears on alpha.
    if [[ $command == 'rsmtest -i'* && $manner == wait ]] && [ "$host" = alpha ]; then
        lab_until 30 grep -q 'typed on beta' "/tmp/$last" || {
            cat "/tmp/$last"
            lab_fail "what was typed on beta does not appear"
        }
        echo "result: rsmtest: $(grep -a 'typed on beta' "/tmp/$last")"
        echo "result: $(($(uptime_s) - begun)) s of an emulated machine, and $number commands, from the first command to the message"
    fi
    case $command in
    'rsmstat --links' | 'rsmstat --imports'* | 'systemctl status'* | rsmperf\ --node*) sed "s/^/result: $host: /" "/tmp/$number" 2>/dev/null | tail -n 8 || : ;;
    esac
done 3< <(cat "$@")
[ "$number" -gt 10 ] || lab_fail "the page has only $number commands"
dpkg-query -W -f '${Package}\n' | sort | comm -13 /tmp/packages.before - >/tmp/packages.new
echo "result: $host: $(wc -l </tmp/packages.new) packages were installed: $(paste -sd' ' /tmp/packages.new)"
if [ $# -eq 1 ] && grep -E 'ibverbs|rdma|verbs|^linux-' /tmp/packages.new; then
    lab_fail "packages for RDMA, or of a kernel, were installed"
fi
for process in "${left[@]}"; do
    kill "$process" 2>/dev/null || :
done
echo "result: $number commands of the page work on $host"
