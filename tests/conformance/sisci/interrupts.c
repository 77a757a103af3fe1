/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 82 to 89: interrupts and data interrupts. */
#include <semaphore.h>

#include "peer.h"

enum { NUMBER = 9573, COUNT = 40 };

static sci_error_t create(sci_local_interrupt_t *made, unsigned number, unsigned flags)
{
    return ERROR_OF(SCICreateInterrupt, desc(), made, ADAPTER, &number, NULL, NULL,
                    SCI_FLAG_FIXED_INTNO | flags);
}

static sci_error_t create_data(sci_local_data_interrupt_t *made, unsigned number)
{
    return ERROR_OF(SCICreateDataInterrupt, desc(), made, ADAPTER, &number, NULL, NULL,
                    SCI_FLAG_FIXED_INTNO);
}

/* ---------------------------------------------------------------- numbers */

CONFORMANCE(I, 82, "fixed numbers are as given; others differ from each other")
{
    static const unsigned numbers[] = {9573, 0x30003, 0, 1, UINT32_MAX, 0x80000000};
    sci_local_interrupt_t made[6], chosen[2];
    sci_local_data_interrupt_t data[2];
    unsigned number[2] = {NUMBER, NUMBER};
    begin_as_a();
    for (int i = 0; i < 6; i++) {
        EXPECT(SCI_ERR_OK, create(&made[i], numbers[i], 0));
        sci_remote_interrupt_t own;
        SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, numbers[i], 0, 0);
        SUCCEEDS(SCITriggerInterrupt, own, 0);
        SUCCEEDS(SCIWaitForInterrupt, made[i], LONG_MS, 0);
        SUCCEEDS(SCIDisconnectInterrupt, own, 0);
    }
    for (int i = 0; i < 2; i++)
        SUCCEEDS(SCICreateInterrupt, desc(), &chosen[i], ADAPTER, &number[i], NULL, NULL, 0);
    HOLDS(number[0] != number[1] && number[0] != NUMBER && number[1] != NUMBER);
    for (int i = 0; i < 2; i++)
        SUCCEEDS(SCICreateDataInterrupt, desc(), &data[i], ADAPTER, &number[i], NULL, NULL, 0);
    HOLDS(number[0] != number[1]);
    for (int i = 0; i < 6; i++)
        SUCCEEDS(SCIRemoveInterrupt, made[i], 0);
    SCITerminate();
}

CONFORMANCE(I, 83, "a number is taken once on a node; both kinds have all numbers; some are shared")
{
    sci_local_interrupt_t first, second, third;
    sci_local_data_interrupt_t data;
    sci_remote_interrupt_t trigger;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&first, NUMBER, 0));
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&second, NUMBER, 0));
    HOLDS(second == NULL);
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&second, NUMBER, SCI_FLAG_SHARED_INT));
    EXPECT(SCI_ERR_OK, create_data(&data, NUMBER));
    SUCCEEDS(SCIRemoveInterrupt, first, 0);
    EXPECT(SCI_ERR_OK, create(&first, NUMBER, SCI_FLAG_SHARED_INT));
    EXPECT(SCI_ERR_OK, create(&second, NUMBER, SCI_FLAG_SHARED_INT));
    EXPECT(SCI_ERR_SEGMENTID_USED, create(&third, NUMBER, 0));
    SUCCEEDS(SCIConnectInterrupt, desc(), &trigger, node_a(), ADAPTER, NUMBER, 0, 0);
    SUCCEEDS(SCITriggerInterrupt, trigger, 0);
    SUCCEEDS(SCIWaitForInterrupt, first, LONG_MS, 0);
    SUCCEEDS(SCIWaitForInterrupt, second, LONG_MS, 0);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, first, 0, 0);
    SCITerminate();
}

CONFORMANCE(I, 84, "connecting to a number that is absent fails at once")
{
    sci_remote_interrupt_t plain = (sci_remote_interrupt_t)8;
    sci_remote_data_interrupt_t data = (sci_remote_data_interrupt_t)8;
    struct actor *b = b_start();
    B_OK(b, create, .number = 5);
    begin_as_a();
    GIVES(SCI_ERR_NO_SUCH_INTNO, SCIConnectInterrupt, desc(), &plain, node_b(), ADAPTER, 6,
          SCI_INFINITE_TIMEOUT, 0);
    HOLDS(plain == NULL);
    GIVES(SCI_ERR_NO_SUCH_INTNO, SCIConnectDataInterrupt, desc(), &data, node_b(), ADAPTER, 5,
          SCI_INFINITE_TIMEOUT, 0);
    HOLDS(data == NULL);
    SUCCEEDS(SCIConnectInterrupt, desc(), &plain, node_b(), ADAPTER, 5, 0, SCI_FLAG_COUNTING_INT);
    SUCCEEDS(SCIDisconnectInterrupt, plain, 0);
    GIVES(SCI_ERR_ILLEGAL_NODEID, SCIConnectInterrupt, desc(), &plain, 0x10000, ADAPTER, 5, 0, 0);
    SCITerminate();
}

/* ---------------------------------------------------------------- counting and waiting */

CONFORMANCE(I, 85, "triggers are remembered and counted, from whomever they come")
{
    sci_local_interrupt_t made;
    sci_remote_interrupt_t own;
    struct actor *b = b_start();
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&made, NUMBER, SCI_FLAG_COUNTING_INT));
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, NUMBER, 0,
             SCI_FLAG_COUNTING_INT);
    B_OK(b, connect, .node = node_a(), .number = NUMBER, .flags = SCI_FLAG_COUNTING_INT);
    B_OK(b, trigger);
    SUCCEEDS(SCIWaitForInterrupt, made, 0, 0);
    B_OK(b, trigger, .count = COUNT);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    for (int i = 0; i < COUNT + 1; i++)
        SUCCEEDS(SCIWaitForInterrupt, made, LONG_MS, 0);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, made, 0, 0);
    SCITerminate();
}

struct waiter {
    pthread_t thread;
    sci_local_interrupt_t interrupt;
    _Atomic pid_t id;
    sci_error_t error;
};

static void *wait_for_ever(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->id, gettid());
    waiter->error = ERROR_OF(SCIWaitForInterrupt, waiter->interrupt, SCI_INFINITE_TIMEOUT, 0);
    return NULL;
}

static void waiter_begin(struct waiter *waiter, sci_local_interrupt_t interrupt)
{
    *waiter = (struct waiter){.interrupt = interrupt, .error = (sci_error_t)NO_ERROR_YET};
    HOLDS(pthread_create(&waiter->thread, NULL, wait_for_ever, waiter) == 0);
    await_sleep(&waiter->id);
}

CONFORMANCE(I, 86, "waits end after their time, by removal and by cancellation, not by signals")
{
    sci_local_interrupt_t made;
    sci_remote_interrupt_t own;
    struct waiter waiters[2];
    void *result;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&made, NUMBER, 0));
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, made, 0, 0);
    alarms_begin();
    int64_t begin = now_ms();
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, made, 200, 0);
    int64_t took = now_ms() - begin;
    HOLDS(took >= 199 && took < LONG_MS);
    /* Cancelled, it takes nothing and holds nothing. */
    waiter_begin(&waiters[0], made);
    HOLDS(pthread_cancel(waiters[0].thread) == 0);
    HOLDS(pthread_join(waiters[0].thread, &result) == 0);
    HOLDS(result == PTHREAD_CANCELED);
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, NUMBER, 0, 0);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    SUCCEEDS(SCIWaitForInterrupt, made, LONG_MS, 0);
    for (int i = 0; i < 2; i++)
        waiter_begin(&waiters[i], made);
    SUCCEEDS(SCIRemoveInterrupt, made, 0);
    for (int i = 0; i < 2; i++) {
        HOLDS(pthread_join(waiters[i].thread, NULL) == 0);
        EXPECT(SCI_ERR_CANCELLED, waiters[i].error);
    }
    alarms_end();
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForInterrupt, made, 0, 0);
    SCITerminate();
}

/* ---------------------------------------------------------------- data */

static const unsigned lengths[] = {0, 1, 48, 80, 90, 256, 1024};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void fill(unsigned char *bytes, unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 7 + length);
}

static void send_all(struct actor *b)
{
    for (unsigned i = 0; i < LENGTHS; i++) {
        struct b_order order = {.data = true, .length = lengths[i]};
        fill(order.bytes, lengths[i]);
        EXPECT(SCI_ERR_OK, b_tell(b, b_trigger, &order));
    }
}

struct received {
    _Atomic unsigned count;
    unsigned lengths[LENGTHS];
    unsigned char bytes[LENGTHS][B_DATA];
    sem_t each;
    pthread_t thread;
    bool blocked; /* all signals were, in the callback */
    sci_callback_action_t answer;
    sci_local_data_interrupt_t handle;
};

static sci_callback_action_t receive(void *argument, sci_local_data_interrupt_t handle, void *data,
                                     unsigned length, sci_error_t status)
{
    struct received *received = argument;
    unsigned number = atomic_load(&received->count);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    received->blocked = sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGTERM) == 1;
    received->thread = pthread_self();
    received->handle = handle;
    if (status == SCI_ERR_OK && number < LENGTHS) {
        received->lengths[number] = length;
        memcpy(received->bytes[number], data, length);
    }
    atomic_store(&received->count, number + 1);
    sem_post(&received->each);
    return received->answer;
}

static void await(sem_t *semaphore)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LONG_MS / 1000;
    int result;
    do
        result = sem_timedwait(semaphore, &end);
    while (result != 0 && errno == EINTR);
    HOLDS(result == 0);
}

CONFORMANCE(I, 87, "messages arrive whole, apart and in order, by wait and by callback")
{
    static struct received received = {.answer = SCI_CALLBACK_CONTINUE};
    sci_local_data_interrupt_t waits, calls;
    unsigned char got[B_DATA], wanted[B_DATA];
    unsigned number = 2, length;
    struct actor *b = b_start();
    begin_as_a();
    sem_init(&received.each, 0, 0);
    EXPECT(SCI_ERR_OK, create_data(&waits, 1));
    SUCCEEDS(SCICreateDataInterrupt, desc(), &calls, ADAPTER, &number, receive, &received,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    length = sizeof got;
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForDataInterrupt, calls, got, &length, 0, 0);
    B_OK(b, connect, .data = true, .node = node_a(), .number = 1);
    send_all(b);
    for (unsigned i = 0; i < LENGTHS; i++) {
        length = sizeof got;
        SUCCEEDS(SCIWaitForDataInterrupt, waits, got, &length, LONG_MS, 0);
        EXPECT((int)lengths[i], (int)length);
        fill(wanted, length);
        HOLDS(memcmp(got, wanted, length) == 0);
    }
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForDataInterrupt, waits, got, &length, 0, 0);
    /* The first bytes of a long one. */
    send_all(b);
    for (unsigned i = 0; i < LENGTHS; i++) {
        length = 48;
        SUCCEEDS(SCIWaitForDataInterrupt, waits, got, &length, LONG_MS, 0);
        EXPECT(lengths[i] < 48 ? (int)lengths[i] : 48, (int)length);
    }
    B_OK(b, connect, .data = true, .node = node_a(), .number = 2);
    send_all(b);
    for (unsigned i = 0; i < LENGTHS; i++)
        await(&received.each);
    SUCCEEDS(SCIRemoveDataInterrupt, calls, 0);
    EXPECT(LENGTHS, (int)atomic_load(&received.count));
    HOLDS(received.blocked && !pthread_equal(received.thread, pthread_self()));
    HOLDS(received.handle == calls);
    for (unsigned i = 0; i < LENGTHS; i++) {
        EXPECT((int)lengths[i], (int)received.lengths[i]);
        fill(wanted, lengths[i]);
        HOLDS(memcmp(received.bytes[i], wanted, lengths[i]) == 0);
    }
    SCITerminate();
}

/* Messages are numbers, one after the other. */
struct stream {
    _Atomic unsigned next;
    _Atomic bool broken;
    unsigned pause_every;
};

static sci_callback_action_t take_next(void *argument, sci_local_data_interrupt_t handle,
                                       void *data, unsigned length, sci_error_t status)
{
    struct stream *stream = argument;
    unsigned number;
    memcpy(&number, data, sizeof number);
    if (status != SCI_ERR_OK || length != sizeof number || number != atomic_load(&stream->next))
        atomic_store(&stream->broken, true);
    atomic_fetch_add(&stream->next, 1);
    if (number % stream->pause_every == 0)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(I, 88, "who triggers without end gets ok or NOSPC, and what was accepted arrives")
{
    enum { MESSAGES = 3000 };
    static struct stream stream = {.pause_every = 500};
    sci_local_data_interrupt_t made, quiet;
    unsigned number = 1;
    struct actor *b = b_start();
    begin_as_a();
    SUCCEEDS(SCICreateDataInterrupt, desc(), &made, ADAPTER, &number, take_next, &stream,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    EXPECT(SCI_ERR_OK, create_data(&quiet, 2));
    B_OK(b, connect, .data = true, .node = node_a(), .number = 1);
    struct b_order sent = {.data = true, .count = MESSAGES, .timeout = LONG_MS / 4};
    EXPECT(SCI_ERR_OK, b_tell(b, b_stream, &sent));
    for (int64_t end = now_ms() + LONG_MS; atomic_load(&stream.next) < sent.count;)
        HOLDS(now_ms() < end);
    HOLDS(!atomic_load(&stream.broken));
    SUCCEEDS(SCIRemoveDataInterrupt, made, 0);
    EXPECT((int)sent.count, (int)atomic_load(&stream.next));
    /* Where nobody takes anything the sender is not made to wait. */
    B_OK(b, connect, .data = true, .node = node_a(), .number = 2);
    struct b_order flood = {.data = true, .length = 8, .count = 100000};
    EXPECT((int)SCI_ERR_NOSPC, b_tell(b, b_trigger, &flood));
    HOLDS(flood.count >= 64);
    unsigned char got[16];
    for (unsigned i = 0; i < flood.count; i++) {
        unsigned length = sizeof got;
        SUCCEEDS(SCIWaitForDataInterrupt, quiet, got, &length, LONG_MS, 0);
    }
    unsigned length = sizeof got;
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForDataInterrupt, quiet, got, &length, 0, 0);
    B_OK(b, trigger, .data = true);
    SCITerminate();
}

CONFORMANCE(I, 89, "triggering where the receiver was removed or killed neither blocks nor crashes")
{
    sci_remote_interrupt_t plain;
    sci_remote_data_interrupt_t data;
    struct actor *all[3]; /* one after the other, but forked before this process has handles */
    for (int i = 0; i < 3; i++)
        all[i] = b_start();
    for (int killed = 0; killed < 2; killed++) {
        struct actor *b = all[killed];
        B_OK(b, create, .number = 1);
        B_OK(b, create, .data = true, .number = 1);
        begin_as_a();
        SUCCEEDS(SCIConnectInterrupt, desc(), &plain, node_b(), ADAPTER, 1, 0, 0);
        SUCCEEDS(SCIConnectDataInterrupt, desc(), &data, node_b(), ADAPTER, 1, 0, 0);
        SUCCEEDS(SCITriggerInterrupt, plain, 0);
        if (killed) {
            actor_kill(b);
        } else {
            B_OK(b, remove);
            B_OK(b, remove, .data = true);
        }
        for (int i = 0; i < 100; i++) {
            SUCCEEDS(SCITriggerInterrupt, plain, 0);
            /* The daemon hears of a process that was killed a moment later. */
            sci_error_t error = ERROR_OF(SCITriggerDataInterrupt, data, &i, sizeof i, 0);
            HOLDS(error == SCI_ERR_NOT_CONNECTED || (killed && error == SCI_ERR_OK));
        }
        SUCCEEDS(SCIDisconnectInterrupt, plain, 0);
        SUCCEEDS(SCIDisconnectDataInterrupt, data, 0);
    }
    /* Whoever comes after has the numbers at once. */
    struct actor *b = all[2];
    B_OK(b, create, .number = 1);
    B_OK(b, create, .data = true, .number = 1);
    SUCCEEDS(SCIConnectInterrupt, desc(), &plain, node_b(), ADAPTER, 1, 0, 0);
    SUCCEEDS(SCITriggerInterrupt, plain, 0);
    B_OK(b, wait, .timeout = LONG_MS);
    SCITerminate();
}
