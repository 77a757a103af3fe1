/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: callbacks share threads, and wait for each other nevertheless. */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "dma.h"

static bool await(sem_t *semaphore)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_MS / 1000;
    return sem_timedwait(semaphore, &end) == 0;
}

/* ---------------------------------------------------------------- the kernel */

enum { FUTEX_WAITV = 449 };

static bool sleeps_on_several(void)
{
    return syscall(FUTEX_WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
}

/* As a kernel before Linux 5.16. */
static void forget_futex_waitv(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAITV, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    HOLDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    HOLDS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
    HOLDS(!sleeps_on_several());
}

/* ---------------------------------------------------------------- how many threads */

static int threads_now(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    HOLDS(tasks != NULL);
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A thread that is not needed any more may stay for a while. */
static void await_threads(int wanted)
{
    for (int64_t end = now_ms() + LONG_MS; threads_now() > wanted; usleep(10000))
        HOLDS(now_ms() < end);
}

static void *end_at_once(void *unused)
{
    return unused;
}

static sci_callback_action_t post_interrupt(void *semaphore, sci_local_interrupt_t interrupt,
                                            sci_error_t status)
{
    sem_post(semaphore);
    return SCI_CALLBACK_CONTINUE;
}

static sci_callback_action_t post_dma(void *semaphore, sci_dma_queue_t queue, sci_error_t status)
{
    sem_post(semaphore);
    return SCI_CALLBACK_CONTINUE;
}

static sci_local_interrupt_t call_on(unsigned number, sci_cb_interrupt_t callback, void *argument)
{
    sci_local_interrupt_t made;
    SUCCEEDS(SCICreateInterrupt, desc(), &made, ADAPTER, &number, callback, argument,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    return made;
}

static sci_remote_interrupt_t own(unsigned number)
{
    sci_remote_interrupt_t made;
    SUCCEEDS(SCIConnectInterrupt, desc(), &made, node_a(), ADAPTER, number, 0, 0);
    return made;
}

CONFORMANCE(X, 30, "32 interrupts and 4 queues with callbacks have two threads, and then none")
{
    enum { INTERRUPTS = 32, QUEUES = 4, THREADS = 2 };
    static sem_t called;
    sci_local_interrupt_t made[INTERRUPTS];
    sci_dma_queue_t queues[QUEUES];
    APPLIES_IF(sleeps_on_several(), "this kernel has no futex_waitv");
    pthread_t first;
    struct dma dma = dma_begin(SIZE);
    /* With the first thread a sanitizer begins its own. */
    HOLDS(pthread_create(&first, NULL, end_at_once, NULL) == 0 && pthread_join(first, NULL) == 0);
    int before = threads_now();
    sem_init(&called, 0, 0);
    for (unsigned i = 0; i < INTERRUPTS; i++)
        made[i] = call_on(i, post_interrupt, &called);
    for (unsigned i = 0; i < QUEUES; i++) {
        queues[i] = dma_queue(1);
        SUCCEEDS(SCIStartDmaTransfer, queues[i], dma.local, dma.remote, 0, 8, 0, post_dma, &called,
                 SCI_FLAG_USE_CALLBACK);
        HOLDS(await(&called));
    }
    await_threads(before + THREADS);
    /* With these, each of them is called. */
    for (unsigned i = 0; i < INTERRUPTS; i++) {
        sci_remote_interrupt_t trigger = own(i);
        SUCCEEDS(SCITriggerInterrupt, trigger, 0);
        HOLDS(await(&called));
        SUCCEEDS(SCIDisconnectInterrupt, trigger, 0);
    }
    await_threads(before + THREADS);
    for (unsigned i = 0; i < INTERRUPTS; i++)
        SUCCEEDS(SCIRemoveInterrupt, made[i], 0);
    for (unsigned i = 0; i < QUEUES; i++)
        SUCCEEDS(SCIRemoveDMAQueue, queues[i], 0);
    await_threads(before);
}

/* ---------------------------------------------------------------- callbacks that wait */

/* A chain of resources. The callback of each makes an interrupt, rouses the next one, and waits
 * until that one has connected back and the callback of the interrupt has been called. */
enum { DEPTH = 8, ANSWER = 1000 };

static struct level {
    unsigned at;
    atomic_bool wrong;
    atomic_uint calls;
    sci_local_segment_t segment; /* of the odd ones */
} levels[DEPTH];
static sem_t chain_has_ended;

static bool rouse(unsigned at)
{
    sci_remote_interrupt_t interrupt;
    sci_remote_segment_t segment;
    if (at % 2 != 0)
        return ERROR_OF(SCIConnectSegment, desc(), &segment, node_a(), SEGMENT + at, ADAPTER, NULL,
                        NULL, 0, 0) == SCI_ERR_OK;
    return ERROR_OF(SCIConnectInterrupt, desc(), &interrupt, node_a(), ADAPTER, at, 0, 0) ==
               SCI_ERR_OK &&
           ERROR_OF(SCITriggerInterrupt, interrupt, 0) == SCI_ERR_OK;
}

static bool rouse_next_and_wait(unsigned at)
{
    sci_local_interrupt_t answer;
    unsigned number = ANSWER + at;
    sem_t answered;
    sem_init(&answered, 0, 0);
    if (ERROR_OF(SCICreateInterrupt, desc(), &answer, ADAPTER, &number, post_interrupt, &answered,
                 SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK) != SCI_ERR_OK)
        return false;
    return rouse(at + 1) && await(&answered) &&
           ERROR_OF(SCIRemoveInterrupt, answer, 0) == SCI_ERR_OK;
}

static bool answer_previous(unsigned at)
{
    sci_remote_interrupt_t answer;
    return ERROR_OF(SCIConnectInterrupt, desc(), &answer, node_a(), ADAPTER, ANSWER + at - 1, 0,
                    0) == SCI_ERR_OK &&
           ERROR_OF(SCITriggerInterrupt, answer, 0) == SCI_ERR_OK &&
           ERROR_OF(SCIDisconnectInterrupt, answer, 0) == SCI_ERR_OK;
}

static void descend(struct level *level)
{
    bool right = atomic_fetch_add(&level->calls, 1) == 0;
    right = right && (level->at + 1 == DEPTH || rouse_next_and_wait(level->at));
    right = right && (level->at == 0 || answer_previous(level->at));
    atomic_store(&level->wrong, !right);
    if (level->at == 0)
        sem_post(&chain_has_ended);
}

static sci_callback_action_t descend_by_interrupt(void *level, sci_local_interrupt_t interrupt,
                                                  sci_error_t status)
{
    descend(level);
    return SCI_CALLBACK_CONTINUE;
}

static sci_callback_action_t descend_by_segment(void *level, sci_local_segment_t segment,
                                                sci_segment_cb_reason_t reason, unsigned node,
                                                unsigned adapter, sci_error_t error)
{
    if (reason == SCI_CB_CONNECT)
        descend(level);
    return SCI_CALLBACK_CONTINUE;
}

static void make_level(struct level *level, unsigned at)
{
    level->at = at;
    if (at % 2 == 0) {
        (void)call_on(at, descend_by_interrupt, level);
        return;
    }
    SUCCEEDS(SCICreateSegment, desc(), &level->segment, SEGMENT + at, SIZE, descend_by_segment,
             level, SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIPrepareSegment, level->segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, level->segment, ADAPTER, 0);
}

static void go_down_and_up(void)
{
    begin_as_a();
    sem_init(&chain_has_ended, 0, 0);
    for (unsigned at = 0; at < DEPTH; at++)
        make_level(&levels[at], at);
    HOLDS(rouse(0));
    HOLDS(await(&chain_has_ended));
    for (unsigned at = 0; at < DEPTH; at++)
        HOLDS(levels[at].calls == 1 && !levels[at].wrong);
    SCITerminate();
}

CONFORMANCE(X, 31, "callbacks connect back and wait for callbacks of other resources, eight deep")
{
    go_down_and_up();
}

CONFORMANCE(X, 32, "the same where the kernel sleeps on one event only")
{
    forget_futex_waitv();
    go_down_and_up();
}

/* ---------------------------------------------------------------- each by itself */

enum { BUSY = 5, TRIGGERS = 400, TRIGGERING = 3 };

static struct busy {
    atomic_uint inside, calls;
    atomic_bool together; /* two calls ran at a time */
} busy[BUSY];
static atomic_uint triggered;

static sci_callback_action_t be_inside(void *argument, sci_local_interrupt_t interrupt,
                                       sci_error_t status)
{
    struct busy *own_busy = argument;
    if (atomic_fetch_add(&own_busy->inside, 1) != 0)
        atomic_store(&own_busy->together, true);
    if (atomic_fetch_add(&own_busy->calls, 1) % 64 == 0)
        usleep(500);
    atomic_fetch_sub(&own_busy->inside, 1);
    return SCI_CALLBACK_CONTINUE;
}

static void *trigger_all(void *triggers)
{
    const sci_remote_interrupt_t *all = triggers;
    for (unsigned i = 0; i < TRIGGERS; i++)
        for (unsigned which = 0; which < BUSY; which++)
            atomic_fetch_add(&triggered,
                             ERROR_OF(SCITriggerInterrupt, all[which], 0) == SCI_ERR_OK);
    return NULL;
}

static unsigned calls_of_all(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < BUSY; i++)
        sum += atomic_load(&busy[i].calls);
    return sum;
}

static void trigger_by_threads(void)
{
    sci_remote_interrupt_t triggers[BUSY];
    sci_local_interrupt_t made[BUSY];
    pthread_t threads[TRIGGERING];
    begin_as_a();
    for (unsigned i = 0; i < BUSY; i++) {
        made[i] = call_on(i, be_inside, &busy[i]);
        triggers[i] = own(i);
    }
    for (int i = 0; i < TRIGGERING; i++)
        HOLDS(pthread_create(&threads[i], NULL, trigger_all, triggers) == 0);
    for (int i = 0; i < TRIGGERING; i++)
        HOLDS(pthread_join(threads[i], NULL) == 0);
    EXPECT(BUSY * TRIGGERS * TRIGGERING, (int)triggered);
    for (int64_t end = now_ms() + LONG_MS; calls_of_all() < triggered; usleep(1000))
        HOLDS(now_ms() < end);
    for (unsigned i = 0; i < BUSY; i++)
        SUCCEEDS(SCIRemoveInterrupt, made[i], 0);
    for (unsigned i = 0; i < BUSY; i++) {
        EXPECT(TRIGGERS * TRIGGERING, (int)busy[i].calls);
        HOLDS(!busy[i].together);
    }
    SCITerminate();
}

CONFORMANCE(X, 33, "five callbacks at once: as many calls as triggers, each after the one before")
{
    trigger_by_threads();
}

CONFORMANCE(X, 34, "the same where the kernel sleeps on one event only")
{
    forget_futex_waitv();
    trigger_by_threads();
}

/* ---------------------------------------------------------------- more than one sleep takes */

CONFORMANCE(X, 35, "of three hundred interrupts each is called, and removed at once")
{
    enum { MANY = 300 };
    static sci_local_interrupt_t made[MANY];
    static sem_t called;
    begin_as_a();
    sem_init(&called, 0, 0);
    for (unsigned i = 0; i < MANY; i++)
        made[i] = call_on(i, post_interrupt, &called);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < MANY; i++) {
            sci_remote_interrupt_t trigger = own((i * 131) % MANY);
            SUCCEEDS(SCITriggerInterrupt, trigger, 0);
            HOLDS(await(&called));
            SUCCEEDS(SCIDisconnectInterrupt, trigger, 0);
        }
    for (unsigned i = 0; i < MANY; i++)
        SUCCEEDS(SCIRemoveInterrupt, made[i], 0);
    SCITerminate();
}

/* ---------------------------------------------------------------- a thread that goes */

static sci_callback_action_t leave(void *called, sci_local_interrupt_t interrupt,
                                   sci_error_t status)
{
    sem_post(called);
    pthread_exit(NULL);
}

CONFORMANCE(X, 36, "a callback that ends its thread ends only its own calls, and can be removed")
{
    static sem_t left, called;
    begin_as_a();
    sem_init(&left, 0, 0);
    sem_init(&called, 0, 0);
    sci_local_interrupt_t leaves = call_on(1, leave, &left);
    sci_local_interrupt_t stays = call_on(2, post_interrupt, &called);
    SUCCEEDS(SCITriggerInterrupt, own(1), 0);
    HOLDS(await(&left));
    SUCCEEDS(SCITriggerInterrupt, own(2), 0);
    HOLDS(await(&called));
    SUCCEEDS(SCIRemoveInterrupt, leaves, 0);
    SUCCEEDS(SCIRemoveInterrupt, stays, 0);
    SCITerminate();
}
