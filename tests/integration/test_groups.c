/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of many members: who comes and goes, dies or stops while a writer writes harms nobody else. */
#include <rsm/group.h>

#include "party.h"
#include "process.h"
#include "shared_node.h"

enum {
    LENGTH = 2 * PARTY_PAGE,
    NODES = 8,
    PATIENCE_MS = 30000,
    RUN_MS = 1500,
    STOPPED_MS = 15000, /* what a daemon that does not answer may cost, with room */
    OTHER_UID = 65533,
};

/* ---------------------------------------------------------------- the writer's verbs */

static rsm_group_handle_t group;

static int join_as_writer(void *bytes)
{
    struct order *order = bytes;
    return rsm_group_connect(party_controller(order->controller), PARTY_ID, &group);
}

/* One put and a barrier; answers in .value how many lack it, in .timeout how long it took. */
static int write_once(void *bytes)
{
    struct order *order = bytes;
    uint_t lacking = 0;
    int64_t start = now_ms();
    int error = rsm_group_put(group, order->offset, &order->value, sizeof order->value);
    if (error == RSM_SUCCESS)
        error = rsm_group_close_barrier(group, &lacking);
    order->value = lacking;
    order->timeout = (int)(now_ms() - start);
    return error;
}

/* Go on for .timeout ms; answers the last value written, in .length how many lacked something, in .offset
 * how long the longest round took, in ms. */
static int write_on(void *bytes)
{
    struct order *order = bytes;
    int64_t end = now_ms() + order->timeout;
    order->length = 0;
    order->offset = 0;
    for (uint64_t i = 1; now_ms() < end; i++) {
        struct order one = {.value = i};
        int error = write_once(&one);
        NEED(error == RSM_SUCCESS || error == RSMERR_BARRIER_FAILURE);
        order->length += one.value;
        order->value = i;
        if (one.timeout > order->offset)
            order->offset = one.timeout;
    }
    return 0;
}

/* Until there are .value members; answers how many there are in .value. */
static int await_members(void *bytes)
{
    struct order *order = bytes;
    rsm_group_member_t members[NODES_MAX];
    int64_t end = now_ms() + PATIENCE_MS;
    uint_t count, connected;
    do {
        count = NODES_MAX;
        connected = 0;
        NEED(rsm_group_get_members(group, members, &count) == RSM_SUCCESS);
        for (uint_t i = 0; i < count; i++)
            connected += members[i].error == RSM_SUCCESS;
    } while (connected != order->value && now_ms() < end && usleep(1000) == 0);
    order->value = connected;
    return 0;
}

/* Answers .flags: the change, .node and .result: its error. */
static int take_change(void *bytes)
{
    struct order *order = bytes;
    rsm_group_event_t event = {0, 0, 0};
    int error = rsm_group_event_wait(group, order->timeout, &event);
    order->flags = (uint32_t)event.change;
    order->node = event.node;
    return error == RSM_SUCCESS ? event.error : error;
}

static int leave_as_writer(void *unused)
{
    return rsm_group_disconnect(group);
}

/* Join and leave as often as possible for .timeout ms; answers how often. */
static int jump(void *bytes)
{
    struct order *order = bytes;
    int64_t end = now_ms() + order->timeout;
    rsm_memseg_export_handle_t segment = party_export(0)->handle;
    for (order->value = 0; now_ms() < end; order->value++) {
        rsm_memseg_id_t id = PARTY_ID;
        NEED(rsm_memseg_export_unpublish(segment) == RSM_SUCCESS);
        NEED(rsm_memseg_export_publish(segment, &id, NULL, 0) == RSM_SUCCESS);
    }
    return 0;
}

/* ---------------------------------------------------------------- the test's side */

static struct actor *writer, *members[NODES + 1];

static void gather(struct world *world)
{
    for (unsigned node = 1; node <= NODES; node++) {
        members[node] = actor_start(world, node);
        TELL_OK(members[node], offer, .length = LENGTH);
    }
    writer = actor_start(world, 1);
    assert_int_equal(actor_run(writer, join_as_writer, &(struct order){0}, sizeof(struct order)),
                     0);
}

static struct order write_value(off_t offset, uint64_t value)
{
    return party_ask(writer, write_once, (struct order){.offset = offset, .value = value});
}

static void has(unsigned node, off_t offset, uint64_t value)
{
    assert_int_equal(ASK(members[node], load, .offset = offset).value, value);
}

static void expect_members(unsigned count)
{
    struct order there = party_ask(writer, await_members, (struct order){.value = count});
    assert_int_equal(there.result, 0);
    assert_int_equal(there.value, count);
}

WORLD_TEST(test_every_member_has_it)
{
    gather(world);
    expect_members(NODES);
    assert_int_equal(write_value(8, 5).result, RSM_SUCCESS);
    for (unsigned node = 1; node <= NODES; node++)
        has(node, 8, 5);
    assert_int_equal(actor_run(writer, leave_as_writer, NULL, 0), RSM_SUCCESS);
}

WORLD_TEST(test_members_come_and_go)
{
    unsigned gone = 0;
    gather(world);
    for (int round = 0; round < 4; round++) {
        actor_begin(writer, write_on, &(struct order){.timeout = RUN_MS}, sizeof(struct order));
        for (unsigned node = 2; node <= NODES; node++) {
            usleep(50000);
            gone++;
            if (round % 2 == 0) {
                TELL_OK(members[node], unpublish);
                continue;
            }
            actor_kill(members[node]);
            members[node] = actor_start(world, node);
        }
        for (unsigned node = 2; node <= NODES; node++)
            if (round % 2 == 0)
                TELL_OK(members[node], publish, .id = PARTY_ID);
            else
                TELL_OK(members[node], offer, .length = LENGTH);
        struct order done;
        assert_int_equal(actor_end(writer, &done, sizeof done), 0);
        has(1, 0, done.value);
        assert_true(done.length <= gone);
        expect_members(NODES);
        assert_int_equal(write_value(16, done.value + 1).result, RSM_SUCCESS);
        for (unsigned node = 1; node <= NODES; node++)
            has(node, 16, done.value + 1);
    }
}

WORLD_TEST(test_changes_that_nobody_takes)
{
    gather(world);
    for (int round = 0; round < 5; round++) {
        expect_members(NODES);
        for (unsigned node = 2; node <= NODES; node++)
            TELL_OK(members[node], unpublish);
        expect_members(1);
        for (unsigned node = 2; node <= NODES; node++)
            TELL_OK(members[node], publish, .id = PARTY_ID);
    }
    struct order change = party_ask(writer, take_change, (struct order){0});
    assert_int_equal(change.flags, RSM_GROUP_OVERFLOW);
    for (unsigned i = 0; i < 64; i++) {
        change = party_ask(writer, take_change, (struct order){0});
        assert_true(change.flags == RSM_GROUP_JOINED || change.flags == RSM_GROUP_LEFT);
        assert_in_range(change.node, 1, NODES);
    }
}

/* ---------------------------------------------------------------- daemons */

WORLD_TEST(test_a_daemon_dies)
{
    gather(world);
    assert_int_equal(write_value(0, 1).result, RSM_SUCCESS);
    world_daemon_kill(world, 3);
    uint64_t lacking = 0;
    for (uint64_t i = 2; i < 50; i++) {
        struct order done = write_value(0, i);
        lacking += done.value;
        assert_true(done.timeout < STOPPED_MS);
        for (unsigned node = 1; node <= NODES; node++)
            if (node != 3)
                has(node, 0, i);
    }
    assert_true(lacking <= 1);
    expect_members(NODES - 1);
}

/* Its members' memory can be written all the same, and who looks for members there waits once. */
WORLD_TEST(test_daemons_stop)
{
    gather(world);
    TELL_OK(members[4], unpublish);
    expect_members(NODES - 1);
    pid_t with = world_daemon(world, 3), without = world_daemon(world, 4);
    process_freeze(with);
    process_freeze(without);
    struct order done = party_ask(writer, write_on, (struct order){.timeout = STOPPED_MS / 3});
    assert_int_equal(done.length, 0);
    assert_true(done.offset < STOPPED_MS);
    for (unsigned node = 1; node <= NODES; node++)
        if (node != 4)
            has(node, 0, done.value);
    process_thaw(with);
    process_thaw(without);
}

/* ---------------------------------------------------------------- hostile members */

WORLD_TEST(test_a_member_joins_and_leaves_all_the_time)
{
    gather(world);
    TELL_OK(members[2], withdraw);
    TELL_OK(members[2], create, .length = LENGTH);
    TELL_OK(members[2], publish, .id = PARTY_ID);
    actor_begin(members[2], jump, &(struct order){.timeout = RUN_MS}, sizeof(struct order));
    struct order done = party_ask(writer, write_on, (struct order){.timeout = RUN_MS});
    struct order jumped;
    assert_int_equal(actor_end(members[2], &jumped, sizeof jumped), 0);
    print_message("%llu joins, %llu rounds of the writer, the longest of %lld ms\n",
                  (unsigned long long)jumped.value, (unsigned long long)done.value,
                  (long long)done.offset);
    assert_int_equal(done.result, 0);
    assert_true(done.value > 50);
    assert_true(done.length <= 2 * RUN_MS / 100);
    for (unsigned node = 1; node <= NODES; node++)
        if (node != 2)
            has(node, 0, done.value);
}

/* A writer without rights is refused by name, and writes to those who let him. */
SHARED_NODE_TEST(test_rights)
{
    struct actor *owner = actor_start_as(world, 1, UNPRIVILEGED_UID);
    writer = actor_start_as(world, 1, OTHER_UID);
    TELL_OK(owner, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, 0644}});
    assert_int_equal(actor_run(writer, join_as_writer, &(struct order){0}, sizeof(struct order)),
                     0);
    struct order change = party_ask(writer, take_change, (struct order){.timeout = PATIENCE_MS});
    assert_int_equal(change.flags, RSM_GROUP_REFUSED);
    assert_int_equal(change.node, 1);
    assert_int_equal(change.result, RSMERR_PERM_DENIED);
    assert_int_equal(write_value(0, 7).result, RSM_SUCCESS);
    assert_int_equal(ASK(owner, load, .offset = 0).value, 0);
    TELL_OK(owner, republish, .acl_count = 1, .acl = {{1, 0646}});
    change = party_ask(writer, take_change, (struct order){.timeout = PATIENCE_MS});
    assert_int_equal(change.flags, RSM_GROUP_JOINED);
    assert_int_equal(write_value(0, 8).result, RSM_SUCCESS);
    assert_int_equal(ASK(owner, load, .offset = 0).value, 8);
}
