/* SPDX-License-Identifier: BSD-3-Clause */
/* SISCI, where a second thread does what ends or changes the same thing, at each step of the first: whenever that one is
 * about to take a lock, has taken one, or has released one. */
#include <malloc.h>
#include <semaphore.h>
#include <sisci_api.h>

#include "in_front.h"
#include "party.h"

enum {
    ID = PARTY_ID,
    LENGTH = PARTY_PAGE,
    STEPS_MAX = 400,
    PATIENCE_MS = 30, /* for the second thread, where it waits for a lock of the first */
    MARK = 0x5c1,     /* what all handles have ... */
    MARK_SHIFT = 52,
};

/* ---------------------------------------------------------------- steps */

/* The second thread, and at which step of the first it is let go. */
static struct {
    void (*act)(void);
    sem_t may_begin, has_ended;
    pthread_t thread;
    unsigned at;
} second;

static __thread bool counts;   /* this thread is the first */
static __thread unsigned step; /* that it has come to */

static void pass_step(void)
{
    if (!counts || step++ != second.at)
        return;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += PATIENCE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    sem_post(&second.may_begin);
    if (sem_timedwait(&second.has_ended, &end) == 0)
        sem_post(&second.has_ended);
}

typedef int mutex_function(pthread_mutex_t *mutex);

static mutex_function *function_behind(const char *name)
{
    mutex_function *function;
    void *found = behind(name);
    memcpy(&function, &found, sizeof function);
    return function;
}

IN_FRONT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic lock;
    if (lock == NULL)
        lock = function_behind("pthread_mutex_lock");
    pass_step();
    int error = lock(mutex);
    pass_step();
    return error;
}

IN_FRONT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic unlock;
    if (unlock == NULL)
        unlock = function_behind("pthread_mutex_unlock");
    int error = unlock(mutex);
    pass_step();
    return error;
}

static void *run_second(void *unused)
{
    while (sem_wait(&second.may_begin) != 0)
        continue;
    second.act();
    sem_post(&second.has_ended);
    return NULL;
}

/* From now on the calling thread is the first; at step `at` the other one does `act`. */
static int begin_steps(unsigned at, void (*act)(void))
{
    second.act = act;
    second.at = at;
    sem_init(&second.may_begin, 0, 0);
    sem_init(&second.has_ended, 0, 0);
    NEED(pthread_create(&second.thread, NULL, run_second, NULL) == 0);
    step = 0;
    counts = true;
    return 0;
}

/* Both have come to their end; whether the first came to the step at all. */
static bool end_steps(void)
{
    bool reached = step > second.at;
    counts = false;
    if (!reached)
        sem_post(&second.may_begin);
    pthread_join(second.thread, NULL);
    sem_destroy(&second.may_begin);
    sem_destroy(&second.has_ended);
    return reached;
}

/* ---------------------------------------------------------------- what both use */

static sci_desc_t desc;
static sci_local_segment_t segment;

static int begin_library(void)
{
    sci_error_t error;
    mallopt(M_PERTURB, 0x5a); /* who reads what has been freed finds no handle there */
    SCIInitialize(0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

static int make_segment(void)
{
    sci_error_t error;
    SCIOpen(&desc, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCICreateSegment(desc, &segment, ID, LENGTH, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

static bool is_handle(const void *bits)
{
    return (uintptr_t)bits >> MARK_SHIFT == MARK;
}

static void close_desc(void)
{
    sci_error_t error;
    SCIClose(desc, 0, &error);
}

/* ---------------------------------------------------------------- handles */

/* The map, or the error that there may be. */
static int map_once(unsigned at, bool *reached)
{
    sci_error_t error;
    sci_map_t map = NULL;
    NEED(make_segment() == 0);
    NEED(begin_steps(at, close_desc) == 0);
    const void *address = SCIMapLocalSegment(segment, &map, 0, LENGTH, NULL, 0, &error);
    *reached = end_steps();
    NEED(error == SCI_ERR_OK || error == SCI_ERR_ILLEGAL_PARAMETER);
    NEED((error == SCI_ERR_OK) == (address != NULL));
    NEED(error == SCI_ERR_OK ? is_handle(map) : map == NULL);
    return 0;
}

static int map_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    NEED(begin_library() == 0);
    bool reached = true;
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps)
        NEED(map_once(*steps, &reached) == 0);
    SCITerminate();
    return 0;
}

/* A map of a segment whose descriptor is closed at any moment is a map, or an error. */
WORLD_TEST(descriptor_is_closed_while_mapping)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(world, 1), map_at_each_step, &steps, sizeof steps), 0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

static int open_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    bool reached = true;
    sci_error_t error;
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps) {
        NEED(begin_library() == 0);
        NEED(begin_steps(*steps, SCITerminate) == 0);
        SCIOpen(&desc, 0, &error);
        reached = end_steps();
        NEED(error == SCI_ERR_OK);
        NEED(is_handle(desc));
        SCITerminate();
    }
    return 0;
}

WORLD_TEST(library_is_terminated_while_opening)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(world, 1), open_at_each_step, &steps, sizeof steps), 0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

/* ---------------------------------------------------------------- DMA */

/* A queue, and what the second thread has come to with it. */
static struct {
    sci_dma_queue_t queue;
    sci_remote_segment_t remote;
    sci_error_t reset, enqueued;
} dma;

enum { FIRST = 8, SECOND = 16 }; /* places that the two threads transfer to */

static sci_error_t enqueue(unsigned place, unsigned flags)
{
    sci_error_t error;
    (void)SCIEnqueueDMATransfer(dma.queue, segment, dma.remote, 0, place, 8, flags, &error);
    return error;
}

static void reset_and_enqueue(void)
{
    SCIResetDMAQueue(dma.queue, 0, &dma.reset);
    dma.enqueued = enqueue(SECOND, 0);
}

/* The segment's memory; NULL: something has failed. */
static uint64_t *begin_dma(void)
{
    sci_map_t map;
    sci_error_t errors[5] = {SCI_ERR_OK};
    if (make_segment() != 0)
        return NULL;
    SCIPrepareSegment(segment, 0, 0, &errors[0]);
    SCISetSegmentAvailable(segment, 0, 0, &errors[1]);
    SCIConnectSegment(desc, &dma.remote, 1, ID, 0, NULL, NULL, 0, 0, &errors[2]);
    uint64_t *bytes = SCIMapLocalSegment(segment, &map, 0, LENGTH, NULL, 0, &errors[3]);
    SCICreateDMAQueue(desc, &dma.queue, 0, 4, 0, &errors[4]);
    for (int i = 0; i < 5; i++)
        if (errors[i] != SCI_ERR_OK)
            return NULL;
    return bytes;
}

/* The queue's contents, posted, move what the second thread has enqueued, and nothing of the first. */
static int check_contents(const volatile uint64_t *bytes)
{
    sci_error_t error;
    NEED(SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_GATHER);
    SCIPostDMAQueue(dma.queue, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    NEED(SCIWaitForDMAQueue(dma.queue, SCI_INFINITE_TIMEOUT, 0, &error) == SCI_DMAQUEUE_DONE);
    NEED(bytes[FIRST / 8] == 0 && bytes[SECOND / 8] == 1);
    return 0;
}

/* It cannot be posted, because there is no thread. */
static int enqueue_once(unsigned at, bool *reached)
{
    uint64_t *bytes = begin_dma();
    NEED(bytes != NULL);
    bytes[0] = 1;
    NEED(begin_steps(at, reset_and_enqueue) == 0);
    no_threads = true;
    NEED(enqueue(FIRST, SCI_FLAG_DMA_POST) == SCI_ERR_NOSPC);
    no_threads = false;
    *reached = end_steps();
    if (dma.enqueued == SCI_ERR_OK)
        NEED(check_contents(bytes) == 0);
    else /* it came while the other's entry was being posted */
        NEED(dma.enqueued == SCI_ERR_ILLEGAL_OPERATION &&
             SCIDMAQueueState(dma.queue) == SCI_DMAQUEUE_IDLE);
    close_desc();
    return 0;
}

static int enqueue_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    bool reached = true;
    NEED(begin_library() == 0);
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps)
        NEED(enqueue_once(*steps, &reached) == 0);
    SCITerminate();
    return 0;
}

/* Who takes back an entry that could not be posted takes back no other one. */
WORLD_TEST(queue_is_reset_while_posting)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(world, 1), enqueue_at_each_step, &steps, sizeof steps),
                     0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

/* ---------------------------------------------------------------- callbacks */

/* What the first thread removes a part of, and a callback closes. */
static struct {
    sci_map_t map;
    sci_sequence_t sequence;
    sci_remote_interrupt_t trigger;
    sem_t closed;
} parts;

static sci_callback_action_t close_in_callback(void *unused, sci_local_interrupt_t interrupt,
                                               sci_error_t status)
{
    close_desc();
    sem_post(&parts.closed);
    return SCI_CALLBACK_CONTINUE;
}

static void let_callback_close(void)
{
    sci_error_t error;
    SCITriggerInterrupt(parts.trigger, 0, &error);
    while (sem_wait(&parts.closed) != 0)
        continue;
}

static int make_parts(sci_desc_t other)
{
    sci_local_interrupt_t interrupt;
    sci_remote_segment_t remote;
    sci_error_t errors[8] = {SCI_ERR_OK};
    unsigned number = 1;
    NEED(make_segment() == 0);
    SCIPrepareSegment(segment, 0, 0, &errors[0]);
    SCISetSegmentAvailable(segment, 0, 0, &errors[1]);
    SCIConnectSegment(desc, &remote, 1, ID, 0, NULL, NULL, 0, 0, &errors[2]);
    SCIMapRemoteSegment(remote, &parts.map, 0, LENGTH, NULL, 0, &errors[3]);
    SCICreateMapSequence(parts.map, &parts.sequence, 0, &errors[4]);
    SCICreateInterrupt(other, &interrupt, 0, &number, close_in_callback, NULL,
                       SCI_FLAG_USE_CALLBACK, &errors[5]);
    SCIConnectInterrupt(other, &parts.trigger, 1, 0, number, 0, 0, &errors[6]);
    for (int i = 0; i < 7; i++)
        NEED(errors[i] == SCI_ERR_OK);
    return 0;
}

static int remove_once(unsigned at, bool *reached)
{
    sci_desc_t other;
    sci_error_t error;
    SCIOpen(&other, 0, &error);
    NEED(error == SCI_ERR_OK && make_parts(other) == 0);
    NEED(begin_steps(at, let_callback_close) == 0);
    SCIRemoveSequence(parts.sequence, 0, &error);
    *reached = end_steps();
    NEED(error == SCI_ERR_OK || error == SCI_ERR_ILLEGAL_PARAMETER);
    SCIUnmapSegment(parts.map, 0, &error);
    NEED(error == SCI_ERR_ILLEGAL_PARAMETER);
    /* The id is free, and so is all that is left with the other descriptor. */
    NEED(make_segment() == 0);
    close_desc();
    SCIClose(other, 0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

static int remove_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    bool reached = true;
    NEED(begin_library() == 0);
    sem_init(&parts.closed, 0, 0);
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps)
        NEED(remove_once(*steps, &reached) == 0);
    SCITerminate();
    return 0;
}

/* Whoever removes the sequence ends the map, the connection and the descriptor that the callback has left to it. */
WORLD_TEST(descriptor_is_closed_in_a_callback_while_removing)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(world, 1), remove_at_each_step, &steps, sizeof steps),
                     0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

/* ---------------------------------------------------------------- fork */

enum { CHILD_S = 20 };

static atomic_uint children, failed_children;

static sci_callback_action_t count_call(void *count, sci_local_interrupt_t interrupt,
                                        sci_error_t status)
{
    atomic_fetch_add((atomic_uint *)count, 1);
    return SCI_CALLBACK_CONTINUE;
}

/* An interrupt with a callback, and a segment: with adapter, connection and thread. */
static int use_everything(unsigned id)
{
    atomic_uint calls = 0;
    sci_local_segment_t local;
    sci_local_interrupt_t interrupt;
    sci_remote_interrupt_t trigger;
    sci_remote_segment_t remote;
    sci_error_t errors[9] = {SCI_ERR_OK};
    unsigned number = 0;
    SCICreateSegment(desc, &local, id, LENGTH, NULL, NULL, 0, &errors[0]);
    SCIPrepareSegment(local, 0, 0, &errors[1]);
    SCISetSegmentAvailable(local, 0, 0, &errors[2]);
    SCIConnectSegment(desc, &remote, 1, id, 0, NULL, NULL, 0, 0, &errors[3]);
    SCICreateInterrupt(desc, &interrupt, 0, &number, count_call, &calls, SCI_FLAG_USE_CALLBACK,
                       &errors[4]);
    SCIConnectInterrupt(desc, &trigger, 1, 0, number, 0, 0, &errors[5]);
    SCITriggerInterrupt(trigger, 0, &errors[6]);
    while (atomic_load(&calls) == 0)
        usleep(100);
    SCIRemoveInterrupt(interrupt, 0, &errors[7]);
    SCIRemoveSegment(local, 0, &errors[8]);
    for (int i = 0; i < 9; i++)
        if (errors[i] != SCI_ERR_OK)
            fprintf(stderr, "process %d: call %d of use_everything() ends with error 0x%x\n",
                    (int)getpid(), i, errors[i]);
    for (int i = 0; i < 9; i++)
        NEED(errors[i] == SCI_ERR_OK);
    return 0;
}

static int use_in_child(void)
{
    sci_error_t error;
    alarm(CHILD_S); /* for hangs */
    SCIInitialize(0, &error);
    SCIOpen(&desc, 0, &error);
    NEED(error == SCI_ERR_OK);
    NEED(use_everything(ID + 1) == 0);
    SCITerminate();
    return 0;
}

static void fork_and_use(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(use_in_child() == 0 ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the child of step %u ends with wait status 0x%x\n", second.at, status);
        atomic_fetch_add(&failed_children, 1);
    }
    atomic_fetch_add(&children, 1);
}

static int fork_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    bool reached = true;
    sci_error_t error;
    NEED(begin_library() == 0);
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps) {
        SCIOpen(&desc, 0, &error);
        NEED(error == SCI_ERR_OK);
        NEED(begin_steps(*steps, fork_and_use) == 0);
        NEED(use_everything(ID) == 0);
        reached = end_steps();
        NEED(failed_children == 0);
        close_desc();
    }
    NEED(children == *steps);
    SCITerminate();
    return 0;
}

/* A child can use the library, at whatever moment of another thread of its parent it was forked. */
WORLD_TEST(process_forks_while_a_thread_is_at_work)
{
    unsigned steps = 0;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it has no fork handlers: a child finds the locks of its allocator as they were */
#endif
    assert_int_equal(actor_run(actor_start(world, 1), fork_at_each_step, &steps, sizeof steps), 0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}
