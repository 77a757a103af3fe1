/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 65 to 71: copies and sequences. */
#include "segments_peer.h"

static volatile uint8_t *mapped(sci_remote_segment_t segment, size_t offset, size_t size,
                                sci_map_t *map)
{
    sci_error_t error;
    volatile uint8_t *bytes = SCIMapRemoteSegment(segment, map, offset, size, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    return bytes;
}

static void fill(uint8_t *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 7 + seed);
}

CONFORMANCE(C, 65, "SCIMemCpy() copies to and from maps, of any size and place")
{
    NEEDS_MAP();
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 4095, 4096, 4097};
    static uint8_t from[SIZE], back[SIZE];
    sci_map_t map;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    (void)mapped(connected(node_a(), SEGMENT), 0, SIZE, &map);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t at = 0; at < 3; at++) {
            sci_map_t maps[2] = {map, own.map};
            fill(from, SIZE, i);
            memset(back, 0xee, SIZE);
            SUCCEEDS(SCIMemCpy, NULL, from + at, maps[at % 2], at * 5, sizes[i], 0);
            HOLDS(memcmp((const void *)(own.bytes + at * 5), from + at, sizes[i]) == 0);
            SUCCEEDS(SCIMemCpy, NULL, back + at, maps[(at + 1) % 2], at * 5, sizes[i],
                     SCI_FLAG_BLOCK_READ);
            HOLDS(memcmp(back + at, from + at, sizes[i]) == 0);
            HOLDS(back[at + sizes[i]] == 0xee);
        }
}

CONFORMANCE(C, 66, "offsets of SCIMemCpy() count from the start of the map, and end with it")
{
    NEEDS_MAP();
    uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    sci_map_t map;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    (void)mapped(connected(node_a(), SEGMENT), 100, 10, &map);
    SUCCEEDS(SCIMemCpy, NULL, bytes, map, 3, 7, 0);
    HOLDS(own.bytes[102] == 0 && own.bytes[103] == 1 && own.bytes[109] == 7 && own.bytes[110] == 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, NULL, bytes, map, 4, 7, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, NULL, bytes, map, 11, 0, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, NULL, bytes, map, SIZE_MAX, 2, SCI_FLAG_BLOCK_READ);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, NULL, bytes, map, 2, SIZE_MAX, SCI_FLAG_BLOCK_READ);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMemCopy, bytes, map, 4, 7, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITransferBlock, map, 0, map, 4, 7, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIMemCpy, NULL, NULL, map, 0, 1, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIMemCpy, NULL, bytes, map, 0, 1, 0x80);
    HOLDS(own.bytes[104] == 2);
}

CONFORMANCE(C, 67, "data is never seen behind the flag that follows it")
{
    /* As many as are made in the time. */
    const uint64_t rounds = long_run() ? 10000000 : 1000000;
    const int time_ms = long_run() ? 90000 : 4000;
    NEEDS_MAP();
    struct actor *b = b_start();
    sci_map_t map;
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    volatile uint8_t *bytes = mapped(connected(node_b(), SEGMENT), 0, SIZE, &map);
    volatile uint64_t *words = (volatile uint64_t *)bytes;
    struct s_order order = {.value = rounds, .timeout = (unsigned)time_ms + 3 * LONG_MS};
    actor_begin(b, s_reads_order, &order, sizeof order);
    int64_t end = now_ms() + time_ms;
    for (uint64_t i = 1; i <= rounds; i++) {
        if (i % 64 == 0 && now_ms() >= end)
            i = rounds; /* the last one */
        if (i % 2 == 0) {
            SUCCEEDS(SCIMemCpy, NULL, &i, map, 64, sizeof i, 0);
            SUCCEEDS(SCIMemCpy, NULL, &i, map, 4000, sizeof i, 0);
        } else {
            words[8] = i;
            words[500] = i;
            SCIFlush(NULL, 0);
        }
        words[0] = i;
    }
    SCIFlush(NULL, 0);
    HOLDS(actor_ended(b, 3 * LONG_MS));
    EXPECT(0, actor_end(b, &order, sizeof order));
    HOLDS(order.size == 0);
}

CONFORMANCE(C, 68, "start, store and check give OK, and so does a check without a start")
{
    NEEDS_MAP();
    sci_map_t map;
    sci_sequence_t sequence, local;
    sci_error_t error;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    volatile uint8_t *bytes = mapped(connected(node_a(), SEGMENT), 0, SIZE, &map);
    SUCCEEDS(SCICreateMapSequence, map, &sequence, SCI_FLAG_FAST_BARRIER);
    SUCCEEDS(SCICreateMapSequence, own.map, &local, 0);
    HOLDS(SCIStartSequence(sequence, 0, &error) == SCI_SEQ_OK && error == SCI_ERR_OK);
    bytes[8] = 3;
    for (int i = 0; i < 3; i++) {
        HOLDS(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_OK && error == SCI_ERR_OK);
        HOLDS(own.bytes[8] == 3);
        HOLDS(SCICheckSequence(local, SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER, &error) ==
                  SCI_SEQ_OK &&
              error == SCI_ERR_OK);
    }
    uint64_t value = 9;
    SUCCEEDS(SCIMemCpy, sequence, &value, map, 16, sizeof value, SCI_FLAG_ERROR_CHECK);
    HOLDS(own.bytes[16] == 9);
    SUCCEEDS(SCIRemoveSequence, sequence, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSequence, sequence, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIMemCpy, sequence, &value, map, 16, sizeof value, 0);
}

CONFORMANCE(C, 69, "SCIFlush() without a sequence returns")
{
    begin_as_a();
    SCIFlush(NULL, 0);
    SCIFlush(NULL, SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY);
    SCIStoreBarrier(NULL, 0);
    SCIFlushReadBuffers(NULL);
}

CONFORMANCE(C, 70, "a map with a sequence is unmapped")
{
    NEEDS_MAP();
    sci_map_t map;
    sci_sequence_t sequence;
    sci_error_t error;
    begin_as_a();
    (void)offer(SEGMENT, SIZE);
    (void)mapped(connected(node_a(), SEGMENT), 0, SIZE, &map);
    SUCCEEDS(SCICreateMapSequence, map, &sequence, 0);
    SUCCEEDS(SCIUnmapSegment, map, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSequence, sequence, 0);
    HOLDS(SCICheckSequence(sequence, 0, &error) != SCI_SEQ_OK);
    EXPECT(SCI_ERR_ILLEGAL_PARAMETER, error);
    SCIFlush(sequence, 0);
}

CONFORMANCE(C, 71, "SCIMemWrite(), SCITransferBlock(), SCIMemCopy() and SCIStoreBarrier() work")
{
    NEEDS_MAP();
    static uint8_t bytes[SIZE], back[SIZE];
    sci_local_segment_t other;
    sci_map_t map, local;
    sci_error_t error;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    volatile uint8_t *remote = mapped(connected(node_a(), SEGMENT), 0, SIZE, &map);
    fill(bytes, SIZE, 3);
    SUCCEEDS(SCIMemWrite, bytes, remote + 5, 1001, 0);
    SCIStoreBarrier(NULL, 0);
    SUCCEEDS(SCIMemCopy, back, map, 0, SIZE, SCI_FLAG_BLOCK_READ);
    HOLDS(memcmp(back + 5, bytes, 1001) == 0 && back[1006] == 0);
    SUCCEEDS(SCIMemCopy, bytes, map, 0, SIZE, SCI_FLAG_ERROR_CHECK);
    HOLDS(memcmp((const void *)own.bytes, bytes, SIZE) == 0);
    SUCCEEDS(SCICreateSegment, desc(), &other, SEGMENT + 1, SIZE, NULL, NULL, SCI_FLAG_PRIVATE);
    uint8_t *mine = SCIMapLocalSegment(other, &local, 0, SIZE, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCITransferBlock, map, 1, local, 2, 1000, 0);
    HOLDS(memcmp(mine + 2, bytes + 1, 1000) == 0 && mine[1002] == 0);
    fill(mine, SIZE, 77);
    SUCCEEDS(SCITransferBlock, local, 3, map, 4, 2000, SCI_FLAG_ERROR_CHECK);
    HOLDS(memcmp((const void *)(own.bytes + 4), mine + 3, 2000) == 0);
    SUCCEEDS(SCITransferBlock, map, 4, map, 4100, 2000, 0);
    SUCCEEDS(SCITransferBlock, local, 0, local, 4096, 100, 0);
    HOLDS(memcmp(mine + 4096, mine, 100) == 0);
    SUCCEEDS(SCIMemCopy, back, map, 4100, 2000, SCI_FLAG_BLOCK_READ);
    HOLDS(memcmp(back, mine + 3, 2000) == 0);
}

CONFORMANCE(X, 45, "a sequence of a lost connection says that repeating is of no use")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    sci_map_t map;
    sci_sequence_t sequence;
    sci_error_t error, status;
    uint64_t value = 1;
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    sci_remote_segment_t segment = connected(node_b(), SEGMENT);
    volatile uint8_t *bytes = mapped(segment, 0, SIZE, &map);
    SUCCEEDS(SCICreateMapSequence, map, &sequence, 0);
    actor_kill(b);
    HOLDS(SCIWaitForRemoteSegmentEvent(segment, &status, LONG_MS, 0, &error) == SCI_CB_LOST);
    bytes[0] = 1;
    HOLDS(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE && error == SCI_ERR_OK);
    HOLDS(SCIStartSequence(sequence, 0, &error) != SCI_SEQ_OK && error == SCI_ERR_NOT_CONNECTED);
    GIVES(SCI_ERR_TRANSFER_FAILED, SCIMemCpy, sequence, &value, map, 0, sizeof value,
          SCI_FLAG_ERROR_CHECK);
    (void)ERROR_OF(SCIMemCpy, NULL, &value, map, 0, sizeof value, 0);
    SUCCEEDS(SCIUnmapSegment, map, 0);
    SUCCEEDS(SCIDisconnectSegment, segment, 0);
}
