/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 92 to 95: cache synchronisation, ends, and use by two threads. */
#include "segments_peer.h"

/* Of this thread: another's work, or a machine that stalls, does not count. */
static int64_t processor_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

CONFORMANCE(B, 92,
            "SCICacheSync() flushes and invalidates, checks its range, and costs next to nothing")
{
    static const unsigned flags[] = {SCI_FLAG_CACHE_FLUSH, SCI_FLAG_CACHE_INVALIDATE,
                                     SCI_FLAG_CACHE_FLUSH | SCI_FLAG_CACHE_INVALIDATE};
    enum {
        CALLS = 1000000,
        LIMIT_MS = 5000
    }; /* less than a system call takes, on a slow machine */
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    uint8_t *bytes = (uint8_t *)own.bytes;
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
        SUCCEEDS(SCICacheSync, own.map, bytes, SIZE, flags[i]);
    SUCCEEDS(SCICacheSync, own.map, bytes + SIZE, 0, SCI_FLAG_CACHE_FLUSH);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCICacheSync, own.map, bytes - 1, 1, SCI_FLAG_CACHE_FLUSH);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCICacheSync, own.map, bytes + 1, SIZE, SCI_FLAG_CACHE_FLUSH);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCICacheSync, own.map, bytes + 1, SIZE_MAX, SCI_FLAG_CACHE_FLUSH);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCICacheSync, own.map, bytes, 1, 1);
    int64_t before = processor_ms();
    sci_error_t error = SCI_ERR_OK;
    for (unsigned i = 0; i < CALLS && error == SCI_ERR_OK; i++)
        SCICacheSync(own.map, bytes, SIZE, flags[i % 3], &error);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(processor_ms() - before < LIMIT_MS);
}

/* ---------------------------------------------------------------- ends */

/* One of everything, with callbacks, under fixed ids. The segment is mapped both ways, and a
 * sequence and a queue are there. */
static sci_segment_cb_reason_t unused_reason;

static sci_callback_action_t on_segment(void *argument, sci_local_segment_t segment,
                                        sci_segment_cb_reason_t reason, unsigned node,
                                        unsigned adapter, sci_error_t error)
{
    (void)argument, (void)segment, (void)node, (void)adapter, (void)error;
    unused_reason = reason;
    return SCI_CALLBACK_CONTINUE;
}

static int have_everything(void *unused)
{
    unsigned node, number = SEGMENT;
    sci_local_segment_t segment, quiet;
    sci_remote_segment_t remote;
    sci_map_t local_map, map;
    sci_sequence_t sequence;
    sci_dma_queue_t queue;
    sci_local_interrupt_t plain;
    sci_local_data_interrupt_t data;
    sci_remote_interrupt_t trigger;
    NEED(desc() != NULL && ERROR_OF(SCIGetLocalNodeId, ADAPTER, &node, 0) == SCI_ERR_OK);
    NEED(ERROR_OF(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, on_segment, NULL,
                  SCI_FLAG_USE_CALLBACK) == SCI_ERR_OK);
    NEED(ERROR_OF(SCICreateSegment, desc(), &quiet, SEGMENT + 1, SIZE, NULL, NULL, 0) ==
         SCI_ERR_OK);
    NEED(ERROR_OF(SCIMapLocalSegment, segment, &local_map, 0, SIZE, NULL, 0) == SCI_ERR_OK);
    NEED(ERROR_OF(SCIPrepareSegment, segment, ADAPTER, 0) == SCI_ERR_OK);
    NEED(ERROR_OF(SCISetSegmentAvailable, segment, ADAPTER, 0) == SCI_ERR_OK);
    NEED(ERROR_OF(SCIConnectSegment, desc(), &remote, node, SEGMENT, ADAPTER, NULL, NULL, 0, 0) ==
         SCI_ERR_OK);
    if (!options.no_map) {
        NEED(ERROR_OF(SCIMapRemoteSegment, remote, &map, 0, SIZE, NULL, 0) == SCI_ERR_OK);
        NEED(ERROR_OF(SCICreateMapSequence, map, &sequence, 0) == SCI_ERR_OK);
    }
    NEED(ERROR_OF(SCICreateDMAQueue, desc(), &queue, ADAPTER, 4, 0) == SCI_ERR_OK);
    NEED(ERROR_OF(SCIStartDmaTransfer, queue, segment, remote, 0, 64, 64, NULL, NULL, 0) ==
         SCI_ERR_OK);
    NEED(ERROR_OF(SCICreateInterrupt, desc(), &plain, ADAPTER, &number, NULL, NULL,
                  SCI_FLAG_FIXED_INTNO) == SCI_ERR_OK);
    NEED(ERROR_OF(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL,
                  SCI_FLAG_FIXED_INTNO) == SCI_ERR_OK);
    NEED(ERROR_OF(SCIConnectInterrupt, desc(), &trigger, node, ADAPTER, number, 0, 0) ==
         SCI_ERR_OK);
    return 0;
}

static int close_all(void *unused)
{
    return (int)ERROR_OF(SCIClose, desc(), 0);
}

static int terminate(void *unused)
{
    SCITerminate();
    return 0;
}

static int have_everything_and_exit(void *unused)
{
    int failed = have_everything(unused);
    _exit(failed);
}

CONFORMANCE(B, 93, "SCIClose() with everything alive releases it, at once and for all")
{
    begin_as_a();
    size_t before = 0;
    for (int i = 0; i < 10; i++) {
        sci_desc_t own;
        SUCCEEDS(SCIOpen, &own, 0);
        SUCCEEDS(SCIClose, own, 0);
        struct actor *other = exporter_start();
        EXPECT(0, actor_run(other, have_everything, NULL, 0));
        EXPECT(SCI_ERR_OK, actor_run(other, close_all, NULL, 0));
        /* Its ids are free while it lives. */
        struct offered mine = offer(SEGMENT, SIZE);
        SUCCEEDS(SCIUnmapSegment, mine.map, 0);
        SUCCEEDS(SCIRemoveSegment, mine.segment, 0);
        actor_kill(other);
        if (i == 1)
            before = resources_now();
    }
    HOLDS(resources_now() < before + 20);
}

CONFORMANCE(B, 94, "SCITerminate() without SCIClose(), and exit without either, leave no id taken")
{
    const actor_function ends[] = {terminate, s_exit, have_everything_and_exit};
    begin_as_a();
    /* What a forked process has of this connection goes with it. */
    (void)offer(SEGMENT + 2, SIZE);
    (void)connected(node_a(), SEGMENT + 2);
    for (unsigned i = 0; i < 3; i++) {
        struct actor *other = exporter_start();
        if (i < 2)
            EXPECT(0, actor_run(other, have_everything, NULL, 0));
        actor_begin(other, ends[i], NULL, 0);
        HOLDS(actor_ended(other, LONG_MS));
        if (i == 0)
            EXPECT(0, actor_end(other, NULL, 0)); /* it lives on, without the library */
        else
            actor_kill(other); /* which waits for its end */
        sci_local_interrupt_t plain;
        sci_local_data_interrupt_t data;
        unsigned number = SEGMENT;
        struct offered mine[2] = {offer(SEGMENT, SIZE), offer(SEGMENT + 1, SIZE)};
        SUCCEEDS(SCICreateInterrupt, desc(), &plain, ADAPTER, &number, NULL, NULL,
                 SCI_FLAG_FIXED_INTNO);
        SUCCEEDS(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL,
                 SCI_FLAG_FIXED_INTNO);
        SUCCEEDS(SCIRemoveInterrupt, plain, 0);
        SUCCEEDS(SCIRemoveDataInterrupt, data, 0);
        for (int j = 0; j < 2; j++) {
            SUCCEEDS(SCIUnmapSegment, mine[j].map, 0);
            SUCCEEDS(SCIRemoveSegment, mine[j].segment, 0);
        }
    }
}

/* ---------------------------------------------------------------- two threads */

/* One of two, with everything of its own but the descriptor. */
struct life {
    pthread_t thread;
    unsigned id;
    int64_t end; /* clock */
    sci_local_segment_t segment;
    volatile uint64_t *words; /* of the segment */
    sci_remote_segment_t remote;
    sci_dma_queue_t queue;
    sci_local_interrupt_t plain;
    sci_remote_interrupt_t trigger;
    sci_remote_data_interrupt_t data_trigger;
    atomic_uint heard; /* messages, each of which is one more than the one before */
    unsigned sent;
    const char *failed;
};

static sci_callback_action_t hear(void *argument, sci_local_data_interrupt_t interrupt, void *data,
                                  unsigned length, sci_error_t status)
{
    struct life *life = argument;
    unsigned expected = atomic_load(&life->heard) + 1;
    if (status == SCI_ERR_OK && length == sizeof expected &&
        memcmp(data, &expected, sizeof expected) == 0)
        atomic_store(&life->heard, expected);
    return SCI_CALLBACK_CONTINUE;
}

/* 0, or an error, said by its line. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return #condition;                                                                     \
    } while (0)
#define IS_OK(...) MUST(ERROR_OF(__VA_ARGS__) == SCI_ERR_OK)

static const char *life_begin(struct life *life)
{
    sci_map_t map;
    sci_local_data_interrupt_t data;
    sci_error_t error;
    unsigned number = life->id;
    IS_OK(SCICreateSegment, desc(), &life->segment, life->id, SIZE, NULL, NULL, 0);
    life->words = SCIMapLocalSegment(life->segment, &map, 0, SIZE, NULL, 0, &error);
    MUST(error == SCI_ERR_OK);
    IS_OK(SCIPrepareSegment, life->segment, ADAPTER, 0);
    IS_OK(SCISetSegmentAvailable, life->segment, ADAPTER, 0);
    IS_OK(SCICreateDMAQueue, desc(), &life->queue, ADAPTER, 1, 0);
    IS_OK(SCICreateInterrupt, desc(), &life->plain, ADAPTER, &number, NULL, NULL,
          SCI_FLAG_FIXED_INTNO);
    IS_OK(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, hear, life,
          SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    IS_OK(SCIConnectInterrupt, desc(), &life->trigger, node_a(), ADAPTER, number, 0, 0);
    IS_OK(SCIConnectDataInterrupt, desc(), &life->data_trigger, node_a(), ADAPTER, number, 0, 0);
    return NULL;
}

static const char *await_event(const struct life *life, sci_segment_cb_reason_t wanted)
{
    sci_error_t error;
    MUST(SCIWaitForLocalSegmentEvent(life->segment, NULL, NULL, LONG_MS, 0, &error) == wanted);
    return NULL;
}

/* Connect, transfer, trigger both and disconnect; nothing is lost. */
static const char *life_round(struct life *life)
{
    unsigned message = ++life->sent;
    sci_error_t error;
    IS_OK(SCIConnectSegment, desc(), &life->remote, node_a(), life->id, ADAPTER, NULL, NULL, 0, 0);
    const char *failed = await_event(life, SCI_CB_CONNECT);
    MUST(failed == NULL);
    life->words[1] = message;
    SCIStartDmaTransfer(life->queue, life->segment, life->remote, 8, 8, 4096, NULL, NULL, 0,
                        &error);
    MUST(error == SCI_ERR_OK);
    IS_OK(SCITriggerInterrupt, life->trigger, 0);
    do
        error = ERROR_OF(SCITriggerDataInterrupt, life->data_trigger, &message, sizeof message, 0);
    while (error == SCI_ERR_NOSPC);
    MUST(error == SCI_ERR_OK);
    IS_OK(SCIWaitForInterrupt, life->plain, LONG_MS, 0);
    MUST(SCIWaitForDMAQueue(life->queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_DONE);
    MUST(life->words[512] == message);
    IS_OK(SCIDisconnectSegment, life->remote, 0);
    failed = await_event(life, SCI_CB_DISCONNECT);
    MUST(failed == NULL);
    return NULL;
}

static const char *life_end(const struct life *life)
{
    sci_error_t error;
    for (int64_t end = now_ms() + LONG_MS; atomic_load(&life->heard) < life->sent; usleep(1000))
        MUST(now_ms() < end);
    MUST(atomic_load(&life->heard) == life->sent);
    MUST(ERROR_OF(SCIWaitForInterrupt, life->plain, 0, 0) == SCI_ERR_TIMEOUT);
    (void)SCIWaitForLocalSegmentEvent(life->segment, NULL, NULL, 0, 0, &error);
    MUST(error == SCI_ERR_TIMEOUT);
    return NULL;
}

static void *live(void *argument)
{
    struct life *life = argument;
    life->failed = life_begin(life);
    while (life->failed == NULL && now_ms() < life->end)
        life->failed = life_round(life);
    if (life->failed == NULL)
        life->failed = life_end(life);
    return NULL;
}

CONFORMANCE(B, 95, "two threads with everything of their own on one descriptor lose no event")
{
    static struct life lives[2];
    begin_as_a();
    for (unsigned i = 0; i < 2; i++) {
        lives[i].id = SEGMENT + i;
        lives[i].end = now_ms() + (long_run() ? 60000 : 1000);
        HOLDS(pthread_create(&lives[i].thread, NULL, live, &lives[i]) == 0);
    }
    for (unsigned i = 0; i < 2; i++)
        HOLDS(pthread_join(lives[i].thread, NULL) == 0);
    for (unsigned i = 0; i < 2; i++) {
        about("%s", lives[i].failed != NULL ? lives[i].failed : "");
        HOLDS(lives[i].failed == NULL);
    }
}
