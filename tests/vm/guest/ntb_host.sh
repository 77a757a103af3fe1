#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts in which each of two machines is a host (host.sh) with one end of the bridge: /dev/rsm_ntb0.
# shellcheck source=../guest/host.sh
. /lab/guest/host.sh

# ntb_host: the network, the modules, the daemon, whose rsm.conf says beside [cluster] what the script has put into
# /run/nodes.conf: two nodes with one controller each, sci0, if it has not.
ntb_host() {
    ip link set lo up
    lab_ntb
    {
        if [ ! -e /run/nodes.conf ]; then
            lab_wire 0 || lab_fail 'no network'
            printf '[controller sci0]\ntransport = ntb\ndevice = /dev/rsm_ntb0\n' | wire_conf
        else
            printf '[cluster]\nauth = munge\nmunge-socket = /run/munge/socket\n'
            cat /run/nodes.conf
        fi
        printf '[limits]\npeer-timeout-ms = 6000\n'
    } >/run/rsm.conf
    lab_munged
    start_rsmd
}
