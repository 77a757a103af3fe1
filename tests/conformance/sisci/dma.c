/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 72 to 81: DMA queues. */
#include "dma.h"

#include <semaphore.h>

#include "peer.h"

enum { TRIES = 50, LARGE = 4 << 20 };

CONFORMANCE(D, 72, "a new queue is IDLE, and to wait for it, abort it and remove it is ok")
{
    sci_error_t error;
    begin_as_a();
    sci_dma_queue_t queue = dma_queue(4);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE);
    HOLDS(SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, &error) == SCI_DMAQUEUE_IDLE);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCIAbortDMAQueue, queue, 0);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE);
    SUCCEEDS(SCIRemoveDMAQueue, queue, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveDMAQueue, queue, 0);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_ERROR);
}

CONFORMANCE(D, 73, "a transfer moves the bytes that it names, and no others")
{
    enum { FROM = 1001, COUNT = 3003, TO = 517 };
    static uint8_t back[SIZE];
    struct dma dma = dma_begin(SIZE);
    dma_fill(dma.bytes, SIZE, 5);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, FROM, COUNT, TO, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    dma_read_back(&dma, back, 0, SIZE);
    HOLDS(memcmp(back + TO, dma.bytes + FROM, COUNT) == 0);
    for (size_t i = 0; i < SIZE; i++)
        HOLDS((i >= TO && i < TO + COUNT) || back[i] == 0);
    /* Under the former name, too. */
    SUCCEEDS(DISStartDmaTransfer, dma.queue, dma.local, dma.remote, 3, 5, 4000, NULL, NULL,
             SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_GLOBAL);
    dma_read_back(&dma, back, 0, SIZE);
    HOLDS(memcmp(back + 4000, dma.bytes + 3, 5) == 0 && back[4005] == 0);
}

/* There and back, posted and waited for: DONE is when the last byte is there. */
static void move_many_pieces(const struct dma *dma)
{
    enum { COUNT = LARGE - 4100, FROM = 4099, TO = 1003, BACK = 17 };
    sci_error_t error;
    dma_fill(dma->bytes, LARGE, 7);
    uint8_t *wanted = malloc(LARGE);
    HOLDS(wanted != NULL);
    memcpy(wanted, dma->bytes, LARGE);
    for (int read = 0; read < 2; read++) {
        SUCCEEDS(SCIStartDmaTransfer, dma->queue, dma->local, dma->remote, read ? BACK : FROM,
                 COUNT, TO, NULL, NULL, read ? SCI_FLAG_DMA_READ : 0);
        HOLDS(SCIWaitForDMAQueue(dma->queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_DONE);
        if (!read)
            memset(dma->bytes, 0, LARGE);
    }
    HOLDS(memcmp(dma->bytes + BACK, wanted + FROM, COUNT) == 0);
    HOLDS(dma->bytes[BACK - 1] == 0 && dma->bytes[BACK + COUNT] == 0);
    free(wanted);
}

CONFORMANCE(D, 74, "DMA_READ moves the other way; any size and place will do; nothing is mapped")
{
    static const size_t sizes[] = {1, 2, 3, 63, 64, 65, 4095, 4097, 8001};
    static uint8_t wanted[SIZE];
    struct dma dma = dma_begin(LARGE);
    dma_fill(wanted, SIZE, 77);
    SUCCEEDS(SCIStartDmaTransferMem, dma.queue, wanted, dma.remote, SIZE, 0, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t from = 3 * i, to = 11 * i;
        memset(dma.bytes, 0xee, SIZE);
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, to, sizes[i], from, NULL,
                 NULL, SCI_FLAG_DMA_READ | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_SYSDMA);
        HOLDS(memcmp(dma.bytes + to, wanted + from, sizes[i]) == 0);
        HOLDS(dma.bytes[to + sizes[i]] == 0xee && (to == 0 || dma.bytes[to - 1] == 0xee));
    }
    move_many_pieces(&dma);
}

static void wait_done(sci_dma_queue_t queue)
{
    sci_error_t error;
    HOLDS(SCIWaitForDMAQueue(queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_DONE);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_DONE);
}

CONFORMANCE(D, 75, "a queue is DONE after DMA_WAIT, and POSTED or DONE after a plain start")
{
    static uint8_t back[SIZE];
    struct dma dma = dma_begin(SIZE);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_DONE);
    for (unsigned i = 0; i < TRIES; i++) {
        dma_fill(dma.bytes, SIZE, i);
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, SIZE, 0, NULL, NULL, 0);
        sci_dma_queue_state_t state = SCIDMAQueueState(dma.queue);
        HOLDS(state == SCI_DMAQUEUE_POSTED || state == SCI_DMAQUEUE_DONE);
        wait_done(dma.queue);
        dma_read_back(&dma, back, 0, SIZE);
        HOLDS(memcmp(back, dma.bytes, SIZE) == 0);
    }
    wait_done(dma.queue);
    SUCCEEDS(SCIAbortDMAQueue, dma.queue, 0);
    wait_done(dma.queue);
    SUCCEEDS(SCIResetDMAQueue, dma.queue, 0);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_IDLE);
}

CONFORMANCE(D, 76, "a DONE queue starts again; a POSTED one does not, and its transfer completes")
{
    enum { BIG = 4 << 20 };
    static dis_dma_vec_t vec[DIS_DMA_MAX_VECLEN];
    static uint8_t back[BIG];
    bool refused = false;
    struct dma dma = dma_begin(BIG);
    for (unsigned i = 0; i < DIS_DMA_MAX_VECLEN; i++)
        vec[i] = (dis_dma_vec_t){BIG, 0, 0, 0};
    /* A short transfer may have ended before this thread has a processor again: the next one is longer. */
    for (unsigned entries = 1; entries <= DIS_DMA_MAX_VECLEN && !refused; entries *= 2) {
        dma_fill(dma.bytes, BIG, entries);
        SUCCEEDS(SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, entries, vec, NULL, NULL,
                 0);
        sci_error_t error =
            ERROR_OF(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 1, 1, 1, NULL, NULL, 0);
        refused = error == SCI_ERR_ILLEGAL_OPERATION;
        HOLDS(refused || error == SCI_ERR_OK);
        wait_done(dma.queue);
        dma_read_back(&dma, back, 0, BIG);
        HOLDS(memcmp(back, dma.bytes, BIG) == 0);
    }
    HOLDS(refused); /* POSTED was seen */
}

/* ---------------------------------------------------------------- callbacks */

enum { CHAIN = 5 };

struct chain {
    const struct dma *dma;
    atomic_uint calls;
    atomic_bool wrong;
    pthread_t starter;
    sem_t done;
};

static sci_callback_action_t start_next(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    struct chain *chain = argument;
    unsigned calls = atomic_fetch_add(&chain->calls, 1) + 1;
    if (status != SCI_ERR_OK || queue != chain->dma->queue ||
        pthread_equal(pthread_self(), chain->starter) ||
        SCIDMAQueueState(queue) != SCI_DMAQUEUE_DONE)
        atomic_store(&chain->wrong, true);
    if (calls < CHAIN &&
        ERROR_OF(SCIStartDmaTransfer, queue, chain->dma->local, chain->dma->remote, calls, 1, calls,
                 start_next, chain, SCI_FLAG_USE_CALLBACK) != SCI_ERR_OK)
        atomic_store(&chain->wrong, true);
    sem_post(&chain->done);
    return calls % 2 ? SCI_CALLBACK_CANCEL : SCI_CALLBACK_CONTINUE;
}

static bool await(sem_t *semaphore)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_MS / 1000;
    return sem_timedwait(semaphore, &end) == 0;
}

CONFORMANCE(D, 77, "a callback comes once, from another thread, and may start the next transfer")
{
    uint8_t back[CHAIN + 1];
    sci_error_t error;
    struct dma dma = dma_begin(SIZE);
    struct chain chain = {.dma = &dma, .starter = pthread_self()};
    sem_init(&chain.done, 0, 0);
    dma_fill(dma.bytes, SIZE, 9);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0, start_next, &chain,
             SCI_FLAG_USE_CALLBACK);
    for (unsigned i = 0; i < CHAIN; i++)
        HOLDS(await(&chain.done));
    (void)SCIWaitForDMAQueue(dma.queue, 0, 0, &error);
    EXPECT(SCI_ERR_ILLEGAL_OPERATION, error);
    SUCCEEDS(SCIRemoveDMAQueue, dma.queue, 0);
    HOLDS(atomic_load(&chain.calls) == CHAIN && !atomic_load(&chain.wrong));
    dma_read_back(&dma, back, 0, sizeof back);
    HOLDS(memcmp(back, dma.bytes, CHAIN) == 0 && back[CHAIN] == 0);
    /* Without the flag it is not called. */
    dma.queue = dma_queue(1);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0, start_next, &chain, 0);
    wait_done(dma.queue);
    SUCCEEDS(SCIRemoveDMAQueue, dma.queue, 0);
    HOLDS(atomic_load(&chain.calls) == CHAIN);
}

/* ---------------------------------------------------------------- vectors, refusals */

CONFORMANCE(D, 78, "a vector of 256 entries goes over a queue for one, and one of 257 does not")
{
    enum { EACH = SIZE / DIS_DMA_MAX_VECLEN };
    static dis_dma_vec_t vec[DIS_DMA_MAX_VECLEN + 1];
    static uint8_t back[SIZE];
    struct dma dma = dma_begin(SIZE);
    dma_fill(dma.bytes, SIZE, 3);
    for (unsigned i = 0; i < DIS_DMA_MAX_VECLEN; i++) /* backwards */
        vec[i] = (dis_dma_vec_t){EACH, i * EACH, (DIS_DMA_MAX_VECLEN - 1 - i) * EACH, 0};
    vec[DIS_DMA_MAX_VECLEN] = (dis_dma_vec_t){1, 0, 0, 0};
    GIVES(SCI_ERR_MAX_ENTRIES, SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote,
          DIS_DMA_MAX_VECLEN + 1, vec, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, 0,
          vec, NULL, NULL, 0);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_IDLE);
    SUCCEEDS(DISStartDmaTransferVec, dma.queue, dma.local, dma.remote, DIS_DMA_MAX_VECLEN, vec,
             NULL, NULL, 0);
    memset(vec, 0xff, sizeof vec);
    wait_done(dma.queue);
    dma_read_back(&dma, back, 0, SIZE);
    for (unsigned i = 0; i < DIS_DMA_MAX_VECLEN; i++)
        HOLDS(memcmp(back + (size_t)(DIS_DMA_MAX_VECLEN - 1 - i) * EACH,
                     dma.bytes + (size_t)i * EACH, EACH) == 0);
    /* Entries follow each other: the last one to a place wins. */
    for (unsigned i = 0; i < DIS_DMA_MAX_VECLEN; i++)
        vec[i] = (dis_dma_vec_t){1, i, 0, 0};
    SUCCEEDS(SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, DIS_DMA_MAX_VECLEN, vec,
             NULL, NULL, SCI_FLAG_DMA_WAIT);
    dma_read_back(&dma, back, 0, 1);
    HOLDS(back[0] == dma.bytes[DIS_DMA_MAX_VECLEN - 1]);
}

static void refuse_range(const struct dma *dma, size_t local, size_t size, size_t remote)
{
    for (unsigned read = 0; read < 2; read++)
        GIVES(SCI_ERR_OUT_OF_RANGE, SCIStartDmaTransfer, dma->queue, dma->local, dma->remote, local,
              size, remote, NULL, NULL, read != 0 ? SCI_FLAG_DMA_READ : 0);
}

CONFORMANCE(D, 79, "what is out of range or not prepared is refused, and nothing moves")
{
    static uint8_t back[SIZE];
    sci_local_segment_t other;
    struct dma dma = dma_begin(SIZE);
    dma_fill(dma.bytes, SIZE, 1);
    refuse_range(&dma, SIZE - 10, 11, 0);
    refuse_range(&dma, 0, 11, SIZE - 10);
    refuse_range(&dma, SIZE, 1, 0);
    refuse_range(&dma, 0, 1, SIZE);
    refuse_range(&dma, SIZE_MAX, 2, 0);
    refuse_range(&dma, 0, 2, SIZE_MAX);
    refuse_range(&dma, 1, SIZE_MAX, 1);
    dis_dma_vec_t vec[] = {{8, 0, 0, 0}, {8, 8, 8, 0}, {8, SIZE - 7, 16, 0}};
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIStartDmaTransferVec, dma.queue, dma.local, dma.remote, 3, vec,
          NULL, NULL, SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_SIZE_ALIGNMENT, SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 0, 0,
          NULL, NULL, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIEnqueueDMATransfer, dma.queue, dma.local, dma.remote, SIZE - 3,
          0, 4, 0);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_IDLE);
    SUCCEEDS(SCICreateSegment, desc(), &other, SOURCE + 1, SIZE, NULL, NULL, SCI_FLAG_PRIVATE);
    GIVES(SCI_ERR_SEGMENT_NOT_PREPARED, SCIStartDmaTransfer, dma.queue, other, dma.remote, 0, 8, 0,
          NULL, NULL, SCI_FLAG_DMA_WAIT);
    GIVES(SCI_ERR_SEGMENT_NOT_PREPARED, SCIEnqueueDMATransfer, dma.queue, other, dma.remote, 0, 0,
          8, 0);
    dma_read_back(&dma, back, 0, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        HOLDS(back[i] == 0);
    SUCCEEDS(SCIPrepareSegment, other, ADAPTER, SCI_FLAG_DMA_SOURCE_ONLY);
    for (unsigned read = 0; read < 2; read++)
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, other, dma.remote, 0, 8, 0, NULL, NULL,
                 SCI_FLAG_DMA_WAIT | (read != 0 ? SCI_FLAG_DMA_READ : 0));
}

CONFORMANCE(D, 80, "enqueue, post, wait and reset go from state to state, and so does one call")
{
    const unsigned at_once = SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET;
    static uint8_t back[SIZE];
    sci_error_t error;
    struct dma dma = dma_begin(SIZE);
    sci_dma_queue_t queue = dma_queue(3);
    dma_fill(dma.bytes, SIZE, 21);
    for (unsigned i = 0; i < 3; i++) {
        HOLDS(SCIEnqueueDMATransfer(queue, dma.local, dma.remote, 100 * i, 2000 * i + 1, 99, 0,
                                    &error) == SCI_DMAQUEUE_GATHER);
        EXPECT(SCI_ERR_OK, error);
    }
    GIVES(SCI_ERR_MAX_ENTRIES, SCIEnqueueDMATransfer, queue, dma.local, dma.remote, 0, 0, 1, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIStartDmaTransfer, queue, dma.local, dma.remote, 0, 1, 0,
          NULL, NULL, 0);
    SUCCEEDS(SCIPostDMAQueue, queue, NULL, NULL, 0);
    wait_done(queue);
    dma_read_back(&dma, back, 0, SIZE);
    for (unsigned i = 0; i < 3; i++)
        HOLDS(memcmp(back + 2000 * i + 1, dma.bytes + 100 * i, 99) == 0 && back[2000 * i] == 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIPostDMAQueue, queue, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIEnqueueDMATransfer, queue, dma.local, dma.remote, 0, 0, 1,
          0);
    SUCCEEDS(SCIResetDMAQueue, queue, 0);
    HOLDS(SCIDMAQueueState(queue) == SCI_DMAQUEUE_IDLE);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIPostDMAQueue, queue, NULL, NULL, 0);
    for (unsigned i = 0; i < 3; i++) {
        HOLDS(SCIEnqueueDMATransfer(queue, dma.local, dma.remote, 7 * i, i, 1, at_once, &error) ==
              SCI_DMAQUEUE_IDLE);
        EXPECT(SCI_ERR_OK, error);
    }
    dma_read_back(&dma, back, 0, 3);
    HOLDS(back[0] == dma.bytes[0] && back[1] == dma.bytes[7] && back[2] == dma.bytes[14]);
    SUCCEEDS(SCIEnqueueDMATransfer, queue, dma.local, dma.remote, 8, 8, 8, 0);
    SUCCEEDS(SCIRemoveDMAQueue, queue, 0);
}

/* ---------------------------------------------------------------- order */

enum { ROUNDS = 100 };

/* In B: take .value triggers; how many came before their data, in .size. */
static int d_takes(void *bytes)
{
    struct s_order *order = bytes;
    uint64_t rounds = order->value;
    order->size = 0;
    for (uint64_t i = 1; i <= rounds; i++) {
        struct b_order wait = {.timeout = LONG_MS};
        NEED(b_wait(&wait) == SCI_ERR_OK);
        NEED(s_load(order) == 0);
        order->size += order->value < i;
    }
    return 0;
}

CONFORMANCE(D, 81, "an interrupt that follows a transfer finds its data")
{
    sci_remote_interrupt_t interrupt;
    struct dma dma = dma_begin(SIZE);
    B_OK(dma.b, create, .number = 81);
    SUCCEEDS(SCIConnectInterrupt, desc(), &interrupt, node_b(), ADAPTER, 81, LONG_MS, 0);
    struct s_order order = {.value = ROUNDS, .offset = 4000};
    actor_begin(dma.b, d_takes, &order, sizeof order);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        memcpy(dma.bytes + 8, &i, sizeof i);
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 8, sizeof i, 4000, NULL,
                 NULL, i % 2 != 0 ? SCI_FLAG_DMA_WAIT : 0);
        wait_done(dma.queue);
        SUCCEEDS(SCITriggerInterrupt, interrupt, 0);
    }
    EXPECT(0, actor_end(dma.b, &order, sizeof order));
    HOLDS(order.size == 0);
}
