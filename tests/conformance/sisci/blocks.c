/* SPDX-License-Identifier: BSD-3-Clause */
/* Block transfers that do not wait; what SCIQuery() tells of segments and maps. */
#include "base/clock.h"
#include "segments_peer.h"

enum { BIG = 4 << 20, OTHER = SEGMENT + 1 };

struct sides_of_block {
    struct offered from, to;
    sci_map_t target; /* a remote map of `to` */
};

static sci_map_t map_remote(unsigned id, size_t size, unsigned flags)
{
    sci_map_t map = NULL;
    sci_error_t error;
    (void)SCIMapRemoteSegment(connected(node_a(), id), &map, 0, size, NULL, flags, &error);
    EXPECT(SCI_ERR_OK, error);
    return map;
}

static struct sides_of_block sides_of_size(size_t size)
{
    struct sides_of_block sides = {.from = offer(SEGMENT, size), .to = offer(OTHER, size)};
    for (size_t i = 0; i < size; i++)
        sides.from.bytes[i] = (uint8_t)(i * 7 + i / 4096);
    sides.target = map_remote(OTHER, size, 0);
    return sides;
}

static bool arrived(const struct sides_of_block *sides, size_t size)
{
    return memcmp((const void *)sides->from.bytes, (const void *)sides->to.bytes, size) == 0;
}

CONFORMANCE(X, 70, "a block transfer returns, copies, is waited for, and then its handle ends")
{
    NEEDS_MAP();
    sci_block_transfer_t block = NULL;
    begin_as_a();
    struct sides_of_block sides = sides_of_size(BIG);
    SUCCEEDS(SCITransferBlockAsync, sides.from.map, 0, sides.target, 0, BIG, &block, NULL, NULL, 0);
    SUCCEEDS(SCIWaitForBlockTransfer, block, LONG_MS, 0);
    HOLDS(arrived(&sides, BIG));
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForBlockTransfer, block, 0, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIAbortBlockTransfer, block, 0);
    /* The other way, and nothing at all. */
    sides.from.bytes[9] = 1;
    sides.to.bytes[9] = 2;
    SUCCEEDS(SCITransferBlockAsync, sides.target, 9, sides.from.map, 9, 1, &block, NULL, NULL,
             SCI_FLAG_ERROR_CHECK);
    SUCCEEDS(SCIWaitForBlockTransfer, block, SCI_INFINITE_TIMEOUT, 0);
    HOLDS(sides.from.bytes[9] == 2);
    SUCCEEDS(SCITransferBlockAsync, sides.from.map, BIG, sides.target, BIG, 0, &block, NULL, NULL,
             0);
    SUCCEEDS(SCIWaitForBlockTransfer, block, LONG_MS, 0);
}

static int never_called(void *argument, sci_block_transfer_t block, sci_error_t status)
{
    *(atomic_uint *)argument += 1;
    return 0;
}

CONFORMANCE(X, 71, "a block transfer is checked before it begins")
{
    NEEDS_MAP();
    sci_block_transfer_t block = NULL;
    atomic_uint calls = 0;
    begin_as_a();
    struct sides_of_block sides = sides_of_size(SIZE);
    sci_map_t from = sides.from.map, to = sides.target,
              fixed = map_remote(OTHER, SIZE, SCI_FLAG_READONLY_MAP);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITransferBlockAsync, from, 1, to, 0, SIZE, &block, NULL, NULL, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITransferBlockAsync, from, 0, to, 1, SIZE, &block, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCITransferBlockAsync, from, 0, fixed, 0, 1, &block, NULL,
          NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITransferBlockAsync, from, 0, to, 0, 1, NULL, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITransferBlockAsync, from, 0, to, 0, 1, &block, NULL, NULL,
          SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCITransferBlockAsync, from, 0, to, 0, 1, &block, NULL, NULL, 0x80);
    for (unsigned i = 0; i < NO_HANDLES; i++) {
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITransferBlockAsync, (sci_map_t)no_handle(i), 0, to, 0,
              1, &block, NULL, NULL, 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITransferBlockAsync, from, 0, (sci_map_t)no_handle(i), 0,
              1, &block, NULL, NULL, 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForBlockTransfer,
              (sci_block_transfer_t)no_handle(i), 0, 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIAbortBlockTransfer, (sci_block_transfer_t)no_handle(i),
              0);
    }
    HOLDS(block == NULL && sides.to.bytes[1] == 0);
    /* A callback without its flag is not called. */
    SUCCEEDS(SCITransferBlockAsync, from, 0, to, 0, SIZE, &block, never_called, &calls, 0);
    SUCCEEDS(SCIWaitForBlockTransfer, block, LONG_MS, 0);
    HOLDS(calls == 0 && arrived(&sides, SIZE));
}

struct called {
    atomic_uint calls;
    _Atomic(sci_error_t) status, wait, unmap;
    sci_map_t to_unmap;
};

static int on_end(void *argument, sci_block_transfer_t block, sci_error_t status)
{
    struct called *called = argument;
    called->status = status;
    called->wait = ERROR_OF(SCIWaitForBlockTransfer, block, 0, 0);
    if (called->to_unmap != NULL)
        called->unmap = ERROR_OF(SCIUnmapSegment, called->to_unmap, 0);
    called->calls++;
    return 0;
}

static void await_calls(struct called *called, unsigned calls)
{
    int64_t end = rsm_clock_ns() + LONG_MS * INT64_C(1000000);
    while (atomic_load(&called->calls) < calls && rsm_clock_ns() < end)
        usleep(1000);
    EXPECT((int)calls, (int)called->calls);
}

CONFORMANCE(X, 72, "a block transfer's callback is called once, and may unmap what was copied to")
{
    NEEDS_MAP();
    struct called called = {.calls = 0};
    sci_block_transfer_t block = NULL;
    begin_as_a();
    struct sides_of_block sides = sides_of_size(BIG);
    SUCCEEDS(SCITransferBlockAsync, sides.from.map, 0, sides.target, 0, BIG, &block, on_end,
             &called, SCI_FLAG_USE_CALLBACK);
    await_calls(&called, 1);
    EXPECT(SCI_ERR_OK, called.status);
    EXPECT(SCI_ERR_ILLEGAL_OPERATION, called.wait);
    HOLDS(arrived(&sides, BIG));
    called.to_unmap = sides.target;
    SUCCEEDS(SCITransferBlockAsync, sides.from.map, 0, sides.target, 0, SIZE, &block, on_end,
             &called, SCI_FLAG_USE_CALLBACK);
    await_calls(&called, 2);
    EXPECT(SCI_ERR_OK, called.unmap);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIUnmapSegment, sides.target, 0);
}

CONFORMANCE(X, 73, "a block transfer is aborted, also by unmapping, and nothing moves afterwards")
{
    enum { ROUNDS = 20 };
    NEEDS_MAP();
    sci_block_transfer_t blocks[ROUNDS];
    begin_as_a();
    struct sides_of_block sides = sides_of_size(BIG);
    for (unsigned i = 0; i < ROUNDS; i++) {
        SUCCEEDS(SCITransferBlockAsync, sides.from.map, 0, sides.target, 0, BIG, &blocks[0], NULL,
                 NULL, 0);
        if (i % 2 == 0)
            usleep(50 * i);
        SUCCEEDS(SCIAbortBlockTransfer, blocks[0], 0);
        memset((void *)sides.to.bytes, 0xee, BIG);
        sci_error_t error = ERROR_OF(SCIWaitForBlockTransfer, blocks[0], 0, 0);
        HOLDS(error == SCI_ERR_OK || error == SCI_ERR_CANCELLED);
        HOLDS(sides.to.bytes[0] == 0xee && sides.to.bytes[BIG - 1] == 0xee);
    }
    for (unsigned i = 0; i < ROUNDS; i++)
        SUCCEEDS(SCITransferBlockAsync, sides.from.map, 0, sides.target, 0, BIG, &blocks[i], NULL,
                 NULL, 0);
    SUCCEEDS(SCIUnmapSegment, sides.target, 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForBlockTransfer, blocks[i], 0, 0);
    SUCCEEDS(SCIUnmapSegment, sides.from.map, 0);
}

/* ------------------------------------------------------------------ queries */

static sci_error_t ask_local(sci_local_segment_t segment, unsigned subcommand, sci_ioaddr_t *answer)
{
    sci_query_local_segment_t query = {.segment = segment, .subcommand = subcommand};
    sci_error_t error = ERROR_OF(SCIQuery, SCI_Q_LOCAL_SEGMENT, &query, 0);
    *answer = query.data.ioaddr;
    return error;
}

static sci_error_t ask_remote(sci_remote_segment_t segment, unsigned subcommand,
                              sci_ioaddr_t *answer)
{
    sci_query_remote_segment_t query = {.segment = segment, .subcommand = subcommand};
    sci_error_t error = ERROR_OF(SCIQuery, SCI_Q_REMOTE_SEGMENT, &query, 0);
    *answer = query.data.ioaddr;
    return error;
}

static sci_error_t ask_map(sci_map_t map, unsigned subcommand, unsigned long long *answer)
{
    sci_query_map_t query = {.map = map, .subcommand = subcommand};
    sci_error_t error = ERROR_OF(SCIQuery, SCI_Q_MAP, &query, 0);
    *answer = query.data;
    return error;
}

CONFORMANCE(X, 74, "SCIQuery() tells segments apart, and where the memory of a map is")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    sci_ioaddr_t first = 0, second = 0, remote = 0, none = 0;
    unsigned long long where = 7;
    sci_error_t error;
    sci_map_t map;
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT + 2, .size = SIZE);
    await_connect(node_b(), SEGMENT + 2, SCI_ERR_OK);
    struct offered one = offer(SEGMENT, SIZE), two = offer(OTHER, SIZE);
    EXPECT(SCI_ERR_OK, ask_local(one.segment, SCI_Q_LOCAL_SEGMENT_IOADDR, &first));
    EXPECT(SCI_ERR_OK, ask_local(two.segment, SCI_Q_LOCAL_SEGMENT_IOADDR, &second));
    sci_remote_segment_t own = connected(node_a(), SEGMENT), far = connected(node_b(), SEGMENT + 2);
    EXPECT(SCI_ERR_OK, ask_remote(own, SCI_Q_REMOTE_SEGMENT_IOADDR, &remote));
    HOLDS(first != 0 && first != second && first == remote);
    EXPECT(SCI_ERR_OK, ask_remote(far, SCI_Q_REMOTE_SEGMENT_IOADDR, &remote));
    HOLDS(remote != first && remote != second);
    EXPECT(SCI_ERR_ILLEGAL_QUERY,
           ask_local(one.segment, SCI_Q_LOCAL_SEGMENT_VIRTUAL_KERNEL_ADDR, &none));
    EXPECT(SCI_ERR_ILLEGAL_QUERY, ask_remote(own, SCI_Q_LOCAL_SEGMENT_IOADDR, &none));
    HOLDS(none == 0);
    EXPECT(SCI_ERR_OK, ask_map(one.map, SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET, &where));
    HOLDS(where == 1);
    EXPECT(SCI_ERR_OK,
           ask_map(map_remote(SEGMENT, SIZE, 0), SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET, &where));
    HOLDS(where == 1);
    (void)SCIMapRemoteSegment(far, &map, 0, SIZE, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, ask_map(map, SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET, &where));
    HOLDS(where == (node_a() == node_b()));
    EXPECT(SCI_ERR_ILLEGAL_QUERY, ask_map(map, SCI_Q_MAP_IOADDR, &where));
    SUCCEEDS(SCIUnmapSegment, map, 0);
    EXPECT(SCI_ERR_ILLEGAL_QUERY, ask_map(map, SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET, &where));
}
