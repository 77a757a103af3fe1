/* SPDX-License-Identifier: BSD-3-Clause */
/* DMA queues: ends at any moment, callbacks, waits, threads and kills. */
#include <semaphore.h>

#include "dma.h"

/* ---------------------------------------------------------------- ends at any moment */

static bool await(sem_t *semaphore)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_MS / 1000;
    return sem_timedwait(semaphore, &end) == 0;
}

/* What a callback was told. */
struct told {
    sem_t called;
    atomic_uint calls;
    _Atomic sci_error_t status;
};

static sci_callback_action_t note(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    struct told *told = argument;
    atomic_store(&told->status, status);
    atomic_fetch_add(&told->calls, 1);
    sem_post(&told->called);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 84, "a transfer that runs keeps its queue and segments, and is aborted at once")
{
    struct told told = {.calls = 0};
    sci_error_t error;
    struct dma dma = dma_begin(LONG_PART);
    sem_init(&told.called, 0, 0);
    for (unsigned round = 0; round < 3; round++) {
        bool calls_back = round == 1;
        EXPECT(SCI_ERR_OK, dma_start_long(&dma, dma.queue, calls_back ? note : NULL, &told));
        if (round == 2)
            usleep(20000);
        HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_POSTED);
        GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIRemoveDMAQueue, dma.queue, 0);
        GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIResetDMAQueue, dma.queue, 0);
        GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIPostDMAQueue, dma.queue, NULL, NULL, 0);
        GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIEnqueueDMATransfer, dma.queue, dma.local, dma.remote, 0,
              0, 1, 0);
        GIVES(SCI_ERR_BUSY, SCIDisconnectSegment, dma.remote, 0);
        GIVES(calls_back ? SCI_ERR_ILLEGAL_OPERATION : SCI_ERR_TIMEOUT, SCIWaitForDMAQueue,
              dma.queue, calls_back ? LONG_MS : 1, 0);
        SUCCEEDS(SCIAbortDMAQueue, dma.queue, 0);
        HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_ABORTED);
        if (calls_back)
            HOLDS(await(&told.called) && told.status == SCI_ERR_CANCELLED);
        else
            HOLDS(SCIWaitForDMAQueue(dma.queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_ABORTED &&
                  error == SCI_ERR_CANCELLED);
    }
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    SUCCEEDS(SCIDisconnectSegment, dma.remote, 0);
    SUCCEEDS(SCIRemoveDMAQueue, dma.queue, 0);
    HOLDS(atomic_load(&told.calls) == 1);
}

CONFORMANCE(X, 85, "a descriptor is closed, and its segments removed by force, while transfers run")
{
    enum { QUEUES = 3 };
    struct told told = {.calls = 0};
    sci_dma_queue_t queues[QUEUES];
    sci_desc_t own;
    struct dma dma = dma_begin(LONG_PART);
    sem_init(&told.called, 0, 0);
    SUCCEEDS(SCIOpen, &own, 0);
    for (unsigned i = 0; i < QUEUES; i++) {
        SUCCEEDS(SCICreateDMAQueue, own, &queues[i], ADAPTER, 1, 0);
        EXPECT(SCI_ERR_OK, dma_start_long(&dma, queues[i], i > 0 ? note : NULL, &told));
    }
    SUCCEEDS(SCIRemoveSegment, dma.local, SCI_FLAG_FORCE_REMOVE);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSegment, dma.local, 0);
    for (unsigned i = 0; i < QUEUES; i++)
        HOLDS(SCIDMAQueueState(queues[i]) == SCI_DMAQUEUE_POSTED);
    int64_t before = now_ms();
    SUCCEEDS(SCIClose, own, 0);
    HOLDS(now_ms() - before < LONG_MS);
    HOLDS(atomic_load(&told.calls) == QUEUES - 1); /* before the return */
    HOLDS(told.status == SCI_ERR_CANCELLED);
    SUCCEEDS(SCIDisconnectSegment, dma.remote, 0);
    /* And with everything there is. */
    (void)offer(SEGMENT + 1, LONG_PART);
    SCITerminate();
}

/* ---------------------------------------------------------------- callbacks */

struct in_callback {
    const struct dma *dma;
    sem_t returned;
    atomic_bool wrong;
    bool remove;
};

/* Start the next transfer and wait for it, in all ways; then remove the queue, maybe. */
static sci_callback_action_t use_queue(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    struct in_callback *in = argument;
    const struct dma *dma = in->dma;
    sci_error_t error = status;
    for (unsigned i = 0; i < 2 && error == SCI_ERR_OK; i++) {
        SCIStartDmaTransfer(queue, dma->local, dma->remote, 0, 8, 0, NULL, NULL,
                            i == 0 ? SCI_FLAG_DMA_WAIT : 0, &error);
        if (error == SCI_ERR_OK &&
            SCIWaitForDMAQueue(queue, LONG_MS, 0, &error) != SCI_DMAQUEUE_DONE)
            error = SCI_ERR_SYSTEM;
    }
    if (error == SCI_ERR_OK && in->remove)
        SCIRemoveDMAQueue(queue, 0, &error);
    if (error != SCI_ERR_OK)
        atomic_store(&in->wrong, true);
    sem_post(&in->returned);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 86, "a callback waits for the next transfer of its queue, and may remove it")
{
    struct dma dma = dma_begin(SIZE);
    struct in_callback in = {.dma = &dma};
    sem_init(&in.returned, 0, 0);
    for (unsigned i = 0; i < 40; i++) {
        in.remove = i % 2 != 0;
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 64, 0, use_queue, &in,
                 SCI_FLAG_USE_CALLBACK);
        HOLDS(await(&in.returned));
        HOLDS(!atomic_load(&in.wrong));
        if (!in.remove)
            continue;
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveDMAQueue, dma.queue, 0);
        dma.queue = dma_queue(1);
    }
}

static sci_callback_action_t look_at_signals(void *argument, sci_dma_queue_t queue,
                                             sci_error_t status)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    bool good = sigismember(&blocked, SIGALRM) == 1 && sigismember(&blocked, SIGTERM) == 1 &&
                sigismember(&blocked, SIGSEGV) == 0 && sigismember(&blocked, SIGBUS) == 0;
    usleep(10000); /* so that removal comes before the return, or before the call */
    atomic_store((atomic_bool *)argument, good);
    return SCI_CALLBACK_CANCEL;
}

CONFORMANCE(X, 87,
            "removal waits for a callback that is due; signals but those of faults are blocked")
{
    struct dma dma = dma_begin(SIZE);
    for (unsigned i = 0; i < 10; i++) {
        atomic_bool good = false;
        sci_dma_queue_t queue = dma_queue(1);
        SUCCEEDS(SCIStartDmaTransfer, queue, dma.local, dma.remote, 0, 64, 0, look_at_signals,
                 &good, SCI_FLAG_USE_CALLBACK);
        while (SCIDMAQueueState(queue) == SCI_DMAQUEUE_POSTED)
            usleep(100);
        SUCCEEDS(SCIRemoveDMAQueue, queue, 0);
        HOLDS(atomic_load(&good));
    }
}

/* The first call waits until it may return; each is counted. */
struct slow {
    sem_t entered, may_return;
    atomic_uint calls;
};

static sci_callback_action_t call_slowly(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    struct slow *slow = argument;
    if (atomic_fetch_add(&slow->calls, 1) == 0) {
        sem_post(&slow->entered);
        (void)await(&slow->may_return);
    }
    return SCI_CALLBACK_CONTINUE;
}

/* A callback of something else, which removes the queue. */
struct remover {
    _Atomic(sci_dma_queue_t) queue;
    sci_error_t error;
    unsigned calls; /* that had been made when the queue was removed */
    struct slow *slow;
    sem_t has_ended;
};

static sci_callback_action_t remove_queue(void *argument, sci_local_interrupt_t interrupt,
                                          sci_error_t status)
{
    struct remover *remover = argument;
    remover->error = ERROR_OF(SCIRemoveDMAQueue, atomic_load(&remover->queue), 0);
    remover->calls = atomic_load(&remover->slow->calls);
    sem_post(&remover->has_ended);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 93,
            "calls that are due are made also if the callback of an interrupt removes the queue")
{
    static struct slow slow;
    static struct remover remover = {.slow = &slow};
    sci_local_interrupt_t interrupt;
    sci_remote_interrupt_t own;
    unsigned number = 1;
    struct dma dma = dma_begin(SIZE);
    sem_init(&slow.entered, 0, 0);
    sem_init(&slow.may_return, 0, 0);
    sem_init(&remover.has_ended, 0, 0);
    remover.queue = dma.queue;
    SUCCEEDS(SCICreateInterrupt, desc(), &interrupt, ADAPTER, &number, remove_queue, &remover,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, number, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 8, 0, call_slowly, &slow,
                 SCI_FLAG_USE_CALLBACK);
        HOLDS(i > 0 || await(&slow.entered));
        while (SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_POSTED)
            usleep(100);
    }
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    for (int64_t end = now_ms() + LONG_MS; SCIDMAQueueState(dma.queue) != SCI_DMAQUEUE_ERROR;)
        HOLDS(now_ms() < end); /* it is being removed */
    usleep(10000);
    sem_post(&slow.may_return);
    HOLDS(await(&remover.has_ended));
    EXPECT(SCI_ERR_OK, remover.error);
    EXPECT(2, (int)remover.calls);
}

/* ---------------------------------------------------------------- waits */

static void *wait_for_ever(void *queue)
{
    (void)SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, 0, NULL);
    return NULL;
}

CONFORMANCE(X, 88, "waits end after their time, by cancellation and by an abort, not by signals")
{
    pthread_t thread;
    void *result;
    sci_error_t error;
    struct dma dma = dma_begin(LONG_PART);
    alarms_begin();
    EXPECT(SCI_ERR_OK, dma_start_long(&dma, dma.queue, NULL, NULL));
    int64_t before = now_ms();
    HOLDS(SCIWaitForDMAQueue(dma.queue, 0, 0, &error) == SCI_DMAQUEUE_POSTED);
    EXPECT(SCI_ERR_TIMEOUT, error);
    HOLDS(SCIWaitForDMAQueue(dma.queue, 30, 0, &error) == SCI_DMAQUEUE_POSTED);
    EXPECT(SCI_ERR_TIMEOUT, error);
    HOLDS(now_ms() - before >= 30);
    for (int i = 0; i < 2; i++) {
        HOLDS(pthread_create(&thread, NULL, wait_for_ever, dma.queue) == 0);
        usleep(10000);
        if (i == 0)
            HOLDS(pthread_cancel(thread) == 0);
        else
            SUCCEEDS(SCIAbortDMAQueue, dma.queue, 0);
        HOLDS(pthread_join(thread, &result) == 0);
        HOLDS(result == (i == 0 ? PTHREAD_CANCELED : NULL));
    }
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_ABORTED);
    alarms_end();
    SUCCEEDS(SCIRemoveDMAQueue, dma.queue, 0);
}

static void *abort_and_note(void *argument)
{
    const struct dma *dma = argument;
    pthread_cancel(pthread_self());
    (void)ERROR_OF(SCIAbortDMAQueue, dma->queue, 0);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return (void *)(uintptr_t)SCIDMAQueueState(dma->queue);
}

CONFORMANCE(X, 94, "a thread that is being cancelled aborts a transfer to its end")
{
    pthread_t thread;
    void *state;
    struct dma dma = dma_begin(LONG_PART);
    EXPECT(SCI_ERR_OK, dma_start_long(&dma, dma.queue, NULL, NULL));
    HOLDS(pthread_create(&thread, NULL, abort_and_note, &dma) == 0);
    HOLDS(pthread_join(thread, &state) == 0);
    HOLDS(state != PTHREAD_CANCELED);
    EXPECT(SCI_DMAQUEUE_ABORTED, (int)(uintptr_t)state);
    SUCCEEDS(SCIRemoveDMAQueue, dma.queue, 0);
}

/* ---------------------------------------------------------------- deaths */

CONFORMANCE(X, 89, "a transfer to an owner that is killed ends in ERROR, and the queue goes on")
{
    struct told told = {.calls = 0};
    sci_error_t error;
    struct dma dma = dma_begin(LONG_PART);
    sci_dma_queue_t other = dma_queue(1);
    sem_init(&told.called, 0, 0);
    EXPECT(SCI_ERR_OK, dma_start_long(&dma, dma.queue, NULL, NULL));
    EXPECT(SCI_ERR_OK, dma_start_long(&dma, other, note, &told));
    actor_kill(dma.b);
    HOLDS(SCIWaitForDMAQueue(dma.queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_ERROR);
    EXPECT(SCI_ERR_NOT_CONNECTED, error);
    HOLDS(await(&told.called) && told.status == SCI_ERR_NOT_CONNECTED);
    HOLDS(SCIDMAQueueState(other) == SCI_DMAQUEUE_ERROR);
    /* What is lost remains so. */
    for (unsigned read = 0; read < 2; read++)
        GIVES(SCI_ERR_NOT_CONNECTED, SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0,
              NULL, NULL, SCI_FLAG_DMA_WAIT | (read != 0 ? SCI_FLAG_DMA_READ : 0));
    SUCCEEDS(SCIDisconnectSegment, dma.remote, 0);
    (void)offer(SEGMENT + 1, SIZE);
    dma.remote = connected(node_a(), SEGMENT + 1);
    SUCCEEDS(SCIStartDmaTransfer, dma.queue, dma.local, dma.remote, 0, 1, 0, NULL, NULL,
             SCI_FLAG_DMA_WAIT);
    HOLDS(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_DONE);
    HOLDS(atomic_load(&told.calls) == 1);
}

/* ---------------------------------------------------------------- threads */

enum { THREADS = 8, THREAD_MS = 500 };

static struct dma shared;
static atomic_uint failures, called, wanted;
static int64_t end_at;

static void need(bool holds)
{
    if (!holds)
        atomic_fetch_add(&failures, 1);
}

/* Each thread has a place of the segments, and a queue of its own. */
static void *transfer_until_end(void *place)
{
    size_t offset = 64 * (size_t)(uintptr_t)place;
    sci_error_t error;
    uint64_t value = offset, back;
    do {
        sci_dma_queue_t queue;
        need(ERROR_OF(SCICreateDMAQueue, desc(), &queue, ADAPTER, 1, 0) == SCI_ERR_OK);
        for (unsigned i = 0; i < 8; i++, value++) {
            memcpy(shared.bytes + offset, &value, sizeof value);
            SCIStartDmaTransfer(queue, shared.local, shared.remote, offset, sizeof value, offset,
                                NULL, NULL, i % 2 != 0 ? SCI_FLAG_DMA_WAIT : 0, &error);
            need(error == SCI_ERR_OK);
            need(SCIWaitForDMAQueue(queue, LONG_MS, 0, &error) == SCI_DMAQUEUE_DONE);
            SCIStartDmaTransferMem(queue, &back, shared.remote, sizeof back, offset, NULL, NULL,
                                   SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_READ, &error);
            need(error == SCI_ERR_OK && back == value);
        }
        need(ERROR_OF(SCIRemoveDMAQueue, queue, 0) == SCI_ERR_OK);
    } while (now_ms() < end_at && atomic_load(&failures) == 0);
    return NULL;
}

CONFORMANCE(X, 90, "eight threads transfer over queues of their own, and leave nothing behind")
{
    pthread_t threads[THREADS];
    shared = dma_begin(SIZE);
    alarms_begin();
    size_t before = resources_now();
    for (int round = 0; round < 2; round++) {
        end_at = now_ms() + THREAD_MS / 2;
        for (uintptr_t i = 0; i < THREADS; i++)
            HOLDS(pthread_create(&threads[i], NULL, transfer_until_end, (void *)i) == 0);
        for (int i = 0; i < THREADS; i++)
            HOLDS(pthread_join(threads[i], NULL) == 0);
        if (round == 0)
            before = resources_now();
    }
    alarms_end();
    HOLDS(atomic_load(&failures) == 0);
    HOLDS(resources_now() < before + 50);
}

static sci_callback_action_t count_call(void *argument, sci_dma_queue_t queue, sci_error_t status)
{
    atomic_fetch_add(&called, 1);
    return SCI_CALLBACK_CONTINUE;
}

/* What becomes of each call does not matter, as long as it returns, and each transfer with a
 * callback has one. */
static void *contend(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    sci_error_t error;
    while (now_ms() < end_at) {
        sci_dma_queue_t queue = shared.queue;
        switch (rand_r(&seed) % 8) {
        case 0:
            SCIStartDmaTransfer(queue, shared.local, shared.remote, 0, SIZE, 0, count_call, NULL,
                                SCI_FLAG_USE_CALLBACK, &error);
            atomic_fetch_add(&wanted, error == SCI_ERR_OK);
            break;
        case 1:
            SCIStartDmaTransfer(queue, shared.local, shared.remote, 0, SIZE, 0, NULL, NULL,
                                SCI_FLAG_DMA_WAIT, &error);
            break;
        case 2:
            (void)SCIWaitForDMAQueue(queue, 1, 0, &error);
            break;
        case 3:
            SCIAbortDMAQueue(queue, 0, &error);
            break;
        case 4:
            SCIResetDMAQueue(queue, 0, &error);
            break;
        case 5:
            (void)SCIEnqueueDMATransfer(queue, shared.local, shared.remote, 0, 0, 8, 0, &error);
            break;
        case 6:
            SCIPostDMAQueue(queue, count_call, NULL, SCI_FLAG_USE_CALLBACK, &error);
            atomic_fetch_add(&wanted, error == SCI_ERR_OK);
            break;
        default:
            (void)SCIEnqueueDMATransfer(queue, shared.local, shared.remote, 0, 0, 8,
                                        SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET,
                                        &error);
        }
    }
    return NULL;
}

CONFORMANCE(X, 91, "threads contend for one queue, which is removed or closed under them")
{
    pthread_t threads[4];
    sci_desc_t own;
    shared = dma_begin(SIZE);
    SUCCEEDS(SCIRemoveDMAQueue, shared.queue, 0);
    for (int round = 0; round < 6; round++) {
        atomic_store(&called, 0);
        atomic_store(&wanted, 0);
        SUCCEEDS(SCIOpen, &own, 0);
        SUCCEEDS(SCICreateDMAQueue, own, &shared.queue, ADAPTER, 4, 0);
        end_at = now_ms() + 80;
        for (uintptr_t i = 0; i < 4; i++)
            HOLDS(pthread_create(&threads[i], NULL, contend, (void *)(i + 4 * (unsigned)round)) ==
                  0);
        usleep(50000);
        if (round % 2 == 0)
            SUCCEEDS(SCIClose, own, 0);
        for (int i = 0; i < 4; i++)
            HOLDS(pthread_join(threads[i], NULL) == 0);
        if (round % 2 != 0)
            SUCCEEDS(SCIClose, own, 0);
        HOLDS(atomic_load(&called) == atomic_load(&wanted));
    }
}
