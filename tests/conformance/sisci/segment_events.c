/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 56 to 64: events and callbacks of segments. */
#include <semaphore.h>

#include "segments_peer.h"

enum { LOG_MAX = 64 };

/* What callbacks were called with. */
static struct {
    atomic_uint count;
    sci_segment_cb_reason_t reasons[LOG_MAX];
    sci_error_t errors[LOG_MAX];
    unsigned nodes[LOG_MAX];
    pthread_t thread;
    sigset_t blocked;
} heard;
static sci_callback_action_t answer = SCI_CALLBACK_CONTINUE;

static sci_callback_action_t note(sci_segment_cb_reason_t reason, unsigned node, sci_error_t error)
{
    static pthread_mutex_t lock =
        PTHREAD_MUTEX_INITIALIZER; /* each segment has a thread of its own */
    pthread_mutex_lock(&lock);
    unsigned at = atomic_load(&heard.count);
    if (at == 0) {
        heard.thread = pthread_self();
        pthread_sigmask(SIG_BLOCK, NULL, &heard.blocked);
    }
    if (at < LOG_MAX) {
        heard.reasons[at] = reason;
        heard.errors[at] = error;
        heard.nodes[at] = node;
        atomic_store(&heard.count, at + 1);
    }
    pthread_mutex_unlock(&lock);
    return answer;
}

static sci_callback_action_t on_local(void *argument, sci_local_segment_t segment,
                                      sci_segment_cb_reason_t reason, unsigned node,
                                      unsigned adapter, sci_error_t error)
{
    return argument == &heard && adapter == ADAPTER ? note(reason, node, error)
                                                    : SCI_CALLBACK_CANCEL;
}

static sci_callback_action_t on_remote(void *argument, sci_remote_segment_t segment,
                                       sci_segment_cb_reason_t reason, sci_error_t error)
{
    return argument == &heard ? note(reason, 0, error) : SCI_CALLBACK_CANCEL;
}

/* Wait until so many have been heard; the last one's reason. */
static sci_segment_cb_reason_t hear(unsigned count)
{
    int64_t deadline = now_ms() + LONG_MS;
    while (atomic_load(&heard.count) < count && now_ms() < deadline)
        usleep(1000);
    HOLDS(atomic_load(&heard.count) == count);
    return heard.reasons[count - 1];
}

static sci_local_segment_t offer_heard(unsigned id)
{
    sci_local_segment_t segment;
    SUCCEEDS(SCICreateSegment, desc(), &segment, id, SIZE, on_local, &heard, SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    return segment;
}

/* The next event of a local segment; its reason. */
static sci_segment_cb_reason_t next(sci_local_segment_t segment, unsigned *node)
{
    unsigned adapter = 99;
    sci_error_t error;
    sci_segment_cb_reason_t reason =
        SCIWaitForLocalSegmentEvent(segment, node, &adapter, LONG_MS, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(adapter == ADAPTER);
    return reason;
}

CONFORMANCE(E, 56, "an owner that waits learns who connects and disconnects")
{
    struct actor *b = b_start();
    unsigned node = 0, adapter;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForLocalSegmentEvent, own.segment, &node, &adapter, 0, 0);
    int64_t before = now_ms();
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForLocalSegmentEvent, own.segment, &node, &adapter, 100, 0);
    HOLDS(now_ms() - before >= 99);
    for (int i = 0; i < 3; i++) {
        S_OK(b, connect, .node = node_a(), .id = SEGMENT);
        HOLDS(next(own.segment, &node) == SCI_CB_CONNECT && node == node_b());
        S_OK(b, disconnect);
        HOLDS(next(own.segment, &node) == SCI_CB_DISCONNECT && node == node_b());
    }
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForLocalSegmentEvent, own.segment, &node, &adapter, 0, 0);
}

CONFORMANCE(E, 57, "an importer's end is one event")
{
    struct actor *killed = b_start(), *b = b_start();
    unsigned node, adapter;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    S_OK(killed, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    HOLDS(next(own.segment, &node) == SCI_CB_CONNECT && next(own.segment, &node) == SCI_CB_CONNECT);
    actor_kill(killed);
    sci_segment_cb_reason_t reason = next(own.segment, &node);
    HOLDS(reason == SCI_CB_LOST || reason == SCI_CB_DISCONNECT);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForLocalSegmentEvent, own.segment, &node, &adapter, 50, 0);
}

CONFORMANCE(E, 58,
            "a remote callback hears of the connection, of the owner's wish and of its death")
{
    struct actor *b = b_start();
    sci_remote_segment_t segment;
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    SUCCEEDS(SCIConnectSegment, desc(), &segment, node_b(), SEGMENT, ADAPTER, on_remote, &heard, 0,
             SCI_FLAG_USE_CALLBACK);
    HOLDS(hear(1) == SCI_CB_OPERATIONAL && heard.errors[0] == SCI_ERR_OK);
    HOLDS(!pthread_equal(heard.thread, pthread_self()));
    HOLDS(sigismember(&heard.blocked, SIGALRM) == 1 && sigismember(&heard.blocked, SIGTERM) == 1);
    S_OK(b, unavailable, .flags = SCI_FLAG_NOTIFY);
    HOLDS(hear(2) == SCI_CB_DISCONNECT);
    actor_kill(b);
    HOLDS(hear(3) == SCI_CB_LOST);
    SUCCEEDS(SCIDisconnectSegment, segment, 0);
    HOLDS(atomic_load(&heard.count) == 3);
}

static _Atomic pid_t waiter; /* the thread that is about to wait */

/* Wait for an event that does not come; the error. */
static void *wait_local(void *segment)
{
    sci_error_t error;
    unsigned node, adapter;
    atomic_store(&waiter, gettid());
    (void)SCIWaitForLocalSegmentEvent(segment, &node, &adapter, SCI_INFINITE_TIMEOUT, 0, &error);
    return (void *)(uintptr_t)error;
}

static void *wait_remote(void *segment)
{
    sci_error_t error, status;
    atomic_store(&waiter, gettid());
    (void)SCIWaitForRemoteSegmentEvent(segment, &status, SCI_INFINITE_TIMEOUT, 0, &error);
    return (void *)(uintptr_t)error;
}

/* Begin a wait. It is there when the thread sleeps, and goes on sleeping. */
static pthread_t begin(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    atomic_store(&waiter, 0);
    HOLDS(pthread_create(&thread, NULL, function, argument) == 0);
    await_sleep(&waiter);
    return thread;
}

static sci_error_t result_of(pthread_t thread)
{
    void *result;
    HOLDS(pthread_join(thread, &result) == 0);
    return (sci_error_t)(uintptr_t)result;
}

CONFORMANCE(E, 59, "removing and disconnecting wake those who wait, with CANCELLED")
{
    begin_as_a();
    sci_local_segment_t segment;
    SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, NULL, NULL, 0);
    pthread_t early = begin(wait_local, segment); /* before anything can happen */
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    sci_remote_segment_t remote = connected(node_a(), SEGMENT);
    EXPECT(SCI_ERR_OK, result_of(early)); /* the connection */
    pthread_t threads[4];
    for (int i = 0; i < 2; i++) {
        threads[i] = begin(wait_remote, remote);
        threads[2 + i] = begin(wait_local, segment);
    }
    alarms_begin();
    usleep(20000);
    alarms_end();
    SUCCEEDS(SCIDisconnectSegment, remote, 0);
    EXPECT(SCI_ERR_CANCELLED, result_of(threads[0]));
    EXPECT(SCI_ERR_CANCELLED, result_of(threads[1]));
    SUCCEEDS(SCIRemoveSegment, segment, 0);
    int errors[2] = {(int)result_of(threads[2]), (int)result_of(threads[3])};
    /* One of them may have had the disconnect. */
    bool first = errors[0] == SCI_ERR_CANCELLED, second = errors[1] == SCI_ERR_CANCELLED;
    HOLDS((first || second) && (first || errors[0] == SCI_ERR_OK) &&
          (second || errors[1] == SCI_ERR_OK));
}

CONFORMANCE(E, 60, "who has a callback does not wait")
{
    sci_remote_segment_t remote;
    unsigned node, adapter;
    sci_error_t status;
    begin_as_a();
    sci_local_segment_t segment = offer_heard(SEGMENT);
    SUCCEEDS(SCIConnectSegment, desc(), &remote, node_a(), SEGMENT, ADAPTER, on_remote, &heard, 0,
             SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForLocalSegmentEvent, segment, &node, &adapter, 0, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForRemoteSegmentEvent, remote, &status, 0, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCICreateSegment, desc(), &segment, SEGMENT + 1, SIZE, NULL,
          NULL, SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIConnectSegment, desc(), &remote, node_a(), SEGMENT, ADAPTER,
          NULL, NULL, 0, SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIConnectSegment, desc(), &remote, node_a(), SEGMENT, ADAPTER,
          on_remote, &heard, 0, SCI_FLAG_ASYNCHRONOUS_CONNECT);
}

CONFORMANCE(E, 61, "a callback without USE_CALLBACK is not called")
{
    sci_local_segment_t segment;
    sci_remote_segment_t remote;
    unsigned node;
    begin_as_a();
    SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, on_local, &heard, 0);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    SUCCEEDS(SCIConnectSegment, desc(), &remote, node_a(), SEGMENT, ADAPTER, on_remote, &heard, 0,
             0);
    HOLDS(next(segment, &node) == SCI_CB_CONNECT && node == node_a());
    SUCCEEDS(SCIDisconnectSegment, remote, 0);
    HOLDS(next(segment, &node) == SCI_CB_DISCONNECT);
    HOLDS(atomic_load(&heard.count) == 0);
}

CONFORMANCE(E, 62, "a callback that says CANCEL is not called again")
{
    begin_as_a();
    answer = SCI_CALLBACK_CANCEL;
    sci_local_segment_t segment = offer_heard(SEGMENT);
    sci_remote_segment_t first = connected(node_a(), SEGMENT);
    HOLDS(hear(1) == SCI_CB_CONNECT);
    SUCCEEDS(SCIDisconnectSegment, first, 0);
    (void)connected(node_a(), SEGMENT);
    usleep(50000);
    HOLDS(atomic_load(&heard.count) == 1);
    SUCCEEDS(SCIRemoveSegment, segment, 0);
}

/* What a server does when somebody comes. */
static sem_t done;
static sci_error_t worst;

static void must(sci_error_t error)
{
    if (error != SCI_ERR_OK)
        worst = error;
}

static sci_callback_action_t serve(void *argument, sci_local_segment_t segment,
                                   sci_segment_cb_reason_t reason, unsigned node, unsigned adapter,
                                   sci_error_t error)
{
    sci_local_segment_t made;
    sci_remote_segment_t remote;
    sci_map_t map;
    sci_remote_data_interrupt_t interrupt;
    (void)argument, (void)adapter, (void)error;
    if (reason != SCI_CB_CONNECT)
        return SCI_CALLBACK_CONTINUE;
    must(ERROR_OF(SCICreateSegment, desc(), &made, SEGMENT + 1, SIZE, NULL, NULL, 0));
    must(ERROR_OF(SCIPrepareSegment, made, ADAPTER, 0));
    must(ERROR_OF(SCISetSegmentAvailable, made, ADAPTER, 0));
    must(ERROR_OF(SCIConnectSegment, desc(), &remote, node, SEGMENT + 1, ADAPTER, NULL, NULL,
                  SCI_INFINITE_TIMEOUT, 0));
    if (!options.no_map)
        must(ERROR_OF(SCIMapRemoteSegment, remote, &map, 0, SIZE, NULL, 0));
    must(ERROR_OF(SCIConnectDataInterrupt, desc(), &interrupt, node, ADAPTER, 7, 0, 0));
    must(ERROR_OF(SCITriggerDataInterrupt, interrupt, NULL, 0, 0));
    must(ERROR_OF(SCISetSegmentUnavailable, segment, ADAPTER, 0));
    sem_post(&done);
    return SCI_CALLBACK_CONTINUE;
}

static void await(sem_t *semaphore)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG_MS / 1000;
    HOLDS(sem_timedwait(semaphore, &until) == 0);
}

CONFORMANCE(E, 63, "a callback may use the whole library")
{
    sci_local_segment_t segment;
    sci_local_data_interrupt_t interrupt;
    unsigned number = 7, length = 0;
    begin_as_a();
    sem_init(&done, 0, 0);
    SUCCEEDS(SCICreateDataInterrupt, desc(), &interrupt, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, serve, NULL, SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    (void)connected(SCI_LOCAL_HOST, SEGMENT);
    await(&done);
    EXPECT(SCI_ERR_OK, worst);
    SUCCEEDS(SCIWaitForDataInterrupt, interrupt, NULL, &length, LONG_MS, 0);
}

/* Is slow, tells when it is in there, and does not leave before it was noticed. */
static atomic_bool inside, noticed, removed, late;

static sci_callback_action_t dawdle(void *argument, sci_local_segment_t segment,
                                    sci_segment_cb_reason_t reason, unsigned node, unsigned adapter,
                                    sci_error_t error)
{
    (void)argument, (void)segment, (void)reason, (void)node, (void)adapter, (void)error;
    atomic_store(&inside, true);
    if (atomic_load(&removed))
        atomic_store(&late, true);
    for (int64_t deadline = now_ms() + LONG_MS; !atomic_load(&noticed) && now_ms() < deadline;)
        usleep(100);
    usleep(20000);
    atomic_store(&inside, false);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(E, 64, "after a segment was removed its callback is not entered, nor still running")
{
    sci_local_segment_t segment;
    begin_as_a();
    for (int i = 0; i < 5; i++) {
        atomic_store(&removed, false);
        atomic_store(&noticed, i % 2 != 0);
        SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, dawdle, NULL,
                 SCI_FLAG_USE_CALLBACK);
        SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
        SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
        for (int j = 0; j < 5; j++)
            (void)connected(node_a(), SEGMENT);
        while (i % 2 == 0 && !atomic_load(&inside))
            usleep(100);
        atomic_store(&noticed, true);
        SUCCEEDS(SCIRemoveSegment, segment, 0);
        HOLDS(!atomic_load(&inside));
        atomic_store(&removed, true);
        usleep(5000);
        HOLDS(!atomic_load(&late));
    }
}

/* ---------------------------------------------------------------- beyond the list */

static sci_callback_action_t remove_itself(void *argument, sci_local_segment_t segment,
                                           sci_segment_cb_reason_t reason, unsigned node,
                                           unsigned adapter, sci_error_t error)
{
    (void)argument, (void)reason, (void)node, (void)adapter, (void)error;
    must(ERROR_OF(SCIRemoveSegment, segment, 0));
    sem_post(&done);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 41, "a callback may remove its own segment")
{
    sci_local_segment_t segment;
    begin_as_a();
    sem_init(&done, 0, 0);
    for (int i = 0; i < 20; i++) {
        SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, remove_itself, NULL,
                 SCI_FLAG_USE_CALLBACK);
        SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
        SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
        sci_remote_segment_t remote = connected(node_a(), SEGMENT);
        await(&done);
        EXPECT(SCI_ERR_OK, worst);
        SUCCEEDS(SCIDisconnectSegment, remote, 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSegment, segment, 0);
    }
}

CONFORMANCE(X, 42, "an asynchronous connect tells by its callback what came of it")
{
    sci_remote_segment_t good, bad;
    sci_map_t map;
    begin_as_a();
    (void)offer(SEGMENT, SIZE);
    SUCCEEDS(SCIConnectSegment, desc(), &good, node_a(), SEGMENT, ADAPTER, on_remote, &heard, 0,
             SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT);
    HOLDS(hear(1) == SCI_CB_OPERATIONAL);
    HOLDS(SCIGetRemoteSegmentSize(good) == SIZE);
    SUCCEEDS(SCIConnectSegment, desc(), &bad, node_a(), SEGMENT + 1, ADAPTER, on_remote, &heard, 0,
             SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT);
    HOLDS(hear(2) == SCI_CB_LOST && heard.errors[1] == SCI_ERR_NO_SUCH_SEGMENT);
    HOLDS(SCIGetRemoteSegmentSize(bad) == 0);
    GIVES(SCI_ERR_NOT_CONNECTED, SCIMapRemoteSegment, bad, &map, 0, 1, NULL, 0);
    SUCCEEDS(SCIDisconnectSegment, bad, 0);
    SUCCEEDS(SCIDisconnectSegment, good, 0);
    for (int i = 0; i < 20; i++) { /* at any moment of the connect */
        SUCCEEDS(SCIConnectSegment, desc(), &good, node_a(), SEGMENT, ADAPTER, on_remote, NULL, 0,
                 SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT);
        usleep((useconds_t)(i * 20));
        SUCCEEDS(SCIDisconnectSegment, good, 0);
    }
}

CONFORMANCE(X, 43, "an importer that waits is told to leave, and of the loss, however late it asks")
{
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_GIVES(SCI_ERR_TIMEOUT, b, wait_remote, .timeout = 0);
    S_OK(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, SCI_FLAG_NOTIFY);
    for (unsigned i = 0; i < 2; i++) {
        HOLDS(S_ASK(b, wait_remote, .slot = i, .timeout = LONG_MS).reason == SCI_CB_DISCONNECT);
        S_GIVES(SCI_ERR_TIMEOUT, b, wait_remote, .slot = i, .timeout = 20);
    }
    /* There is no way back from there but the loss. */
    SUCCEEDS(SCISetSegmentAvailable, own.segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, SCI_FLAG_NOTIFY);
    S_GIVES(SCI_ERR_TIMEOUT, b, wait_remote, .timeout = 20);
    SUCCEEDS(SCISetSegmentAvailable, own.segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentUnavailable, own.segment, ADAPTER, SCI_FLAG_FORCE_DISCONNECT);
    for (unsigned i = 0; i < 2; i++)
        HOLDS(S_ASK(b, wait_remote, .slot = i, .timeout = LONG_MS).reason == SCI_CB_LOST);
    unsigned node;
    for (unsigned i = 0; i < 2; i++)
        HOLDS(next(own.segment, &node) == SCI_CB_CONNECT);
    for (unsigned i = 0; i < 2; i++)
        HOLDS(next(own.segment, &node) == SCI_CB_DISCONNECT);
}

CONFORMANCE(X, 44, "a thread that waits for an event can be cancelled")
{
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_remote_segment_t remote = connected(node_a(), SEGMENT);
    unsigned node;
    HOLDS(next(own.segment, &node) == SCI_CB_CONNECT);
    pthread_t threads[2] = {begin(wait_local, own.segment), begin(wait_remote, remote)};
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        HOLDS(pthread_cancel(threads[i]) == 0 && pthread_join(threads[i], &result) == 0);
        HOLDS(result == PTHREAD_CANCELED);
    }
    SUCCEEDS(SCIDisconnectSegment, remote, 0);
    HOLDS(next(own.segment, &node) == SCI_CB_DISCONNECT);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
}
