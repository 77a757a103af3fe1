/* SPDX-License-Identifier: BSD-3-Clause */
/* A member of a group on another host, over TCP, whose host does not answer. */
#include <rsm/group.h>

#include "hosts.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = 2 * PARTY_PAGE,
    TIMEOUT_MS = 3000,
    MARGIN_MS = 3000, /* of a machine that is busy */
    BLOCK = 1 << 20,
    PATIENCE_MS = 30000,
};

#define CONFIGURATION "[controller sci0]\ntransport = tcp\n[limits]\npeer-timeout-ms = 3000\n"
#define ACCESS        .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

static rsm_group_handle_t group;

static int join_as_writer(void *bytes)
{
    struct order *order = bytes;
    return rsm_group_connect(party_controller(order->controller), PARTY_ID, &group);
}

/* Put a word, or .length bytes; answers in .value how many lack it, in .timeout how long it took. */
static int write_once(void *bytes)
{
    static uint8_t block[BLOCK];
    struct order *order = bytes;
    uint_t lacking = 0;
    int64_t start = now_ms();
    size_t length = order->length != 0 ? order->length : sizeof order->value;
    memcpy(block, &order->value, sizeof order->value);
    int error = rsm_group_put(group, order->offset, block, length);
    if (error == RSM_SUCCESS)
        error = rsm_group_close_barrier(group, &lacking);
    order->value = lacking;
    order->timeout = (int)(now_ms() - start);
    return error;
}

static int await_change(void *bytes)
{
    struct order *order = bytes;
    rsm_group_event_t event;
    int error;
    do
        error = rsm_group_event_wait(group, PATIENCE_MS, &event);
    while (error == RSM_SUCCESS &&
           (event.change != (int)order->flags || event.node != order->node));
    return error;
}

static struct actor *writer, *member, *neighbour;
static pid_t daemons[2];

static void await_member(int change)
{
    struct order order = {.flags = (uint32_t)change, .node = 2};
    assert_int_equal(party_ask(writer, await_change, order).result, RSM_SUCCESS);
}

static void begin(struct world *world, size_t length)
{
    const struct host hosts[2] = {{1, CONFIGURATION}, {2, CONFIGURATION}};
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    host_await_reach(world, 1, 2);
    neighbour = actor_start(world, 1);
    member = actor_start(world, 2);
    writer = actor_start(world, 1);
    TELL_OK(neighbour, offer, .length = length, ACCESS);
    TELL_OK(member, offer, .length = length, ACCESS);
    assert_int_equal(actor_run(writer, join_as_writer, &(struct order){0}, sizeof(struct order)),
                     0);
    await_member(RSM_GROUP_JOINED);
}

static void end(void)
{
    actor_stop(writer);
    actor_stop(member);
    actor_stop(neighbour);
    hosts_end(daemons);
}

/* What serves the member's memory stops: the writer waits for the time-out once. */
static void stall(size_t length)
{
    pid_t server = process_child_of(daemons[1]);
    assert_true(server > 0);
    struct order done = party_ask(writer, write_once, (struct order){.value = 1, .length = length});
    assert_int_equal(done.result, RSM_SUCCESS);
    assert_int_equal(ASK(member, load, .offset = 0).value, 1);
    assert_int_equal(kill(server, SIGSTOP), 0);
    done = party_ask(writer, write_once, (struct order){.value = 2, .length = length});
    assert_int_equal(done.result, RSMERR_BARRIER_FAILURE);
    assert_int_equal(done.value, 1);
    assert_in_range(done.timeout, TIMEOUT_MS / 2, TIMEOUT_MS + MARGIN_MS);
    assert_int_equal(ASK(neighbour, load, .offset = 0).value, 2);
    await_member(RSM_GROUP_LEFT);
    (void)kill(server, SIGCONT); /* it may have been replaced */
    await_member(RSM_GROUP_JOINED);
    done = party_ask(writer, write_once, (struct order){.value = 3, .length = length});
    assert_int_equal(done.result, RSM_SUCCESS);
    assert_int_equal(ASK(member, load, .offset = 0).value, 3);
    assert_int_equal(ASK(neighbour, load, .offset = 0).value, 3);
}

WORLD_TEST(test_a_member_stalls)
{
    begin(world, LENGTH);
    stall(0);
    end();
}

/* With more under way than a socket takes. */
WORLD_TEST(test_a_member_stalls_amid_a_block)
{
    begin(world, BLOCK);
    stall(BLOCK);
    end();
}

/* The daemon of the other host stops, and with it the link, but not the member's connection at first. */
WORLD_TEST(test_a_hosts_daemon_stops)
{
    begin(world, LENGTH);
    process_freeze(daemons[1]);
    int64_t start = now_ms();
    await_member(RSM_GROUP_LEFT);
    assert_true(now_ms() - start < 2 * TIMEOUT_MS + MARGIN_MS);
    for (uint64_t i = 1; i < 20; i++) {
        struct order done = party_ask(writer, write_once, (struct order){.value = i});
        assert_true(done.timeout < TIMEOUT_MS + MARGIN_MS);
        assert_int_equal(ASK(neighbour, load, .offset = 0).value, i);
    }
    process_thaw(daemons[1]);
    host_await_link(world, 1, 2, true);
    await_member(RSM_GROUP_JOINED);
    end();
}
