/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: callbacks end what other threads are ending at that moment. */
#include <semaphore.h>

#include "sisci.h"

/* A callback that waits until it is let go, and then ends something. */
struct ender {
    sem_t entered, may_go, has_ended;
    _Atomic(sci_local_interrupt_t) remove;
    _Atomic(sci_desc_t) close;
    sci_error_t error;
};

static struct timespec soon(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_MS / 1000;
    return end;
}

static bool await(sem_t *semaphore)
{
    const struct timespec end = soon();
    return sem_timedwait(semaphore, &end) == 0;
}

static sci_callback_action_t end_something(void *argument, sci_local_interrupt_t interrupt,
                                           sci_error_t status)
{
    struct ender *ender = argument;
    sem_post(&ender->entered);
    (void)await(&ender->may_go);
    ender->error = ender->close != NULL
                       ? ERROR_OF(SCIClose, atomic_load(&ender->close), 0)
                       : ERROR_OF(SCIRemoveInterrupt, atomic_load(&ender->remove), 0);
    sem_post(&ender->has_ended);
    return SCI_CALLBACK_CONTINUE;
}

/* An interrupt of a descriptor, whose callback runs when this returns. */
static sci_local_interrupt_t enter_callback(sci_desc_t owner, unsigned number, struct ender *ender)
{
    sci_local_interrupt_t made;
    sci_remote_interrupt_t own;
    sem_init(&ender->entered, 0, 0);
    sem_init(&ender->may_go, 0, 0);
    sem_init(&ender->has_ended, 0, 0);
    SUCCEEDS(SCICreateInterrupt, owner, &made, ADAPTER, &number, end_something, ender,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, number, 0, 0);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    HOLDS(await(&ender->entered));
    return made;
}

/* Somebody has begun to remove it. */
static void await_stale(sci_local_interrupt_t interrupt)
{
    for (int64_t end = now_ms() + LONG_MS;
         ERROR_OF(SCIWaitForInterrupt, interrupt, 0, 0) != SCI_ERR_ILLEGAL_PARAMETER; usleep(1000))
        HOLDS(now_ms() < end);
}

static void *remove_it(void *interrupt)
{
    return (void *)(uintptr_t)ERROR_OF(SCIRemoveInterrupt, interrupt, 0);
}

CONFORMANCE(X, 16, "a callback closes the descriptor of its interrupt, which a thread is removing")
{
    static struct ender closes;
    sci_local_interrupt_t made, beside;
    sci_desc_t other;
    pthread_t thread;
    unsigned number = 2;
    void *error;
    begin_as_a();
    SUCCEEDS(SCIOpen, &other, 0);
    made = enter_callback(other, 1, &closes);
    SUCCEEDS(SCICreateInterrupt, other, &beside, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    closes.close = other;
    HOLDS(pthread_create(&thread, NULL, remove_it, made) == 0);
    await_stale(made);
    usleep(20000); /* it waits for the callback by now */
    sem_post(&closes.may_go);
    const struct timespec end = soon();
    HOLDS(await(&closes.has_ended));
    HOLDS(pthread_timedjoin_np(thread, &error, &end) == 0);
    EXPECT(SCI_ERR_OK, (int)(uintptr_t)error);
    EXPECT(SCI_ERR_OK, closes.error);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, other, 0);
    for (number = 1; number <= 2; number++)
        SUCCEEDS(SCICreateInterrupt, desc(), &made, ADAPTER, &number, NULL, NULL,
                 SCI_FLAG_FIXED_INTNO);
    SCITerminate(); /* waits for all descriptors */
}

CONFORMANCE(X, 17, "a callback closes the descriptor of an interrupt that another one removes")
{
    static struct ender removes, closes;
    sci_local_interrupt_t made;
    sci_desc_t other;
    begin_as_a();
    SUCCEEDS(SCIOpen, &other, 0);
    (void)enter_callback(other, 1, &removes);
    made = enter_callback(other, 2, &closes);
    removes.remove = made;
    closes.close = other;
    sem_post(&removes.may_go);
    await_stale(made);
    usleep(20000); /* the one waits for the other by now */
    sem_post(&closes.may_go);
    HOLDS(await(&closes.has_ended));
    HOLDS(await(&removes.has_ended));
    EXPECT(SCI_ERR_OK, closes.error);
    EXPECT(SCI_ERR_OK, removes.error);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, other, 0);
    SCITerminate();
}
