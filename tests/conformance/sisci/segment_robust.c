/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments against hostile arguments, signals, threads, kills and many repetitions. */
#include <malloc.h>

#include "segments_peer.h"

/* ---------------------------------------------------------------- hostile arguments */

static void refuse_handle(void *handle)
{
    uint8_t bytes[16] = {0};
    unsigned node, adapter;
    size_t size;
    void *made;
    sci_error_t status, error;
    const sci_error_t refused = SCI_ERR_ILLEGAL_PARAMETER;
    GIVES(refused, SCICreateSegment, handle, (sci_local_segment_t *)&made, 1, 1, NULL, NULL, 0);
    HOLDS(made == NULL);
    GIVES(refused, SCIAttachLocalSegment, handle, (sci_local_segment_t *)&made, 1, &size, NULL,
          NULL, 0);
    GIVES(refused, SCIConnectSegment, handle, (sci_remote_segment_t *)&made, node_a(), 1, ADAPTER,
          NULL, NULL, 0, 0);
    GIVES(refused, SCIRemoveSegment, handle, 0);
    GIVES(refused, SCIPrepareSegment, handle, ADAPTER, 0);
    GIVES(refused, SCISetSegmentAvailable, handle, ADAPTER, 0);
    GIVES(refused, SCISetSegmentUnavailable, handle, ADAPTER, 0);
    GIVES(refused, SCIShareSegment, handle, 0);
    GIVES(refused, SCIRegisterSegmentMemory, bytes, SIZE, handle, 0);
    GIVES(refused, SCIWaitForLocalSegmentEvent, handle, &node, &adapter, SCI_INFINITE_TIMEOUT, 0);
    GIVES(refused, SCIWaitForRemoteSegmentEvent, handle, &status, SCI_INFINITE_TIMEOUT, 0);
    GIVES(refused, SCIDisconnectSegment, handle, 0);
    GIVES(refused, SCIMapLocalSegment, handle, (sci_map_t *)&made, 0, 1, NULL, 0);
    GIVES(refused, SCIMapRemoteSegment, handle, (sci_map_t *)&made, 0, 1, NULL, 0);
    GIVES(refused, SCIUnmapSegment, handle, 0);
    GIVES(refused, SCICacheSync, handle, bytes, 1, 0);
    GIVES(refused, SCICreateMapSequence, handle, (sci_sequence_t *)&made, 0);
    GIVES(refused, SCIRemoveSequence, handle, 0);
    GIVES(refused, SCIMemCpy, NULL, bytes, handle, 0, 1, 0);
    GIVES(refused, SCIMemCopy, bytes, handle, 0, 1, 0);
    GIVES(refused, SCITransferBlock, handle, 0, handle, 0, 1, 0);
    HOLDS(SCIStartSequence(handle, 0, &error) != SCI_SEQ_OK && error == refused);
    HOLDS(SCICheckSequence(handle, 0, &error) != SCI_SEQ_OK && error == refused);
    HOLDS(SCIGetLocalSegmentSize(handle) == 0 && SCIGetLocalSegmentId(handle) == 0);
    HOLDS(SCIGetRemoteSegmentSize(handle) == 0 && SCIGetRemoteSegmentId(handle) == 0);
    HOLDS(SCIGetRemoteSegmentNodeId(handle) == 0 && SCIGetMapPointer(handle) == NULL);
    SCIFlush(handle, 0);
    SCIStoreBarrier(handle, 0);
    SCIFlushReadBuffers(handle);
}

CONFORMANCE(X, 60, "handles that are none, stale, or of another kind are refused by segments, too")
{
    sci_local_interrupt_t interrupt;
    unsigned number;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    SUCCEEDS(SCICreateInterrupt, desc(), &interrupt, ADAPTER, &number, NULL, NULL, 0);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    for (unsigned i = 0; i < NO_HANDLES; i++)
        refuse_handle(no_handle(i));
    refuse_handle(interrupt);
    refuse_handle(own.map);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    refuse_handle(own.segment);
}

CONFORMANCE(X, 61, "NULL in place of a result is refused; NULL in place of an error is not")
{
    sci_error_t error;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCICreateSegment, desc(), NULL, 1, 1, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIAttachLocalSegment, desc(), NULL, 1, NULL, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIConnectSegment, desc(), NULL, node_a(), SEGMENT, ADAPTER,
          NULL, NULL, 0, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIMapLocalSegment, own.segment, NULL, 0, 1, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCICreateMapSequence, own.map, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIMemWrite, NULL, own.bytes, 1, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIMemWrite, &error, NULL, 1, 0);
    SUCCEEDS(SCIMemWrite, NULL, NULL, 0, 0);
    (void)SCIWaitForLocalSegmentEvent(own.segment, NULL, NULL, 0, 0, NULL);
    SCIPrepareSegment(own.segment, ADAPTER, 0, NULL);
    SCIUnmapSegment(own.map, 0, NULL);
    SCIRemoveSegment(own.segment, 0, NULL);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSegment, own.segment, 0);
}

/* ---------------------------------------------------------------- many */

enum {
    CYCLES = 10000,
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    CYCLES_USUALLY = 2000, /* each takes several times as long */
#else
    CYCLES_USUALLY = CYCLES,
#endif
    CYCLING = 8, /* threads: one alone waits for the daemon most of the time */
    WARM_UP = 50,
};

/* What a thread makes and removes. */
struct cycles {
    pthread_t thread;
    unsigned id, count;
    sci_error_t error;
};

static sci_error_t cycle(unsigned id, unsigned number)
{
    sci_local_segment_t segment;
    sci_error_t error = ERROR_OF(SCICreateSegment, desc(), &segment, id, SIZE, NULL, NULL, 0);
    if (error == SCI_ERR_OK && number % 8 == 0)
        error = ERROR_OF(SCIPrepareSegment, segment, ADAPTER, 0);
    if (error == SCI_ERR_OK && number % 16 == 0)
        error = ERROR_OF(SCISetSegmentAvailable, segment, ADAPTER, 0);
    return error == SCI_ERR_OK ? ERROR_OF(SCIRemoveSegment, segment, 0) : error;
}

static void *run_cycles(void *argument)
{
    struct cycles *cycles = argument;
    for (unsigned i = 0; i < cycles->count && cycles->error == SCI_ERR_OK; i++)
        cycles->error = cycle(cycles->id, i);
    return NULL;
}

static void run_all_cycles(unsigned each)
{
    struct cycles threads[CYCLING];
    for (unsigned i = 0; i < CYCLING; i++) {
        threads[i] = (struct cycles){.id = SEGMENT + i, .count = each, .error = SCI_ERR_OK};
        HOLDS(pthread_create(&threads[i].thread, NULL, run_cycles, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < CYCLING; i++) {
        HOLDS(pthread_join(threads[i].thread, NULL) == 0);
        EXPECT(SCI_ERR_OK, (int)threads[i].error);
    }
}

CONFORMANCE(X, 62, "ten thousand segments, made and removed, leave nothing behind")
{
    begin_as_a();
    run_all_cycles(WARM_UP);
    size_t before = resources_now(), heap = mallinfo2().uordblks;
    run_all_cycles((unsigned)(long_run() ? CYCLES : CYCLES_USUALLY) / CYCLING);
    HOLDS(resources_now() < before + 100);
    HOLDS(mallinfo2().uordblks < heap + (64 << 10));
}

CONFORMANCE(X, 63,
            "a thousand segments at once, available and connected, and gone with the descriptor")
{
    enum { SEGMENTS = 1000, EACH = 25 };
    static sci_local_segment_t segments[SEGMENTS];
    sci_desc_t own;
    begin_as_a();
    SUCCEEDS(SCIOpen, &own, 0);
    size_t before = resources_now();
    for (unsigned i = 0; i < SEGMENTS; i++) {
        sci_remote_segment_t remote;
        SUCCEEDS(SCICreateSegment, own, &segments[i], i, 100, NULL, NULL, 0);
        if (i % EACH != 0)
            continue;
        SUCCEEDS(SCIPrepareSegment, segments[i], ADAPTER, 0);
        SUCCEEDS(SCISetSegmentAvailable, segments[i], ADAPTER, 0);
        SUCCEEDS(SCIConnectSegment, own, &remote, node_a(), i, ADAPTER, NULL, NULL, 0, 0);
    }
    SUCCEEDS(SCIClose, own, 0);
    HOLDS(resources_now() < before + 100);
    (void)offer(0, SIZE);
    (void)offer(SEGMENTS - 1, SIZE);
}

/* ---------------------------------------------------------------- threads */

enum { THREADS = 8, THREAD_MS = 700 };

static atomic_uint failures;
static int64_t end_at;

static void need(bool holds)
{
    if (!holds)
        atomic_fetch_add(&failures, 1);
}

static void use_segments(unsigned id)
{
    sci_local_segment_t segment;
    sci_remote_segment_t remote;
    sci_map_t local_map, map;
    sci_error_t error;
    uint64_t value = id;
    need(ERROR_OF(SCICreateSegment, desc(), &segment, id, SIZE, NULL, NULL, 0) == SCI_ERR_OK);
    volatile uint64_t *bytes = SCIMapLocalSegment(segment, &local_map, 0, SIZE, NULL, 0, &error);
    need(error == SCI_ERR_OK);
    need(ERROR_OF(SCIPrepareSegment, segment, ADAPTER, 0) == SCI_ERR_OK);
    need(ERROR_OF(SCISetSegmentAvailable, segment, ADAPTER, 0) == SCI_ERR_OK);
    need(ERROR_OF(SCIConnectSegment, desc(), &remote, node_a(), id, ADAPTER, NULL, NULL, 0, 0) ==
         SCI_ERR_OK);
    if (!options.no_map) {
        need(ERROR_OF(SCIMapRemoteSegment, remote, &map, 8, 64, NULL, 0) == SCI_ERR_OK);
        need(ERROR_OF(SCIMemCpy, NULL, &value, map, 0, sizeof value, 0) == SCI_ERR_OK);
        need(ERROR_OF(SCIUnmapSegment, map, 0) == SCI_ERR_OK);
        need(bytes[1] == id);
    }
    need(SCIWaitForLocalSegmentEvent(segment, NULL, NULL, LONG_MS, 0, &error) == SCI_CB_CONNECT);
    need(ERROR_OF(SCIDisconnectSegment, remote, 0) == SCI_ERR_OK);
    need(SCIWaitForLocalSegmentEvent(segment, NULL, NULL, LONG_MS, 0, &error) == SCI_CB_DISCONNECT);
    need(ERROR_OF(SCIUnmapSegment, local_map, 0) == SCI_ERR_OK);
    need(ERROR_OF(SCIRemoveSegment, segment, 0) == SCI_ERR_OK);
}

static void *use_until_end(void *id)
{
    do
        use_segments((unsigned)(uintptr_t)id);
    while (now_ms() < end_at && atomic_load(&failures) == 0);
    return NULL;
}

CONFORMANCE(X, 64, "eight threads use segments of one descriptor, while a timer's signals come")
{
    pthread_t threads[THREADS];
    begin_as_a();
    end_at = now_ms() + THREAD_MS;
    for (uintptr_t i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, use_until_end, (void *)(SEGMENT + i)) == 0);
    alarms_begin();
    for (int i = 0; i < THREADS; i++)
        HOLDS(pthread_join(threads[i], NULL) == 0);
    alarms_end();
    HOLDS(atomic_load(&failures) == 0);
}

static sci_local_segment_t contested;

/* What becomes of each call does not matter, as long as it returns. */
static void *contend(void *unused)
{
    unsigned seed = (unsigned)(uintptr_t)unused;
    sci_map_t map;
    sci_error_t error;
    while (now_ms() < end_at) {
        switch (rand_r(&seed) % 5) {
        case 0:
            SCIPrepareSegment(contested, ADAPTER, 0, &error);
            break;
        case 1:
            SCISetSegmentAvailable(contested, ADAPTER, 0, &error);
            break;
        case 2:
            SCISetSegmentUnavailable(contested, ADAPTER,
                                     rand_r(&seed) % 2 ? SCI_FLAG_FORCE_DISCONNECT : 0, &error);
            break;
        case 3:
            if (SCIMapLocalSegment(contested, &map, 8, 8, NULL, SCI_FLAG_READONLY_MAP, &error))
                SCIUnmapSegment(map, 0, &error);
            break;
        default:
            (void)SCIWaitForLocalSegmentEvent(contested, NULL, NULL, 1, 0, &error);
        }
    }
    return NULL;
}

CONFORMANCE(X, 65, "a segment is removed while threads change its state, map it and wait")
{
    pthread_t threads[4];
    begin_as_a();
    for (int round = 0; round < 5; round++) {
        SUCCEEDS(SCICreateSegment, desc(), &contested, SEGMENT, SIZE, NULL, NULL, 0);
        end_at = now_ms() + 60;
        for (uintptr_t i = 0; i < 4; i++)
            HOLDS(pthread_create(&threads[i], NULL, contend, (void *)i) == 0);
        usleep(30000);
        SUCCEEDS(SCIRemoveSegment, contested, SCI_FLAG_FORCE_REMOVE);
        for (int i = 0; i < 4; i++)
            HOLDS(pthread_join(threads[i], NULL) == 0);
    }
}

/* ---------------------------------------------------------------- deaths */

CONFORMANCE(X, 66, "owners and importers killed at any moment leave their ids and peers in order")
{
    enum { ROUNDS = 6 };
    begin_as_a();
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct actor *owner = exporter_start(), *b = b_start();
        S_OK(owner, offer, .id = SEGMENT, .size = SIZE);
        S_OK(b, connect, .node = node_a(), .id = SEGMENT);
        struct s_order order = {.node = node_a(), .id = SEGMENT, .size = SIZE, .value = 100000};
        actor_begin(b, s_rounds, &order, sizeof order);
        usleep(i * 3000);
        if (i % 2 == 0) {
            actor_kill(b);
            S_OK(owner, unavailable, .flags = SCI_FLAG_FORCE_DISCONNECT);
            S_OK(owner, remove, .flags = SCI_FLAG_FORCE_REMOVE);
            S_OK(owner, offer, .id = SEGMENT, .size = SIZE);
            actor_kill(owner);
        } else {
            actor_kill(owner);
            HOLDS(actor_ended(b, LONG_MS)); /* its next connect fails */
            (void)actor_end(b, &order, sizeof order);
            EXPECT(SCI_ERR_NO_SUCH_SEGMENT,
                   S_TELL(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT));
            actor_kill(b);
        }
        struct offered own = offer(SEGMENT, SIZE);
        SUCCEEDS(SCIUnmapSegment, own.map, 0);
        SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    }
}
