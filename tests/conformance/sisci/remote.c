/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 43 to 55: remote segments. */
#include "segments_peer.h"

static volatile uint8_t *mapped(sci_remote_segment_t segment, size_t offset, size_t size,
                                sci_map_t *map)
{
    sci_error_t error;
    volatile uint8_t *bytes = SCIMapRemoteSegment(segment, map, offset, size, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    return bytes;
}

CONFORMANCE(R, 43, "connecting to an absent id fails at once, whatever the timeout")
{
    sci_remote_segment_t segment = (sci_remote_segment_t)8;
    struct actor *b = b_start();
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    int64_t before = now_ms();
    for (int i = 0; i < 10; i++)
        GIVES(SCI_ERR_NO_SUCH_SEGMENT, SCIConnectSegment, desc(), &segment, node_b(), SEGMENT + 1,
              ADAPTER, NULL, NULL, SCI_INFINITE_TIMEOUT, 0);
    HOLDS(segment == NULL);
    HOLDS(now_ms() - before < LONG_MS / 2); /* 100 ms, on a machine that has time */
}

CONFORMANCE(R, 44, "a node that has not started is an error, and polling finds it later")
{
    APPLIES_IF(!one_node() && !two_hosts(), "B's node is there from the beginning");
    sci_remote_segment_t segment;
    struct actor *b = b_start();
    begin_as_a();
    HOLDS(ERROR_OF(SCIConnectSegment, desc(), &segment, node_b(), SEGMENT, ADAPTER, NULL, NULL,
                   SCI_INFINITE_TIMEOUT, 0) != SCI_ERR_OK);
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    GIVES(SCI_ERR_ILLEGAL_NODEID, SCIConnectSegment, desc(), &segment, 0x10000, SEGMENT, ADAPTER,
          NULL, NULL, 0, 0);
    HOLDS(ERROR_OF(SCIConnectSegment, desc(), &segment, 4321, SEGMENT, ADAPTER, NULL, NULL, 0, 0) !=
          SCI_ERR_OK);
}

CONFORMANCE(R, 45, "connecting fails until the segment is available, and then succeeds first time")
{
    struct actor *b = b_start();
    begin_as_a();
    for (unsigned i = 0; i < 10; i++) {
        sci_local_segment_t segment;
        SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT + i, SIZE, NULL, NULL, 0);
        S_GIVES(SCI_ERR_NO_SUCH_SEGMENT, b, connect, .node = node_a(), .id = SEGMENT + i);
        SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
        S_GIVES(SCI_ERR_NO_SUCH_SEGMENT, b, connect, .node = node_a(), .id = SEGMENT + i);
        SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
        S_OK(b, connect, .slot = i, .node = node_a(), .id = SEGMENT + i);
    }
}

CONFORMANCE(R, 46, "time-outs of 0 and 1000 connect to a segment that is available")
{
    sci_remote_segment_t first, second;
    struct actor *b = b_start();
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    SUCCEEDS(SCIConnectSegment, desc(), &first, node_b(), SEGMENT, ADAPTER, NULL, NULL, 0, 0);
    SUCCEEDS(SCIConnectSegment, desc(), &second, node_b(), SEGMENT, ADAPTER, NULL, NULL, 1000, 0);
    HOLDS(first != second);
}

CONFORMANCE(R, 47, "size, id and node are the owner's")
{
    struct actor *b = b_start();
    begin_as_a();
    S_OK(b, offer, .id = 0x80000001, .size = 4097);
    await_connect(node_b(), 0x80000001, SCI_ERR_OK);
    sci_remote_segment_t segment = connected(node_b(), 0x80000001);
    HOLDS(SCIGetRemoteSegmentSize(segment) == 4097);
    HOLDS(SCIGetRemoteSegmentId(segment) == 0x80000001);
    HOLDS(SCIGetRemoteSegmentNodeId(segment) == node_b());
    SUCCEEDS(SCIDisconnectSegment, segment, 0);
    HOLDS(SCIGetRemoteSegmentSize(segment) == 4097); /* X-98 has more of this */
}

CONFORMANCE(R, 48, "several connections to one segment, and one to the own node, all work")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    sci_remote_segment_t segments[3];
    volatile uint8_t *bytes[3];
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    S_OK(b, offer, .id = SEGMENT + 1, .size = SIZE);
    await_connect(node_b(), SEGMENT + 1, SCI_ERR_OK);
    segments[0] = connected(node_b(), SEGMENT + 1);
    segments[1] = connected(node_b(), SEGMENT + 1);
    segments[2] = connected(SCI_LOCAL_HOST, SEGMENT);
    for (int i = 0; i < 3; i++) {
        sci_map_t map;
        bytes[i] = mapped(segments[i], 0, SIZE, &map);
        bytes[i][8 * i] = (uint8_t)(i + 1);
    }
    SCIFlush(NULL, 0);
    HOLDS(own.bytes[16] == 3);
    int64_t deadline = now_ms() + LONG_MS;
    while (S_ASK(b, load, .offset = 8).value != 2 && now_ms() < deadline)
        continue;
    HOLDS(S_ASK(b, load, .offset = 0).value == 1 && S_ASK(b, load, .offset = 8).value == 2);
}

/* Wait until a byte of one's own memory is there. */
static void await_byte(const volatile uint8_t *byte, uint8_t wanted)
{
    int64_t deadline = now_ms() + LONG_MS;
    while (*byte != wanted && now_ms() < deadline)
        continue;
    HOLDS(*byte == wanted);
}

CONFORMANCE(R, 49, "stores of 1, 2, 4 and 8 bytes are seen by the owner, and the owner's here")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    sci_map_t map;
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    volatile uint8_t *bytes = mapped(connected(node_b(), SEGMENT), 0, SIZE, &map);
    bytes[0] = 0x11;
    *(volatile uint16_t *)(bytes + 2) = 0x2222;
    *(volatile uint32_t *)(bytes + 4) = 0x44444444;
    *(volatile uint64_t *)(bytes + 8) = UINT64_C(0x8888888888888888);
    SCIFlush(NULL, 0);
    int64_t deadline = now_ms() + LONG_MS;
    while (S_ASK(b, load, .offset = 8).value != UINT64_C(0x8888888888888888) && now_ms() < deadline)
        continue;
    HOLDS(S_ASK(b, load, .offset = 8).value == UINT64_C(0x8888888888888888));
    HOLDS(S_ASK(b, load, .offset = 0).value == UINT64_C(0x4444444422220011));
    S_OK(b, store, .offset = 16, .value = 7);
    await_byte(bytes + 16, 7);
}

CONFORMANCE(R, 50, "a map at byte 1, 7 or 4095 begins at that byte")
{
    NEEDS_MAP();
    static const size_t offsets[] = {0, 1, 7, 4095, 4096, 8191};
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_remote_segment_t segment = connected(node_a(), SEGMENT);
    for (unsigned i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        sci_map_t map;
        own.bytes[offsets[i]] = (uint8_t)(i + 1);
        volatile uint8_t *bytes = mapped(segment, offsets[i], SIZE - offsets[i], &map);
        HOLDS(bytes == SCIGetMapPointer(map));
        await_byte(bytes, (uint8_t)(i + 1));
    }
}

CONFORMANCE(R, 51, "a segment that is mapped is not disconnected")
{
    NEEDS_MAP();
    sci_map_t map;
    begin_as_a();
    (void)offer(SEGMENT, SIZE);
    sci_remote_segment_t segment = connected(node_a(), SEGMENT);
    (void)mapped(segment, 0, SIZE, &map);
    GIVES(SCI_ERR_BUSY, SCIDisconnectSegment, segment, 0);
    SUCCEEDS(SCIUnmapSegment, map, 0);
    SUCCEEDS(SCIDisconnectSegment, segment, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIDisconnectSegment, segment, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIUnmapSegment, map, 0);
}

CONFORMANCE(R, 52, "unavailable: nobody connects any more, and those who are connected go on")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .size = SIZE);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, 0);
    S_GIVES(SCI_ERR_NO_SUCH_SEGMENT, b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
    S_OK(b, poke, .offset = 8, .value = 5);
    await_byte(own.bytes + 8, 5);
    SUCCEEDS(SCISetSegmentAvailable, own.segment, ADAPTER, 0);
    S_OK(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
    /* Cut off, they are somewhere else. */
    sci_map_t part;
    sci_error_t error;
    volatile uint8_t *read_only =
        SCIMapLocalSegment(own.segment, &part, 0, 16, NULL, SCI_FLAG_READONLY_MAP, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, SCI_FLAG_FORCE_DISCONNECT);
    S_OK(b, poke, .offset = 8, .value = 6);
    usleep(20000);
    HOLDS(own.bytes[8] == 5 && read_only[8] == 5);
    own.bytes[8] = 9;
    HOLDS(read_only[8] == 9);
    SUCCEEDS(SCISetSegmentAvailable, own.segment, ADAPTER, 0);
    S_OK(b, connect, .slot = 2, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .slot = 2, .map = 2, .size = SIZE);
    HOLDS(S_ASK(b, peek, .map = 2, .offset = 8).value == 9);
    S_OK(b, poke, .map = 2, .offset = 8, .value = 10);
    await_byte(own.bytes + 8, 10);
    await_byte(read_only + 8, 10);
}

CONFORMANCE(R, 53, "a segment is removed while it is connected, and goes on for those who are")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    own.bytes[0] = 3;
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .size = SIZE);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    HOLDS(S_ASK(b, peek, .offset = 0).value == 3);
    S_OK(b, poke, .offset = 8, .value = 4);
    HOLDS(S_ASK(b, peek, .offset = 8).value == 4);
    S_OK(b, unmap);
    S_OK(b, disconnect);
}

CONFORMANCE(R, 54, "loads and stores after the owner was killed do no harm")
{
    NEEDS_MAP();
    struct actor *owner = exporter_start(), *b = b_start();
    begin_as_a();
    S_OK(owner, offer, .id = SEGMENT, .size = SIZE);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .size = SIZE);
    S_OK(b, poke, .offset = 0, .value = 4);
    actor_kill(owner);
    for (int i = 0; i < 20; i++) {
        S_OK(b, poke, .offset = 8, .value = 4);
        (void)S_ASK(b, peek, .offset = 8);
    }
    HOLDS(S_ASK(b, wait_remote, .timeout = LONG_MS).reason == SCI_CB_LOST);
    (void)S_ASK(b, peek, .offset = 8);
    S_OK(b, poke, .offset = 8, .value = 4);
    S_OK(b, unmap);
    S_OK(b, disconnect);
}

/* Where a round takes long fewer have to do, at least 200. They still show what each leaves. */
enum { ROUNDS_MS = 10000 };

CONFORMANCE(R, 55, "1000 rounds of connect, map, unmap and disconnect leave nothing behind")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    (void)offer(SEGMENT, SIZE);
    struct s_order order = {
        .node = node_a(), .id = SEGMENT, .size = SIZE, .value = 1000, .timeout = ROUNDS_MS};
    actor_begin(b, s_rounds, &order, sizeof order);
    HOLDS(actor_ended(b, 6 * LONG_MS)); /* under emulation that takes a while */
    EXPECT(SCI_ERR_OK, actor_end(b, &order, sizeof order));
    HOLDS(order.size < 100);
}

CONFORMANCE(X, 40, "maps are made where the program says, if nothing is there")
{
    NEEDS_MAP();
    sci_map_t first, second, third;
    sci_error_t error;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_remote_segment_t segment = connected(node_a(), SEGMENT);
    uint8_t *place = mmap(NULL, 4 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(place != MAP_FAILED);
    munmap(place, 4 * SIZE);
    volatile uint8_t *local = SCIMapLocalSegment(own.segment, &first, 1, SIZE - 1, place + 1,
                                                 SCI_FLAG_FIXED_MAP_ADDR, &error);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(local == place + 1);
    volatile uint8_t *remote = SCIMapRemoteSegment(segment, &second, 0, SIZE, place + 2 * SIZE,
                                                   SCI_FLAG_FIXED_MAP_ADDR, &error);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(remote == place + 2 * SIZE);
    local[0] = 7; /* NOLINT(clang-analyzer-core.NullDereference): it is place + 1 */
    await_byte(remote + 1, 7);
    HOLDS(own.bytes[1] == 7);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIMapLocalSegment, own.segment, &third, 0, 8, place,
          SCI_FLAG_FIXED_MAP_ADDR);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIMapRemoteSegment, segment, &third, 0, 8, place,
          SCI_FLAG_FIXED_MAP_ADDR);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIMapRemoteSegment, segment, &third, 0, 8, place + SIZE + 8,
          SCI_FLAG_FIXED_MAP_ADDR);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIMapLocalSegment, own.segment, &third, 0, 8, NULL,
          SCI_FLAG_FIXED_MAP_ADDR);
    HOLDS(third == NULL);
    SUCCEEDS(SCIUnmapSegment, first, 0);
    SUCCEEDS(SCIUnmapSegment, second, 0);
    HOLDS(own.bytes[1] == 7);
}
