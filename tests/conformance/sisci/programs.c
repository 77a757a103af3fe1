/* SPDX-License-Identifier: BSD-3-Clause */
/* Small programs that use the API as programs do which were written for hardware: what is left of
 * resources that have ended, and orders of calls that no document describes. */
#include "peer.h"
#include "segments_peer.h"

enum { NUMBER = 1, ROUNDS = 30 };

CONFORMANCE(X, 96, "the receiver ends first: plain triggers go on to succeed, messages say so")
{
    enum { WAYS = 3 };
    sci_remote_interrupt_t plain;
    sci_remote_data_interrupt_t data;
    const actor_function ends[WAYS] = {b_remove, b_terminate, s_exit};
    struct actor *all[WAYS]; /* forked before this process has handles */
    for (int i = 0; i < WAYS; i++)
        all[i] = b_start();
    begin_as_a();
    for (int i = 0; i < WAYS; i++) {
        struct actor *b = all[i];
        about("way %d", i);
        B_OK(b, create, .number = NUMBER);
        B_OK(b, create, .data = true, .number = NUMBER);
        SUCCEEDS(SCIConnectInterrupt, desc(), &plain, node_b(), ADAPTER, NUMBER, 0, 0);
        SUCCEEDS(SCIConnectDataInterrupt, desc(), &data, node_b(), ADAPTER, NUMBER, 0, 0);
        SUCCEEDS(SCITriggerInterrupt, plain, 0);
        B_OK(b, wait, .timeout = LONG_MS);
        if (ends[i] == s_exit) {
            actor_begin(b, ends[i], NULL, 0);
            HOLDS(actor_ended(b, LONG_MS));
        } else {
            EXPECT(SCI_ERR_OK, b_tell(b, ends[i], &(struct b_order){.data = false}));
        }
        if (ends[i] == b_remove)
            B_OK(b, remove, .data = true);
        for (int k = 0; k < ROUNDS; k++)
            SUCCEEDS(SCITriggerInterrupt, plain, 0);
        /* The daemon hears of a process that has ended a moment later. */
        sci_error_t error = SCI_ERR_OK;
        for (int64_t end = now_ms() + LONG_MS; error == SCI_ERR_OK && now_ms() < end;)
            error = ERROR_OF(SCITriggerDataInterrupt, data, &i, sizeof i, 0);
        EXPECT(SCI_ERR_NOT_CONNECTED, error);
        SUCCEEDS(SCITriggerInterrupt, plain, 0);
        SUCCEEDS(SCIDisconnectInterrupt, plain, 0);
        SUCCEEDS(SCIDisconnectDataInterrupt, data, 0);
    }
    SCITerminate();
}

/* What a program has that releases in its exit handlers. */
struct leftovers {
    sci_desc_t desc;
    sci_local_segment_t local;
    sci_remote_segment_t remote;
    sci_map_t local_map, map;
    sci_sequence_t sequence;
    sci_dma_queue_t queue;
    sci_local_interrupt_t plain;
    sci_local_data_interrupt_t data;
    sci_remote_interrupt_t trigger;
    sci_remote_data_interrupt_t data_trigger;
};

static struct leftovers make_all(void)
{
    struct leftovers all = {.desc = NULL};
    unsigned number = NUMBER;
    sci_error_t error;
    SUCCEEDS(SCIOpen, &all.desc, 0);
    SUCCEEDS(SCICreateSegment, all.desc, &all.local, SEGMENT, SIZE, NULL, NULL, 0);
    HOLDS(SCIMapLocalSegment(all.local, &all.local_map, 0, SIZE, NULL, 0, &error) != NULL);
    SUCCEEDS(SCIPrepareSegment, all.local, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, all.local, ADAPTER, 0);
    SUCCEEDS(SCIConnectSegment, all.desc, &all.remote, node_a(), SEGMENT, ADAPTER, NULL, NULL, 0,
             0);
    if (!options.no_map)
        (void)SCIMapRemoteSegment(all.remote, &all.map, 0, SIZE, NULL, 0, &error);
    SUCCEEDS(SCICreateMapSequence, all.local_map, &all.sequence, 0);
    SUCCEEDS(SCICreateDMAQueue, all.desc, &all.queue, ADAPTER, 1, 0);
    SUCCEEDS(SCICreateInterrupt, all.desc, &all.plain, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    SUCCEEDS(SCICreateDataInterrupt, all.desc, &all.data, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    SUCCEEDS(SCIConnectInterrupt, all.desc, &all.trigger, node_a(), ADAPTER, number, 0, 0);
    SUCCEEDS(SCIConnectDataInterrupt, all.desc, &all.data_trigger, node_a(), ADAPTER, number, 0, 0);
    return all;
}

static void release_all(const struct leftovers *all, sci_error_t wanted)
{
    GIVES(wanted, SCIDisconnectDataInterrupt, all->data_trigger, 0);
    GIVES(wanted, SCIDisconnectInterrupt, all->trigger, 0);
    GIVES(wanted, SCIRemoveDataInterrupt, all->data, 0);
    GIVES(wanted, SCIRemoveInterrupt, all->plain, 0);
    GIVES(wanted, SCIRemoveDMAQueue, all->queue, 0);
    GIVES(wanted, SCIRemoveSequence, all->sequence, 0);
    GIVES(wanted, SCIUnmapSegment, all->map, 0);
    GIVES(wanted, SCIUnmapSegment, all->local_map, 0);
    GIVES(wanted, SCIDisconnectSegment, all->remote, 0);
    GIVES(wanted, SCISetSegmentUnavailable, all->local, ADAPTER, 0);
    GIVES(wanted, SCIRemoveSegment, all->local, 0);
    GIVES(wanted, SCIClose, all->desc, 0);
}

CONFORMANCE(X, 97, "functions that release succeed after SCITerminate(), which has released")
{
    const struct leftovers none = {.desc = NULL};
    sci_desc_t opened;
    act_as_exporter();
    release_all(&none, SCI_ERR_NOT_INITIALIZED);
    SUCCEEDS(SCIInitialize, 0);
    const struct leftovers all = make_all();
    release_all(&none, SCI_ERR_ILLEGAL_PARAMETER);
    SCITerminate();
    for (int i = 0; i < 2; i++)
        release_all(&all, SCI_ERR_OK);
    release_all(&none, SCI_ERR_OK);
    /* All others say what is wrong. */
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
    GIVES(SCI_ERR_NOT_INITIALIZED, SCISetSegmentAvailable, all.local, ADAPTER, 0);
    GIVES(SCI_ERR_NOT_INITIALIZED, SCITriggerInterrupt, all.trigger, 0);
    /* Whoever begins again has none of these handles. */
    SUCCEEDS(SCIInitialize, 0);
    release_all(&all, SCI_ERR_ILLEGAL_PARAMETER);
    SCITerminate();
}

static void expect_described(sci_remote_segment_t segment, unsigned id, size_t size)
{
    EXPECT((int)id, (int)SCIGetRemoteSegmentId(segment));
    EXPECT((int)node_b(), (int)SCIGetRemoteSegmentNodeId(segment));
    HOLDS(SCIGetRemoteSegmentSize(segment) == size);
}

CONFORMANCE(X, 98, "a remote segment tells its id, size and node after the disconnect, too")
{
    sci_remote_segment_t first, second;
    struct actor *b = b_start();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    S_OK(b, offer, .slot = 1, .id = SEGMENT + 1, .size = 3 * SIZE);
    begin_as_a();
    first = connected(node_b(), SEGMENT);
    second = connected(node_b(), SEGMENT + 1);
    expect_described(first, SEGMENT, SIZE);
    SUCCEEDS(SCIDisconnectSegment, first, 0);
    expect_described(first, SEGMENT, SIZE);
    SUCCEEDS(SCIDisconnectSegment, second, 0);
    expect_described(first, SEGMENT, SIZE);
    expect_described(second, SEGMENT + 1, 3 * SIZE);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIDisconnectSegment, first, 0); /* it is only described */
    /* Each of these has been one of those by the time the last one goes. */
    for (int i = 0; i < 2 * ROUNDS; i++)
        SUCCEEDS(SCIDisconnectSegment, connected(node_b(), SEGMENT + 1), 0);
    sci_remote_segment_t both[2] = {connected(node_b(), SEGMENT), connected(node_b(), SEGMENT)};
    for (int i = 0; i < 2; i++)
        SUCCEEDS(SCIDisconnectSegment, both[i], 0);
    HOLDS(SCIGetRemoteSegmentId(first) == 0 && SCIGetRemoteSegmentSize(first) == 0);
    for (unsigned i = 0; i < NO_HANDLES; i++)
        HOLDS(SCIGetRemoteSegmentId(no_handle(i)) == 0);
    SCITerminate();
    expect_described(both[0], SEGMENT, SIZE);
}

static bool await_word(const volatile uint64_t *word, uint64_t wanted)
{
    for (int64_t end = now_ms() + LONG_MS; *word != wanted;)
        if (now_ms() >= end)
            return false;
    return true;
}

CONFORMANCE(X, 99, "a flag that is set again, to the value that it had, without a barrier, arrives")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    const struct offered own = offer(SEGMENT, SIZE);
    volatile uint64_t *flag = (volatile uint64_t *)(own.bytes + SIZE / 2);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .size = SIZE);
    for (int i = 0; i < ROUNDS; i++) {
        about("round %d", i);
        S_OK(b, poke, .offset = SIZE / 2, .value = 1, .flags = 1);
        HOLDS(await_word(flag, 1));
        *flag = 0; /* which the importer never looks at */
    }
    SCITerminate();
}
