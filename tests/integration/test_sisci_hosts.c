/* SPDX-License-Identifier: BSD-3-Clause */
/* SISCI between two hosts: the daemon of one does not answer, for now or for good. */
#include <sisci_api.h>

#include "hosts.h"
#include "party.h"
#include "process.h"

enum { ID = PARTY_ID, LENGTH = PARTY_PAGE, WAIT_MS = 30000 };

#define CONFIGURATION "[controller sci0]\ntransport = tcp\n[limits]\npeer-timeout-ms = 4000\n"

static sci_desc_t desc;
static sci_local_segment_t own;
static sci_remote_segment_t theirs;
static volatile uint64_t *mapped;
static sci_sequence_t sequence;

/* Of the calling process: a segment that is available. */
static int offer_one(void *unused)
{
    sci_error_t error;
    (void)unused;
    SCIInitialize(0, &error);
    SCIOpen(&desc, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCICreateSegment(desc, &own, ID, LENGTH, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCIPrepareSegment(own, 0, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCISetSegmentAvailable(own, 0, 0, &error);
    return (int)error;
}

/* To the segment of node .node. */
static int connect_one(void *bytes)
{
    const struct order *order = bytes;
    sci_error_t error;
    sci_map_t map;
    SCIConnectSegment(desc, &theirs, order->node, ID, 0, NULL, NULL, WAIT_MS,
                      RSM_SCI_FLAG_CONNECT_WAIT, &error);
    NEED(error == SCI_ERR_OK);
    mapped = SCIMapRemoteSegment(theirs, &map, 0, LENGTH, NULL, 0, &error);
    NEED(mapped != NULL);
    SCICreateMapSequence(map, &sequence, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCIStartSequence(sequence, 0, &error);
    return (int)error;
}

/* The next event of the own segment, in .value, and its node. */
static int next_local(void *bytes)
{
    struct order *order = bytes;
    sci_error_t error;
    unsigned node, adapter;
    order->value = SCIWaitForLocalSegmentEvent(own, &node, &adapter, WAIT_MS, 0, &error);
    order->node = node;
    return (int)error;
}

static int next_remote(void *bytes)
{
    struct order *order = bytes;
    sci_error_t error, status;
    order->value = SCIWaitForRemoteSegmentEvent(theirs, &status, WAIT_MS, 0, &error);
    return (int)error;
}

/* Store .value; it is there when the sequence is checked. */
static int store_one(void *bytes)
{
    const struct order *order = bytes;
    sci_error_t error;
    mapped[1] = order->value;
    NEED(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_OK);
    return (int)error;
}

static int load_own(void *bytes)
{
    struct order *order = bytes;
    sci_error_t error;
    sci_map_t map;
    const uint64_t *memory = SCIMapLocalSegment(own, &map, 0, LENGTH, NULL, 0, &error);
    NEED(memory != NULL);
    order->value = memory[1];
    SCIUnmapSegment(map, 0, &error);
    return (int)error;
}

static struct actor *one, *two;
static pid_t daemons[2];

static struct order told(struct actor *actor, actor_function verb, struct order order)
{
    struct order done = party_ask(actor, verb, order);
    assert_int_equal(done.result, SCI_ERR_OK);
    return done;
}

static void expect_both(sci_segment_cb_reason_t reason)
{
    struct order event = told(one, next_local, (struct order){0});
    assert_int_equal(event.value, reason);
    assert_int_equal(event.node, 2);
    assert_int_equal(told(one, next_remote, (struct order){0}).value, reason);
}

static void begin(struct world *world)
{
    const struct host hosts[2] = {{1, CONFIGURATION}, {2, CONFIGURATION}};
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    host_await_reach(world, 1, 2);
    host_await_reach(world, 2, 1);
    one = actor_start(world, 1);
    two = actor_start(world, 2);
    (void)told(one, offer_one, (struct order){0});
    (void)told(two, offer_one, (struct order){0});
    (void)told(one, connect_one, (struct order){.node = 2});
    (void)told(two, connect_one, (struct order){.node = 1});
    struct order event = told(one, next_local, (struct order){0});
    assert_int_equal(event.value, SCI_CB_CONNECT);
}

WORLD_TEST(host_that_does_not_answer_for_now)
{
    begin(world);
    for (uint64_t round = 1; round <= 2; round++) {
        process_freeze(daemons[1]);
        expect_both(SCI_CB_NOT_OPERATIONAL);
        process_thaw(daemons[1]);
        expect_both(SCI_CB_OPERATIONAL);
        /* The connections are as they were. */
        (void)told(one, store_one, (struct order){.value = round});
        assert_int_equal(told(two, load_own, (struct order){0}).value, round);
        (void)told(two, store_one, (struct order){.value = round + 10});
        assert_int_equal(told(one, load_own, (struct order){0}).value, round + 10);
    }
    process_freeze(daemons[1]);
    expect_both(SCI_CB_NOT_OPERATIONAL);
    expect_both(SCI_CB_LOST);
    process_thaw(daemons[1]);
    actor_stop(one);
    actor_stop(two);
    hosts_end(daemons);
}
