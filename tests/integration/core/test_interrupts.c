/* SPDX-License-Identifier: BSD-3-Clause */
/* Named interrupts between processes of two nodes of a host. */
#include "process.h"
#include "harness.h"
#include "verbs.h"

enum { OWNER = 1, SENDER = 2, PLAIN = RSM_INTERRUPT_PLAIN, DATA = RSM_INTERRUPT_DATA };
enum { LONG_MS = 20000 };

WORLD_TEST(triggers_are_counted)
{
    struct actor *owner = actor_start(world, OWNER), *sender = actor_start(world, SENDER);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 7);
    TELL_GET(sender, find, RSM_ST_NOT_FOUND, .node = OWNER, .flags = PLAIN, .id = 8);
    TELL_GET(sender, find, RSM_ST_NOT_FOUND, .node = OWNER, .flags = DATA, .id = 7);
    TELL_OK(sender, find, .node = OWNER, .flags = PLAIN, .id = 7);
    TELL_OK(owner, find, .node = OWNER, .flags = PLAIN, .id = 7);
    TELL_GET(owner, take, RSM_ST_TIMEOUT);
    assert_int_equal(VALUE(owner, take_readable), 0);
    for (int i = 0; i < 3; i++)
        TELL_OK(sender, trigger);
    TELL_OK(owner, trigger);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(VALUE(owner, take_readable), 1);
        TELL_OK(owner, take);
    }
    assert_int_equal(VALUE(owner, take_readable), 0);
    TELL_GET(owner, take, RSM_ST_TIMEOUT, .timeout = 20);
    TELL_GET(sender, trigger, RSM_ST_INVALID, .length = 1); /* it takes no data */
    TELL_GET(owner, take, RSM_ST_TIMEOUT);
    /* Gone, and then there is another one of that number. */
    TELL_OK(owner, remove);
    TELL_GET(sender, trigger, RSM_ST_NOT_FOUND);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 7);
    TELL_GET(sender, trigger, RSM_ST_NOT_FOUND);
    TELL_OK(sender, forget);
    TELL_OK(sender, find, .node = OWNER, .flags = PLAIN, .id = 7);
    TELL_OK(sender, trigger);
    TELL_OK(owner, take, .timeout = LONG_MS);
    TELL_OK(owner, remove);
}

WORLD_TEST(numbers_are_the_nodes)
{
    static const uint32_t numbers[] = {0, 1, 9573, 0x30003, 0x80000001, UINT32_MAX};
    struct actor *owner = actor_start(world, OWNER), *other = actor_start(world, OWNER);
    struct actor *elsewhere = actor_start(world, SENDER);
    for (int i = 0; i < 6; i++) {
        TELL_OK(owner, interrupt, .slot = i, .flags = PLAIN, .id = numbers[i]);
        TELL_GET(other, interrupt, RSM_ST_ID_IN_USE, .slot = i, .flags = PLAIN, .id = numbers[i]);
        TELL_OK(other, interrupt, .slot = i, .flags = DATA, .id = numbers[i]);
        TELL_OK(elsewhere, interrupt, .slot = i, .flags = PLAIN, .id = numbers[i]);
    }
    struct core_order first = {.slot = 6, .flags = PLAIN, .node = 1}, second = first;
    second.slot = 7;
    assert_int_equal(core_tell(owner, core_interrupt, &first), RSM_ST_OK);
    assert_int_equal(core_tell(owner, core_interrupt, &second), RSM_ST_OK);
    assert_int_not_equal(first.id, second.id);
    TELL_GET(owner, interrupt, RSM_ST_INVALID, .slot = 1, .flags = 4, .id = 5);
    /* They are free as soon as their owner has gone. */
    actor_kill(owner);
    for (int i = 0; i < 6; i++) {
        TELL_OK(other, remove, .slot = i);
        TELL_OK(other, interrupt, .slot = i, .flags = PLAIN, .id = numbers[i]);
    }
}

WORLD_TEST(messages_arrive_whole_and_in_order)
{
    struct actor *owner = actor_start(world, OWNER), *sender = actor_start(world, SENDER);
    TELL_OK(owner, interrupt, .flags = DATA, .id = 1);
    TELL_OK(sender, find, .node = OWNER, .flags = DATA, .id = 1);
    uint64_t before = VALUE(owner, requests) + VALUE(sender, requests);
    for (size_t length = 0; length <= 8; length++) {
        struct core_order got = {.timeout = LONG_MS};
        TELL_OK(sender, trigger, .length = length, .value = UINT64_C(0x0807060504030201));
        assert_int_equal(core_tell(owner, core_take, &got), RSM_ST_OK);
        assert_int_equal(got.length, length);
        assert_memory_equal(&got.value, "\x01\x02\x03\x04\x05\x06\x07\x08", length);
    }
    /* Four packets for each message: one request of either process, and the replies. */
    assert_int_equal(VALUE(owner, requests) + VALUE(sender, requests) - before, 9 * 2);
    TELL_GET(sender, trigger, RSM_ST_RANGE, .length = RSM_INTERRUPT_DATA_MAX + 1);
    /* A full queue refuses, and what it took arrives. */
    uint64_t sent = 0;
    while (TELL(sender, trigger, .length = 8, .value = sent) == RSM_ST_OK)
        sent++;
    assert_int_equal(sent, RSM_MAILBOX_MAX - 1); /* the last of those before still has its room */
    TELL_GET(sender, trigger, RSM_ST_NO_RESOURCES, .length = 8, .value = sent);
    for (uint64_t i = 0; i < sent; i++)
        assert_int_equal(VALUE(owner, take, .timeout = LONG_MS), i);
    TELL_GET(owner, take, RSM_ST_TIMEOUT);
    TELL_OK(sender, trigger, .length = 8, .value = 5);
    process_freeze(world_daemon(world, OWNER));
    TELL_GET(owner, take, RSM_ST_TIMEOUT);
    process_thaw(world_daemon(world, OWNER));
    assert_int_equal(VALUE(owner, take, .timeout = LONG_MS), 5);
    TELL_OK(owner, remove);
}

WORLD_TEST(a_number_can_be_shared)
{
    enum { SHARED = RSM_INTERRUPT_SHARED };
    struct actor *first = actor_start(world, OWNER), *second = actor_start(world, OWNER);
    struct actor *sender = actor_start(world, SENDER);
    TELL_OK(first, interrupt, .flags = DATA, .id = 4, .node = SHARED);
    TELL_OK(sender, find, .node = OWNER, .flags = DATA, .id = 4);
    TELL_GET(second, interrupt, RSM_ST_ID_IN_USE, .flags = DATA, .id = 4);
    TELL_GET(second, interrupt, RSM_ST_INVALID, .flags = DATA, .id = 5, .node = 4);
    TELL_OK(second, interrupt, .flags = DATA, .id = 4, .node = SHARED);
    TELL_OK(sender, trigger, .length = 8, .value = 11);
    assert_int_equal(VALUE(first, take, .timeout = LONG_MS), 11);
    /* Where one queue is full nobody gets anything. */
    uint64_t sent = 12;
    while (TELL(sender, trigger, .length = 8, .value = sent) == RSM_ST_OK)
        sent++;
    assert_int_equal(sent, 11 + RSM_MAILBOX_MAX); /* 11 is still there */
    for (uint64_t i = 12; i < sent; i++)
        assert_int_equal(VALUE(first, take, .timeout = LONG_MS), i);
    TELL_GET(sender, trigger, RSM_ST_NO_RESOURCES, .length = 8, .value = sent);
    TELL_GET(first, take, RSM_ST_TIMEOUT);
    for (uint64_t i = 11; i < sent; i++)
        assert_int_equal(VALUE(second, take, .timeout = LONG_MS), i);
    /* It lasts as long as one of them. */
    TELL_OK(first, remove);
    TELL_OK(sender, trigger, .length = 8, .value = 5);
    assert_int_equal(VALUE(second, take, .timeout = LONG_MS), 5);
    TELL_OK(first, interrupt, .flags = DATA, .id = 4, .node = SHARED);
    actor_kill(second);
    TELL_OK(sender, trigger, .length = 8, .value = 6);
    assert_int_equal(VALUE(first, take, .timeout = LONG_MS), 6);
    TELL_OK(first, remove);
    TELL_GET(sender, trigger, RSM_ST_NOT_FOUND);
    /* One that is not shared is nobody's to join. */
    TELL_OK(first, interrupt, .flags = PLAIN, .id = 4);
    TELL_GET(sender, find, RSM_ST_NOT_FOUND, .node = OWNER, .flags = DATA, .id = 4);
    TELL_OK(first, remove);
}

WORLD_TEST(only_the_same_user_shares)
{
    enum { SHARED = RSM_INTERRUPT_SHARED };
    case_needs_root();
    pid_t daemon = world_daemon_start(world, OWNER);
    struct actor *owner = actor_start_as(world, OWNER, UNPRIVILEGED_UID);
    struct actor *stranger = actor_start_as(world, OWNER, UNPRIVILEGED_UID - 1);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 1, .node = SHARED);
    TELL_GET(stranger, interrupt, RSM_ST_ID_IN_USE, .flags = PLAIN, .id = 1, .node = SHARED);
    TELL_OK(owner, interrupt, .slot = 1, .flags = PLAIN, .id = 1, .node = SHARED);
    actor_stop(owner);
    actor_stop(stranger);
    world_daemon_end(daemon);
}

WORLD_TEST(waiting_ends)
{
    struct actor *owner = actor_start(world, OWNER);
    TELL_OK(owner, interrupt, .flags = DATA, .id = 1);
    TELL_GET(owner, cancel_interrupt, RSM_ST_STALE);
    TELL_GET(owner, take, RSM_ST_STALE);
    TELL_OK(owner, remove);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 1);
    actor_begin(owner, core_take, &(struct core_order){.timeout = -1}, sizeof(struct core_order));
    world_daemon_kill(world, OWNER);
    struct core_order order;
    assert_int_equal(actor_end(owner, &order, sizeof order), RSM_ST_STALE);
    TELL_OK(owner, remove);
}

WORLD_TEST(only_who_may_triggers)
{
    case_needs_root();
    pid_t daemon = world_daemon_start(world, OWNER);
    struct actor *owner = actor_start_as(world, OWNER, UNPRIVILEGED_UID);
    struct actor *stranger = actor_start_as(world, OWNER, UNPRIVILEGED_UID - 1);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 1, .value = 0600);
    TELL_OK(owner, interrupt, .slot = 1, .flags = PLAIN, .id = 2, .value = 0602);
    TELL_OK(owner, find, .node = OWNER, .flags = PLAIN, .id = 1);
    TELL_GET(stranger, find, RSM_ST_DENIED, .node = OWNER, .flags = PLAIN, .id = 1);
    TELL_OK(stranger, find, .node = OWNER, .flags = PLAIN, .id = 2);
    TELL_OK(stranger, trigger);
    TELL_OK(owner, take, .slot = 1, .timeout = LONG_MS);
    actor_stop(owner);
    actor_stop(stranger);
    world_daemon_end(daemon);
}

/* Who has the counter posts without a request: a daemon that stands still does not matter. */
WORLD_TEST(a_trigger_needs_no_daemon)
{
    struct actor *owner = actor_start(world, OWNER), *sender = actor_start(world, SENDER);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 7);
    TELL_OK(sender, find, .node = OWNER, .flags = PLAIN, .id = 7);
    process_freeze(world_daemon(world, OWNER));
    TELL_OK(sender, trigger);
    TELL_OK(sender, trigger);
    TELL_OK(owner, take, .timeout = LONG_MS);
    TELL_OK(owner, take, .timeout = LONG_MS);
    TELL_GET(owner, take, RSM_ST_TIMEOUT);
    process_thaw(world_daemon(world, OWNER));
    /* With its daemon nobody is there any more. */
    world_daemon_kill(world, OWNER);
    TELL_GET(sender, trigger, RSM_ST_UNREACHABLE);
    TELL_GET(owner, take, RSM_ST_STALE);
    TELL_OK(owner, remove);
}

WORLD_TEST(plain_ones_are_shared)
{
    enum { SHARED = RSM_INTERRUPT_SHARED };
    struct actor *first = actor_start(world, OWNER), *second = actor_start(world, OWNER);
    struct actor *sender = actor_start(world, SENDER);
    TELL_OK(first, interrupt, .flags = PLAIN, .id = 4, .node = SHARED);
    TELL_OK(sender, find, .node = OWNER, .flags = PLAIN, .id = 4);
    TELL_OK(sender, trigger);
    TELL_OK(second, interrupt, .flags = PLAIN, .id = 4, .node = SHARED);
    TELL_OK(sender, trigger); /* found when there was one; it reaches both */
    TELL_OK(first, take, .timeout = LONG_MS);
    TELL_OK(first, take, .timeout = LONG_MS);
    TELL_OK(second, take, .timeout = LONG_MS);
    TELL_OK(sender, find, .slot = 1, .node = OWNER, .flags = PLAIN, .id = 4);
    TELL_OK(sender, trigger, .slot = 1);
    TELL_OK(first, take, .timeout = LONG_MS);
    TELL_OK(second, take, .timeout = LONG_MS);
    actor_kill(first);
    TELL_OK(sender, find, .slot = 2, .node = OWNER, .flags = PLAIN, .id = 4);
    for (int i = 0; i < 3; i++) {
        TELL_OK(sender, trigger, .slot = i);
        TELL_OK(second, take, .timeout = LONG_MS);
    }
    TELL_OK(second, remove);
    for (int i = 0; i < 3; i++)
        TELL_GET(sender, trigger, RSM_ST_NOT_FOUND, .slot = i);
}

/* How many event counters a process has mapped. */
static unsigned counters_of(const struct actor *actor)
{
    char path[64], line[512];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)actor->pid);
    FILE *maps = fopen(path, "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "memfd:rsm-event") != NULL;
    fclose(maps);
    return count;
}

/* Whoever has the counter can take triggers away, so other users do not get it. */
WORLD_TEST(strangers_get_no_counter)
{
    case_needs_root();
    if (!process_sees_others()) {
        print_message("not run: without CAP_SYS_PTRACE nobody sees what other users have mapped\n");
        skip();
    }
    pid_t daemon = world_daemon_start(world, OWNER);
    struct actor *owner = actor_start_as(world, OWNER, UNPRIVILEGED_UID);
    struct actor *same = actor_start_as(world, OWNER, UNPRIVILEGED_UID);
    struct actor *stranger = actor_start_as(world, OWNER, UNPRIVILEGED_UID - 1);
    struct actor *root = actor_start(world, OWNER);
    TELL_OK(owner, interrupt, .flags = PLAIN, .id = 1);
    struct actor *const senders[] = {same, stranger, root};
    static const unsigned expected[] = {1, 0, 1};
    for (int i = 0; i < 3; i++) {
        TELL_OK(senders[i], find, .node = OWNER, .flags = PLAIN, .id = 1);
        assert_int_equal(counters_of(senders[i]), expected[i]);
        TELL_OK(senders[i], trigger);
        TELL_OK(owner, take, .timeout = LONG_MS);
        TELL_OK(senders[i], forget);
        assert_int_equal(counters_of(senders[i]), 0);
    }
    TELL_OK(owner, remove);
    for (int i = 0; i < 3; i++)
        actor_stop(senders[i]);
    actor_stop(owner);
    world_daemon_end(daemon);
}
