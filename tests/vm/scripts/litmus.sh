#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# litmus.sh RSMD CONF1 CONF2 LITMUS [FAKE [mirror]]: litmus tests of software mappings (tests/mapping) between
# two nodes on the two devices; with FAKE, the program of the same over a fake, with the trap that is the default,
# and with "mirror", on a kernel that can do that, in this mode. Those tests are left out that need more stores than an emulated machine makes in
# reasonable time, and `monotonic`, whose number soft-RoCE may read byte by byte.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

lab_two_hosts "$1" "$2" "$3"
litmus=$4
fake=${5-}
can_mirror=${6-}
export RSM_LITMUS_HOSTS=/run/h RSM_LITMUS_LIMIT_MS=300000
[ -e /bin/true ] || ln -s /usr/bin/busybox /bin/true # which forked_child executes

calls='calls_from_mapping calls_into_mapping calls_across_pages calls_with_buffer calls_during_unmap'
quick="value_and_back ping_pong loads_in_order open_sees_everything bell_alone bell_that_is_read bell_beside_polled_word
    bell_after_barrier bell_alone_after_barrier instructions operands variables parts map_again put_and_get
    another_connection read_only write_only store_after_unmap other_faults handler_goes_again other_bus_errors
    store_during_unmap signals_blocked handlers_that_store jump_out_of_fault jump_out_of_handler
    alternate_stack bus_errors $calls forked_child peer_dies counters_at_unmap off"
mirror="message_passing value_and_back ping_pong neighbours open_sees_everything bell_after_open map_again
    parts put_and_get another_connection read_only store_during_unmap all_signals_blocked $calls
    forked_child peer_dies merge_against_stores turn_through_mapping"
export RSM_LITMUS_SHARE=20

# What takes long is left to those who do it fastest.
# shellcheck disable=SC2086 # lists of words
by_signal() {
    export RSM_MAP_TRAP=signal
    echo 'stores make twins:'
    RSM_MAP_MODE=twin "$litmus" $quick message_passing neighbours two_importers threads \
        library_functions long_strings || exit 1

    echo 'stores are trapped:'
    "$litmus" $quick messages_without_barrier || exit 1
    RSM_LITMUS_DIVIDE=4 "$litmus" neighbours || exit 1 # two traps for each of its stores

    echo 'every store is trapped:'
    RSM_MAP_MODE=precise "$litmus" $quick bell_amid_payload messages_without_barrier || exit 1

    echo 'what this kernel has not, or what is forbidden, is refused:'
    RSM_MAP_TRAP=thread "$litmus" trap_refused || exit 1
    "$litmus" mirror_refused
}

# as_nobody MODE TRAP WORKS: a plain user where /dev/userfaultfd has that mode.
as_nobody() {
    echo "of a plain user, /dev/userfaultfd has mode $1:"
    chmod "$1" /dev/userfaultfd || exit 1
    # shellcheck disable=SC2086
    RSM_MAP_TRAP=$2 RSM_LITMUS_KERNEL_WAITS=$3 "$fake" --nobody $calls all_signals_blocked \
        bell_alone bell_beside_polled_word || exit 1
}

# shellcheck disable=SC2086
by_userfaultfd() {
    echo 'told to a thread, as is the default:'
    RSM_MAP_TRAP=auto RSM_LITMUS_KERNEL_WAITS=1 "$litmus" $quick all_signals_blocked || exit 1
    # Very many stores, each of which is sent alone until its page gets a twin.
    RSM_LITMUS_DIVIDE=5 RSM_MAP_TRAP=auto RSM_LITMUS_KERNEL_WAITS=1 "$litmus" message_passing neighbours \
        threads library_functions long_strings the_same_string_again string_from_a_hole \
        long_loops the_same_loop_again loop_within_mapping || exit 1

    as_nobody 600 thread 0
    as_nobody 666 auto 1
    [ -n "$can_mirror" ] || return 0

    echo 'nothing is refused:'
    RSM_MAP_MODE=mirror RSM_LITMUS_KERNEL_WAITS=1 "$litmus" $mirror || exit 1
}

if [ -z "$fake" ]; then
    by_signal
else
    by_userfaultfd
fi
