/* SPDX-License-Identifier: BSD-3-Clause */
/* Check 90: broadcast segments, or reflective memory: each member has a copy of its own, and what is
 * written to the group lands in all of them. */
#include "segments_peer.h"

enum { GROUP = 1, ALL = DIS_BROADCAST_NODEID_GROUP_ALL, MEMBER = SCI_FLAG_BROADCAST };

static struct offered be_a_member(size_t size)
{
    struct offered made;
    sci_error_t error;
    SUCCEEDS(SCICreateSegment, desc(), &made.segment, GROUP, size, NULL, NULL,
             MEMBER | SCI_FLAG_ALLOW_UNICAST);
    made.bytes = SCIMapLocalSegment(made.segment, &made.map, 0, size, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCIPrepareSegment, made.segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, made.segment, ADAPTER, 0);
    return made;
}

static sci_remote_segment_t connect_group(void)
{
    sci_remote_segment_t group = NULL;
    SUCCEEDS(SCIConnectSegment, desc(), &group, ALL, GROUP, ADAPTER, NULL, NULL, 0, MEMBER);
    return group;
}

struct mapped {
    sci_map_t map;
    volatile uint8_t *bytes;
    sci_sequence_t sequence;
};

static struct mapped map_group(sci_remote_segment_t group, unsigned flags)
{
    struct mapped made;
    sci_error_t error;
    made.bytes = SCIMapRemoteSegment(group, &made.map, 0, SIZE, NULL, flags, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCICreateMapSequence, made.map, &made.sequence, 0);
    return made;
}

/* Until the members have it. Whether one has been lost is for another check. */
static sci_sequence_status_t store(const struct mapped *to, size_t offset, uint64_t value)
{
    sci_error_t error;
    memcpy((void *)(to->bytes + offset), &value, sizeof value);
    sci_sequence_status_t status = SCICheckSequence(to->sequence, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    return status;
}

static void start_anew(const struct mapped *map)
{
    sci_error_t error;
    sci_sequence_status_t status = SCIStartSequence(map->sequence, 0, &error);
    HOLDS(status == SCI_SEQ_OK && error == SCI_ERR_OK);
}

static uint64_t own_at(const struct offered *own, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const void *)(own->bytes + offset), sizeof value);
    return value;
}

static uint64_t at(struct actor *b, size_t offset)
{
    return S_ASK(b, load, .offset = offset).value;
}

/* Write until a member has it that has come just now. */
static void store_until_there(const struct mapped *to, struct actor *b, size_t offset,
                              uint64_t value)
{
    int64_t end = now_ms() + LONG_MS;
    do {
        HOLDS(now_ms() < end);
        store(to, offset, value);
    } while (at(b, offset) != value);
}

CONFORMANCE(B, 90, "stores and SCIMemCpy to a group land in each member's copy, and stay apart")
{
    enum { OWN = 512, BULK = 1024, LENGTH = 4096 };
    static uint8_t bytes[LENGTH];
    APPLIES_IF(!one_node(), "there is one node");
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered ordinary = offer(GROUP, SIZE); /* ids of groups are ids of their own */
    struct offered own = be_a_member(SIZE);
    S_OK(b, offer, .id = GROUP, .size = SIZE, .flags = MEMBER);
    sci_remote_segment_t group = connect_group();
    HOLDS(SCIGetRemoteSegmentSize(group) == SIZE && SCIGetRemoteSegmentId(group) == GROUP &&
          SCIGetRemoteSegmentNodeId(group) == ALL);
    struct mapped map = map_group(group, MEMBER);
    store_until_there(&map, b, 0, 7);
    HOLDS(own_at(&own, 0) == 7);

    /* What a member stores stays its own. */
    uint64_t mine = 8;
    memcpy((void *)(own.bytes + OWN), &mine, sizeof mine);
    S_OK(b, store, .offset = OWN, .value = 9);
    store(&map, 0, 10);
    HOLDS(at(b, 0) == 10 && own_at(&own, 0) == 10 && at(b, OWN) == 9 && own_at(&own, OWN) == 8);

    for (size_t i = 0; i < LENGTH; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    start_anew(&map);
    SUCCEEDS(SCIMemCpy, map.sequence, bytes, map.map, BULK, LENGTH, 0);
    HOLDS(store(&map, 0, 11) == SCI_SEQ_OK);
    HOLDS(memcmp((const void *)(own.bytes + BULK), bytes, LENGTH) == 0);
    for (size_t i = 0; i < LENGTH; i += 1024)
        HOLDS(memcmp(&(uint64_t){at(b, BULK + i)}, bytes + i, sizeof(uint64_t)) == 0);
    for (size_t i = 0; i < SIZE; i++)
        HOLDS(ordinary.bytes[i] == 0);
    SUCCEEDS(SCIRemoveSequence, map.sequence, 0);
    SUCCEEDS(SCIUnmapSegment, map.map, 0);
    SUCCEEDS(SCIDisconnectSegment, group, 0);
}

CONFORMANCE(X, 102, "DMA to a group reaches all members")
{
    APPLIES_IF(!one_node(), "there is one node");
    struct actor *b = b_start();
    sci_dma_queue_t queue;
    begin_as_a();
    struct offered source = offer(GROUP + 1, SIZE);
    struct offered own = be_a_member(SIZE);
    S_OK(b, offer, .id = GROUP, .size = SIZE, .flags = MEMBER);
    sci_remote_segment_t group = connect_group();
    SUCCEEDS(SCICreateDMAQueue, desc(), &queue, ADAPTER, 1, 0);
    memset((void *)source.bytes, 5, SIZE);
    for (int64_t end = now_ms() + LONG_MS; at(b, 128) == 0;) {
        HOLDS(now_ms() < end);
        SUCCEEDS(SCIStartDmaTransfer, queue, source.segment, group, 0, 1024, 128, NULL, NULL,
                 SCI_FLAG_BROADCAST | SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_WAIT);
    }
    HOLDS(own.bytes[127] == 0 && own.bytes[128] == 5 && own.bytes[1151] == 5 &&
          own.bytes[1152] == 0);
    HOLDS(at(b, 1144) == 0x0505050505050505 && at(b, 1152) == 0);
}

CONFORMANCE(X, 103, "members of a group come and go while a writer writes")
{
    APPLIES_IF(!one_node(), "there is one node");
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = be_a_member(SIZE);
    sci_remote_segment_t group = connect_group();
    struct mapped map = map_group(group, 0);
    store(&map, 8, 1);
    HOLDS(own_at(&own, 8) == 1);
    S_OK(b, offer, .id = GROUP, .size = SIZE, .flags = MEMBER);
    store_until_there(&map, b, 16, 2);
    HOLDS(at(b, 8) == 0 && own_at(&own, 16) == 2); /* later stores only */
    S_OK(b, remove, .flags = SCI_FLAG_FORCE_REMOVE);
    store(&map, 24, 3);
    HOLDS(own_at(&own, 24) == 3);
    S_OK(b, offer, .id = GROUP, .size = SIZE, .flags = MEMBER);
    store_until_there(&map, b, 32, 4);
    actor_kill(b);
    sci_sequence_status_t status;
    int64_t end = now_ms() + LONG_MS;
    uint64_t value = 5;
    do { /* it may be lost amid any of these */
        HOLDS(now_ms() < end);
        start_anew(&map);
        status = store(&map, 40, ++value);
        HOLDS(own_at(&own, 40) == value);
    } while (status != SCI_SEQ_OK);
    /* With the last member the writer's connection does not end. */
    SUCCEEDS(SCIRemoveSegment, own.segment, SCI_FLAG_FORCE_REMOVE);
    (void)store(&map, 48, 6);
    SUCCEEDS(SCIRemoveSequence, map.sequence, 0);
    SUCCEEDS(SCIUnmapSegment, map.map, 0);
    SUCCEEDS(SCIDisconnectSegment, group, 0);
}

CONFORMANCE(X, 104, "a member can be connected by itself")
{
    APPLIES_IF(!one_node(), "there is one node");
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = be_a_member(SIZE);
    S_OK(b, offer, .id = GROUP, .size = SIZE, .flags = MEMBER | SCI_FLAG_ALLOW_UNICAST);
    sci_remote_segment_t single = connected(node_b(), GROUP);
    struct mapped map = map_group(single, 0);
    store(&map, 0, 3);
    HOLDS(at(b, 0) == 3 && own_at(&own, 0) == 0);
}

CONFORMANCE(X, 105, "what is wrong with a broadcast is refused, and changes nothing")
{
    const unsigned broadcast = SCI_FLAG_BROADCAST;
    sci_local_segment_t segment = (sci_local_segment_t)8;
    sci_remote_segment_t remote = (sci_remote_segment_t)8;
    sci_map_t map = (sci_map_t)8;
    sci_dma_queue_t queue;
    dis_dma_vec_t vector = {.size = 8};
    begin_as_a();
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCICreateSegment, desc(), &segment, GROUP, SIZE, NULL, NULL,
          SCI_FLAG_ALLOW_UNICAST);
    HOLDS(segment == NULL);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCICreateSegment, desc(), &segment, GROUP, SIZE, NULL, NULL,
          broadcast | SCI_FLAG_AUTO_ID);
    GIVES(SCI_ERR_NO_SUCH_SEGMENT, SCIAttachLocalSegment, desc(), &segment, GROUP, NULL, NULL, NULL,
          broadcast);
    GIVES(SCI_ERR_NO_SUCH_SEGMENT, SCIConnectSegment, desc(), &remote, ALL, GROUP, ADAPTER, NULL,
          NULL, 0, broadcast);
    HOLDS(remote == NULL);
    GIVES(SCI_ERR_ILLEGAL_NODEID, SCIConnectSegment, desc(), &remote, node_a(), GROUP, ADAPTER,
          NULL, NULL, 0, broadcast);
    struct offered own = offer(GROUP, SIZE); /* the id was not taken, and is no member's */
    GIVES(SCI_ERR_NO_SUCH_SEGMENT, SCIConnectSegment, desc(), &remote, ALL, GROUP, ADAPTER, NULL,
          NULL, 0, broadcast);
    remote = connected(node_a(), GROUP);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIMapRemoteSegment, remote, &map, 0, SIZE, NULL, broadcast);
    HOLDS(map == NULL);
    SUCCEEDS(SCICreateDMAQueue, desc(), &queue, ADAPTER, 1, 0);
    memset((void *)own.bytes, 1, 16);
    vector.remote_offset = 100;
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIStartDmaTransfer, queue, own.segment, remote, 0, 8, 100, NULL,
          NULL, broadcast);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIStartDmaTransferVec, queue, own.segment, remote, 1, &vector,
          NULL, NULL, broadcast | SCI_FLAG_DMA_GLOBAL);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIStartDmaTransferMem, queue, (void *)own.bytes, remote, 8, 100,
          NULL, NULL, broadcast | SCI_FLAG_DMA_USER_MEM | SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, DISStartDmaTransfer, queue, own.segment, remote, 0, 8, 100, NULL,
          NULL, broadcast | SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIEnqueueDMATransfer, queue, own.segment, remote, 0, 100, 8,
          broadcast);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE && own.bytes[100] == 0);
    struct offered member = be_a_member(SIZE);
    GIVES(SCI_ERR_SEGMENTID_USED, SCICreateSegment, desc(), &segment, GROUP, SIZE, NULL, NULL,
          broadcast);
    (void)member;
}
