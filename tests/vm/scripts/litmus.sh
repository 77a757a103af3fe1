#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# litmus.sh RSMD CONF1 CONF2 LITMUS [FAKE]: litmus tests of software mappings (tests/softmap) between two
# nodes on the two devices; with FAKE, the program of the same over a fake, with the traps that have to
# be asked for. Those tests are left out that need more stores than an emulated machine makes in
# reasonable time, and `monotonic`, whose number soft-RoCE may read byte by byte.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

lab_two_hosts "$1" "$2" "$3"
litmus=$4
fake=${5-}
export RSM_LITMUS_HOSTS=/run/h RSM_LITMUS_LIMIT_MS=300000
[ -e /bin/true ] || ln -s /usr/bin/busybox /bin/true # which forked_child executes

# What the kernel's part in a trap may be for.
calls='calls_from_mapping calls_into_mapping calls_across_pages calls_with_buffer calls_during_unmap'
by_fault="message_passing neighbours bell_after_barrier open_sees_everything ping_pong map_again
    put_and_get read_only other_faults other_bus_errors handlers_that_store store_during_unmap threads
    forked_child $calls"

by_signal() {
    echo 'stores make twins:'
    RSM_MAP_MODE=twin RSM_LITMUS_SHARE=12 "$litmus" message_passing value_and_back neighbours \
        bell_after_barrier map_again parts put_and_get store_during_unmap peer_dies || exit 1

    echo 'stores are trapped:' # the default
    # shellcheck disable=SC2086 # lists of words
    RSM_LITMUS_SHARE=20 "$litmus" messages_without_barrier value_and_back ping_pong \
        open_sees_everything bell_alone bell_that_is_read bell_beside_polled_word bell_after_barrier \
        put_and_get read_only other_faults handlers_that_store $calls forked_child another_connection \
        peer_dies || exit 1

    echo 'every store is trapped:'
    RSM_MAP_MODE=precise RSM_LITMUS_SHARE=40 "$litmus" bell_alone bell_amid_payload put_and_get || exit 1

    echo 'what this kernel has not, or what is forbidden, is refused:'
    RSM_MAP_TRAP=sigbus "$litmus" trap_refused off || exit 1
    RSM_MAP_TRAP=thread "$litmus" trap_refused
}

# as_nobody MODE WORKS: a plain user where /dev/userfaultfd has that mode.
as_nobody() {
    echo "of a plain user, /dev/userfaultfd has mode $1:"
    chmod "$1" /dev/userfaultfd || exit 1
    # shellcheck disable=SC2086
    RSM_MAP_TRAP=thread RSM_LITMUS_KERNEL_WAITS=$2 "$fake" --nobody $calls all_signals_blocked || exit 1
}

by_userfaultfd() {
    echo 'refused by userfaultfd and SIGBUS:'
    # shellcheck disable=SC2086
    RSM_MAP_TRAP=sigbus RSM_LITMUS_SHARE=20 "$litmus" $by_fault messages_without_barrier \
        bell_alone bell_that_is_read bell_beside_polled_word another_connection peer_dies || exit 1

    echo 'told to a thread:'
    # shellcheck disable=SC2086
    RSM_MAP_TRAP=thread RSM_LITMUS_KERNEL_WAITS=1 RSM_LITMUS_SHARE=20 "$litmus" $by_fault \
        all_signals_blocked another_connection peer_dies || exit 1

    as_nobody 600 0
    as_nobody 666 1
}

if [ -z "$fake" ]; then
    by_signal
else
    by_userfaultfd
fi
