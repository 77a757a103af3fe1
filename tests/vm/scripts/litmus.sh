#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# litmus.sh RSMD CONF1 CONF2 LITMUS: litmus tests of software mappings (tests/softmap) between two nodes
# on the two devices. Those are left out that need more stores than an emulated machine makes in
# reasonable time, and `monotonic`, whose number soft-RoCE may read byte by byte.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

lab_two_hosts "$1" "$2" "$3"
litmus=$4
export RSM_LITMUS_HOSTS=/run/h RSM_LITMUS_LIMIT_MS=300000
[ -e /bin/true ] || ln -s /usr/bin/busybox /bin/true # which forked_child executes

echo 'stores make twins:'
RSM_MAP_MODE=twin RSM_LITMUS_SHARE=12 "$litmus" message_passing value_and_back neighbours \
    bell_after_barrier map_again parts put_and_get store_during_unmap peer_dies || exit 1

echo 'stores are trapped:' # the default
RSM_LITMUS_SHARE=20 "$litmus" messages_without_barrier value_and_back ping_pong \
    open_sees_everything bell_alone bell_that_is_read bell_beside_polled_word bell_after_barrier \
    put_and_get read_only other_faults handlers_that_store calls_from_mapping calls_into_mapping forked_child another_connection \
    peer_dies
