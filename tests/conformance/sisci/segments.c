/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 22 to 42: local segments. */
#include "segments_peer.h"

static sci_error_t create(sci_local_segment_t *made, unsigned id, size_t size, unsigned flags)
{
    return ERROR_OF(SCICreateSegment, desc(), made, id, size, NULL, NULL, flags);
}

/* Map in whole or in part; NULL and the error if that is not possible. */
static uint8_t *mapped(sci_local_segment_t segment, size_t offset, size_t size, unsigned flags,
                       sci_map_t *map, sci_error_t wanted)
{
    sci_error_t error;
    uint8_t *bytes = SCIMapLocalSegment(segment, map, offset, size, NULL, flags, &error);
    EXPECT(wanted, error);
    HOLDS((bytes != NULL) == (error == SCI_ERR_OK) && (*map != NULL) == (bytes != NULL));
    return bytes;
}

CONFORMANCE(S, 22, "create, prepare, available, unavailable, available, remove")
{
    sci_local_segment_t segment;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentUnavailable, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIRemoveSegment, segment, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSegment, segment, 0);
}

CONFORMANCE(S, 23, "available before prepare is refused")
{
    sci_local_segment_t segment;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    GIVES(SCI_ERR_SEGMENT_NOT_PREPARED, SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
}

CONFORMANCE(S, 24, "unavailable needs a segment that is available")
{
    sci_local_segment_t segment;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentUnavailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentUnavailable, segment, ADAPTER, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentUnavailable, segment, ADAPTER,
          SCI_FLAG_FORCE_DISCONNECT);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
}

CONFORMANCE(S, 25, "an id is taken for all processes of the node")
{
    sci_local_segment_t segment, second = (sci_local_segment_t)8;
    struct actor *other = exporter_start();
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&second, SEGMENT, SIZE, 0));
    HOLDS(second == NULL);
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&second, SEGMENT, SIZE, SCI_FLAG_EMPTY));
    S_GIVES(SCI_ERR_SEGMENTID_USED, other, create, .id = SEGMENT, .size = SIZE);
    S_OK(other, create, .id = SEGMENT + 1, .size = SIZE);
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&second, SEGMENT + 1, SIZE, 0));
}

CONFORMANCE(S, 26, "A and B may use the same id")
{
    APPLIES_IF(!one_node(), "A and B are one node");
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    own.bytes[0] = 1;
    HOLDS(S_ASK(b, load, .offset = 0).value == 0);
}

CONFORMANCE(S, 27, "ids 0, 1, 0x80000001 and 0xFFFFFFFE work")
{
    static const unsigned ids[] = {0, 1, 0x80000001, 0xfffffffe, 0xffffffff};
    struct actor *b = b_start();
    begin_as_a();
    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct offered own = offer(ids[i], SIZE);
        HOLDS(SCIGetLocalSegmentId(own.segment) == ids[i]);
        S_OK(b, connect, .slot = i, .node = node_a(), .id = ids[i]);
    }
}

CONFORMANCE(S, 28, "the id of a segment that was removed can be used at once")
{
    sci_local_segment_t segment;
    struct actor *b = b_start();
    begin_as_a();
    for (unsigned i = 0; i < 20; i++) {
        struct offered own = offer(SEGMENT, SIZE);
        S_OK(b, connect, .node = node_a(), .id = SEGMENT); /* and stays so */
        SUCCEEDS(SCIUnmapSegment, own.map, 0);
        SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    }
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
}

CONFORMANCE(S, 29, "sizes are those that were asked for")
{
    static const size_t sizes[] = {1, 8, 4095, 4096, 4097, 64 << 20};
    enum { SIZES = sizeof sizes / sizeof sizes[0], LARGE = SIZES - 1 };
    struct actor *b = b_start();
    sci_local_segment_t segment;
    begin_as_a();
    for (unsigned i = 0; i < SIZES; i++) {
        sci_map_t map;
        sci_error_t error = create(&segment, SEGMENT + i, sizes[i], 0);
        if (i == LARGE && two_hosts() && error == SCI_ERR_NOSPC)
            break; /* a bridge has no more memory than its window */
        EXPECT(SCI_ERR_OK, error);
        HOLDS(SCIGetLocalSegmentSize(segment) == sizes[i]);
        (void)mapped(segment, 0, sizes[i], 0, &map, SCI_ERR_OK);
        SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
        SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
        sci_remote_segment_t own = connected(node_a(), SEGMENT + i);
        HOLDS(SCIGetRemoteSegmentSize(own) == sizes[i]);
        S_OK(b, connect, .slot = i, .node = node_a(), .id = SEGMENT + i);
    }
    EXPECT(SCI_ERR_SIZE_ALIGNMENT, create(&segment, 1, 0, 0));
    EXPECT(SCI_ERR_NOSPC, create(&segment, 1, SIZE_MAX, 0));
    EXPECT(SCI_ERR_NOSPC, create(&segment, 1, SIZE_MAX / 2, 0));
    EXPECT(SCI_ERR_OK, create(&segment, 1, 1, 0));
}

CONFORMANCE(S, 30, "fresh memory is zeroes")
{
    enum { LARGE = 1 << 20 };
    sci_local_segment_t segment;
    begin_as_a();
    for (int i = 0; i < 3; i++) {
        sci_map_t map;
        EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, LARGE, 0));
        uint8_t *bytes = mapped(segment, 0, LARGE, 0, &map, SCI_ERR_OK);
        for (size_t at = 0; at < LARGE; at++)
            if (bytes[at] != 0)
                HOLDS(bytes[at] == 0);
        memset(bytes, 0x55, LARGE);
        SUCCEEDS(SCIUnmapSegment, map, 0);
        SUCCEEDS(SCIRemoveSegment, segment, 0);
    }
}

CONFORMANCE(S, 31, "AUTO_ID gives free ids from the one asked for upward")
{
    sci_local_segment_t first, second;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&first, 1024, SIZE, SCI_FLAG_AUTO_ID));
    EXPECT(SCI_ERR_OK, create(&second, 1024, SIZE, SCI_FLAG_AUTO_ID));
    unsigned a = SCIGetLocalSegmentId(first), b = SCIGetLocalSegmentId(second);
    HOLDS(a != b && a >= 1024 && b >= 1024 && a < 1040 && b < 1040);
}

CONFORMANCE(S, 32, "a private segment can be mapped, and is never available")
{
    sci_local_segment_t segment;
    sci_map_t map;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, SCI_FLAG_PRIVATE));
    mapped(segment, 0, SIZE, 0, &map, SCI_ERR_OK)[0] = 1;
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentAvailable, segment, ADAPTER, 0);
    await_connect(node_a(), SEGMENT, SCI_ERR_NO_SUCH_SEGMENT);
}

CONFORMANCE(S, 33, "a segment that is prepared for DMA alone does not become available")
{
    sci_local_segment_t segment;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, SCI_FLAG_DMA_SOURCE_ONLY);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
}

CONFORMANCE(S, 34, "mapping works before prepare, and at any byte")
{
    sci_local_segment_t segment;
    sci_map_t whole, part;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    uint8_t *bytes = mapped(segment, 0, SIZE, 0, &whole, SCI_ERR_OK);
    bytes[1] = 11;
    bytes[3] = 13;
    const uint8_t *three = mapped(segment, 1, 3, 0, &part, SCI_ERR_OK);
    HOLDS(three[0] == 11 && three[2] == 13);
}

CONFORMANCE(S, 35, "one byte past the end is out of range, locally and remotely")
{
    begin_as_a();
    struct offered own = offer(SEGMENT, 10);
    sci_remote_segment_t remote = connected(node_a(), SEGMENT);
    static const struct {
        size_t offset, size;
    } bad[] = {{0, 11}, {1, 10}, {10, 1}, {11, 0}, {0, 0}, {5, SIZE_MAX}, {SIZE_MAX, 2}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sci_map_t map = (sci_map_t)8;
        sci_error_t error;
        (void)mapped(own.segment, bad[i].offset, bad[i].size, 0, &map, SCI_ERR_OUT_OF_RANGE);
        map = (sci_map_t)8;
        HOLDS(SCIMapRemoteSegment(remote, &map, bad[i].offset, bad[i].size, NULL, 0, &error) ==
              NULL);
        EXPECT(SCI_ERR_OUT_OF_RANGE, error);
        HOLDS(map == NULL);
    }
}

CONFORMANCE(S, 36, "ten maps of one segment show the same bytes, and end in any order")
{
    sci_local_segment_t segment;
    sci_map_t maps[10];
    uint8_t *bytes[10];
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    for (unsigned i = 0; i < 10; i++)
        bytes[i] = mapped(segment, 100 * i, SIZE - 100 * i, i % 3 == 2 ? SCI_FLAG_READONLY_MAP : 0,
                          &maps[i], SCI_ERR_OK);
    bytes[0][1000] = 42;
    for (unsigned i = 0; i < 10; i++)
        HOLDS(bytes[i][1000 - 100 * i] == 42);
    for (unsigned i = 0; i < 10; i++) {
        unsigned next = (i * 3 + 4) % 10;
        HOLDS(bytes[next][1000 - 100 * next] == 42);
        SUCCEEDS(SCIUnmapSegment, maps[next], 0);
    }
    SUCCEEDS(SCIRemoveSegment, segment, 0);
}

/* Store where a child may not. */
static int store_there(void *address)
{
    *(volatile uint8_t *)address = 99;
    _exit(0);
}

CONFORMANCE(S, 37, "a store through a read-only map changes nothing")
{
    sci_local_segment_t segment;
    sci_map_t whole, part;
    int status;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, 0));
    uint8_t *bytes = mapped(segment, 0, SIZE, 0, &whole, SCI_ERR_OK);
    uint8_t *read_only = mapped(segment, 5, 100, SCI_FLAG_READONLY_MAP, &part, SCI_ERR_OK);
    bytes[5] = 7;
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0)
        store_there(read_only);
    HOLDS(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    HOLDS(bytes[5] == 7 && read_only[0] == 7);
    uint8_t byte = 1;
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIMemCpy, NULL, &byte, part, 0, 1, 0);
}

CONFORMANCE(S, 38, "a mapped segment is removed by force alone, and its maps show it still")
{
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_map_t part;
    volatile uint8_t *read_only =
        mapped(own.segment, 0, 8, SCI_FLAG_READONLY_MAP, &part, SCI_ERR_OK);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    own.bytes[0] = 7;
    GIVES(SCI_ERR_BUSY, SCIRemoveSegment, own.segment, 0);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, 0); /* nothing has changed */
    SUCCEEDS(SCIRemoveSegment, own.segment, SCI_FLAG_FORCE_REMOVE);
    HOLDS(own.bytes[0] == 7 && read_only[0] == 7);
    own.bytes[0] = 8;
    HOLDS(read_only[0] == 8);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    HOLDS(read_only[0] == 8);
    SUCCEEDS(SCIUnmapSegment, part, 0);
    struct offered again = offer(SEGMENT, SIZE);
    HOLDS(again.bytes[0] == 0);
}

CONFORMANCE(S, 39, "memory of the program is shared both ways")
{
    sci_local_segment_t segment;
    struct actor *b = b_start();
    begin_as_a();
    uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(memory != MAP_FAILED);
    memory[8] = 5;
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, SCI_FLAG_EMPTY));
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIPrepareSegment, segment, ADAPTER, 0);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIRegisterSegmentMemory, memory + 1, SIZE, segment, 0);
    GIVES(SCI_ERR_ILLEGAL_ADDRESS, SCIRegisterSegmentMemory, NULL, SIZE, segment, 0);
    GIVES(SCI_ERR_SIZE_ALIGNMENT, SCIRegisterSegmentMemory, memory, SIZE - 1, segment, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIRegisterSegmentMemory, memory, SIZE / 2, segment, 0);
    SUCCEEDS(SCIRegisterSegmentMemory, memory, SIZE, segment, SCI_FLAG_LOCK_USER_MEM);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIRegisterSegmentMemory, memory, SIZE, segment, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    NEEDS_MAP();
    S_OK(b, map, .size = SIZE);
    HOLDS(S_ASK(b, peek, .offset = 8).value == 5);
    S_OK(b, poke, .offset = 16, .value = 6);
    /* SCIFlush() sends the store on its way, and does not wait for its arrival. */
    for (int ms = 0; ms < 1000 && *(volatile uint8_t *)(memory + 16) != 6; ms++)
        usleep(1000);
    HOLDS(memory[16] == 6);
    SUCCEEDS(SCIRemoveSegment, segment, 0);
    HOLDS(memory[8] == 5 && memory[16] == 6);
}

CONFORMANCE(S, 40, "physical memory is refused, and the segment can be removed")
{
    sci_local_segment_t segment;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, SIZE, SCI_FLAG_EMPTY));
    GIVES(SCI_ERR_NOT_SUPPORTED, SCIAttachPhysicalMemory, 0x1000, NULL, 0, SIZE, segment, 0);
    GIVES(SCI_ERR_NOT_SUPPORTED, SCIAttachPhysicalMemory, 0, &segment, 0, SIZE, segment,
          SCI_FLAG_CUDA_BUFFER);
    SUCCEEDS(SCIRemoveSegment, segment, 0);
}

CONFORMANCE(S, 41, "another process attaches to a shared segment and has as much to say")
{
    struct actor *partner = exporter_start(), *b = b_start();
    sci_local_segment_t segment;
    sci_map_t map;
    begin_as_a();
    S_GIVES(SCI_ERR_NO_SUCH_SEGMENT, partner, attach, .id = SEGMENT);
    EXPECT(SCI_ERR_OK, create(&segment, SEGMENT, 1000, 0));
    uint8_t *bytes = mapped(segment, 0, 1000, 0, &map, SCI_ERR_OK);
    bytes[8] = 3;
    S_GIVES(SCI_ERR_ACCESS, partner, attach, .id = SEGMENT);
    SUCCEEDS(SCIShareSegment, segment, 0);
    HOLDS(S_ASK(partner, attach, .id = SEGMENT).size == 1000);
    HOLDS(S_ASK(partner, load, .offset = 8).value == 3);
    S_OK(partner, store, .offset = 16, .value = 4);
    int64_t deadline = now_ms() + LONG_MS;
    while (((volatile uint8_t *)bytes)[16] != 4 && now_ms() < deadline)
        continue;
    HOLDS(bytes[16] == 4);
    S_GIVES(SCI_ERR_SEGMENT_NOT_PREPARED, partner, available);
    S_OK(partner, prepare);
    S_OK(partner, available);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    SUCCEEDS(SCISetSegmentUnavailable, segment, ADAPTER, 0); /* the state is the same for both */
    S_GIVES(SCI_ERR_ILLEGAL_OPERATION, partner, unavailable);
    S_GIVES(SCI_ERR_NO_SUCH_SEGMENT, b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
    S_OK(partner, available);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentUnavailable, segment, ADAPTER,
          SCI_FLAG_FORCE_DISCONNECT);
    S_OK(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
    /* It lives as long as there is a handle. */
    SUCCEEDS(SCIUnmapSegment, map, 0);
    SUCCEEDS(SCIRemoveSegment, segment, 0);
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&segment, SEGMENT, 1000, 0));
    S_OK(b, connect, .slot = 2, .node = node_a(), .id = SEGMENT);
    S_GIVES(SCI_ERR_BUSY, partner, remove);
    S_OK(partner, remove, .flags = SCI_FLAG_FORCE_REMOVE);
}

CONFORMANCE(S, 42, "a killed owner's ids are free at once")
{
    struct actor *victim = exporter_start(), *b = b_start();
    begin_as_a();
    for (unsigned i = 0; i < 4; i++)
        S_OK(victim, offer, .slot = i, .id = SEGMENT + i, .size = SIZE);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    actor_kill(victim);
    for (unsigned i = 0; i < 4; i++)
        (void)offer(SEGMENT + i, SIZE);
    S_OK(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
}
