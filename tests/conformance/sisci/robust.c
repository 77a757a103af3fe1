/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: hostile arguments, callbacks that end what they belong to, threads,
 * growth. */
#include <semaphore.h>

#include "peer.h"

static void await_count(const _Atomic unsigned *count, unsigned wanted)
{
    for (int64_t end = now_ms() + LONG_MS; atomic_load(count) < wanted;) {
        HOLDS(now_ms() < end);
        usleep(1000);
    }
}

static sci_error_t create(sci_local_interrupt_t *made, unsigned number, sci_cb_interrupt_t callback,
                          void *argument)
{
    return ERROR_OF(SCICreateInterrupt, desc(), made, ADAPTER, &number, callback, argument,
                    SCI_FLAG_FIXED_INTNO | (callback != NULL ? SCI_FLAG_USE_CALLBACK : 0));
}

static sci_remote_interrupt_t connect_own(unsigned number)
{
    sci_remote_interrupt_t own;
    SUCCEEDS(SCIConnectInterrupt, desc(), &own, node_a(), ADAPTER, number, 0, 0);
    return own;
}

/* ---------------------------------------------------------------- hostile arguments */

/* Whatever takes a handle, with one that is none of its kind. */
static void refuse_handle(void *handle)
{
    char bytes[8];
    unsigned length = sizeof bytes, number = 1;
    void *made;
    const sci_error_t refused = SCI_ERR_ILLEGAL_PARAMETER;
    GIVES(refused, SCIClose, handle, 0);
    GIVES(refused, SCIProbeNode, handle, ADAPTER, node_a(), 0);
    GIVES(refused, SCICreateInterrupt, handle, (sci_local_interrupt_t *)&made, ADAPTER, &number,
          NULL, NULL, 0);
    HOLDS(made == NULL);
    GIVES(refused, SCICreateDataInterrupt, handle, (sci_local_data_interrupt_t *)&made, ADAPTER,
          &number, NULL, NULL, 0);
    GIVES(refused, SCIConnectInterrupt, handle, (sci_remote_interrupt_t *)&made, node_a(), ADAPTER,
          1, 0, 0);
    GIVES(refused, SCIConnectDataInterrupt, handle, (sci_remote_data_interrupt_t *)&made, node_a(),
          ADAPTER, 1, 0, 0);
    GIVES(refused, SCIRemoveInterrupt, handle, 0);
    GIVES(refused, SCIRemoveDataInterrupt, handle, 0);
    GIVES(refused, SCIWaitForInterrupt, handle, 0, 0);
    GIVES(refused, SCIRegisterInterruptFlag, ADAPTER, (sci_local_interrupt_t *)&made, handle, 0,
          NULL, NULL, 0);
    HOLDS(made == NULL);
    GIVES(refused, SCIEnableConditionalInterrupt, handle, 0);
    GIVES(refused, SCIDisableConditionalInterrupt, handle, 0);
    GIVES(refused, SCIGetConditionalInterruptTrigCounter, handle, &number, 0);
    GIVES(refused, SCIWaitForDataInterrupt, handle, bytes, &length, 0, 0);
    GIVES(refused, SCIDisconnectInterrupt, handle, 0);
    GIVES(refused, SCIDisconnectDataInterrupt, handle, 0);
    GIVES(refused, SCITriggerInterrupt, handle, 0);
    GIVES(refused, SCITriggerDataInterrupt, handle, bytes, length, 0);
}

CONFORMANCE(X, 01, "handles that are none, stale, or of another kind are refused everywhere")
{
    sci_local_interrupt_t stale;
    sci_remote_data_interrupt_t remote;
    sci_local_data_interrupt_t data;
    sci_desc_t closed;
    unsigned number = 4;
    begin_as_a();
    for (unsigned i = 0; i < NO_HANDLES; i++)
        refuse_handle(no_handle(i));
    EXPECT(SCI_ERR_OK, create(&stale, 3, NULL, NULL));
    SUCCEEDS(SCIRemoveInterrupt, stale, 0);
    refuse_handle(stale);
    SUCCEEDS(SCIOpen, &closed, 0);
    SUCCEEDS(SCIClose, closed, 0);
    refuse_handle(closed);
    /* The slots of both are used again by now. */
    EXPECT(SCI_ERR_OK, create(&stale, 3, NULL, NULL));
    SUCCEEDS(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    SUCCEEDS(SCIConnectDataInterrupt, desc(), &remote, node_a(), ADAPTER, number, 0, 0);
    refuse_handle(closed);
    /* Every bit of a handle counts. */
    for (unsigned bit = 0; bit < 8 * sizeof(uintptr_t); bit++) {
        uintptr_t other = (uintptr_t)remote ^ ((uintptr_t)1 << bit);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerDataInterrupt,
              (sci_remote_data_interrupt_t)other, NULL, 0, 0);
    }
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveInterrupt, (sci_local_interrupt_t)(void *)data, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, (sci_desc_t)(void *)data, 0);
    SUCCEEDS(SCITriggerDataInterrupt, remote, NULL, 0, 0);
    SCITerminate();
}

CONFORMANCE(X, 02,
            "NULL, unknown flags, huge sizes, absent callbacks are refused and change nothing")
{
    sci_local_interrupt_t plain;
    sci_local_data_interrupt_t data;
    sci_remote_interrupt_t remote;
    sci_remote_data_interrupt_t remote_data;
    unsigned number = 7, length = 8;
    char bytes[8];
    begin_as_a();
    const sci_error_t parameter = SCI_ERR_ILLEGAL_PARAMETER, flag = SCI_ERR_ILLEGAL_FLAG;
    GIVES(parameter, SCIOpen, NULL, 0);
    GIVES(parameter, SCICreateInterrupt, desc(), NULL, ADAPTER, &number, NULL, NULL, 0);
    GIVES(parameter, SCICreateInterrupt, desc(), &plain, ADAPTER, NULL, NULL, NULL, 0);
    GIVES(parameter, SCICreateInterrupt, desc(), &plain, ADAPTER, &number, NULL, NULL,
          SCI_FLAG_USE_CALLBACK);
    GIVES(parameter, SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL,
          SCI_FLAG_USE_CALLBACK);
    GIVES(flag, SCICreateInterrupt, desc(), &plain, ADAPTER, &number, NULL, NULL, 0x40000000);
    GIVES(flag, SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL, 0x8);
    GIVES(SCI_ERR_ILLEGAL_ADAPTERNO, SCICreateInterrupt, desc(), &plain, 1000, &number, NULL, NULL,
          0);
    GIVES(SCI_ERR_NO_SUCH_ADAPTERNO, SCICreateDataInterrupt, desc(), &data, 63, &number, NULL, NULL,
          0);
    EXPECT(7, (int)number);
    EXPECT(SCI_ERR_OK, create(&plain, 7, NULL, NULL)); /* nothing of the above has it */
    remote = connect_own(7);
    SUCCEEDS(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    SUCCEEDS(SCIConnectDataInterrupt, desc(), &remote_data, node_a(), ADAPTER, 7, 0, 0);
    GIVES(parameter, SCIConnectInterrupt, desc(), NULL, node_a(), ADAPTER, 7, 0, 0);
    GIVES(flag, SCIConnectInterrupt, desc(), &remote, node_a(), ADAPTER, 7, 0, 1);
    HOLDS(remote == NULL);
    remote = connect_own(7);
    GIVES(parameter, SCITriggerDataInterrupt, remote_data, NULL, 1, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITriggerDataInterrupt, remote_data, bytes, B_DATA + 1, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITriggerDataInterrupt, remote_data, bytes, UINT32_MAX, 0);
    GIVES(flag, SCITriggerDataInterrupt, remote_data, bytes, 1, 1);
    GIVES(flag, SCITriggerInterrupt, remote, 0x80000000);
    GIVES(flag, SCIWaitForInterrupt, plain, 0, 1);
    GIVES(parameter, SCIWaitForDataInterrupt, data, bytes, NULL, 0, 0);
    GIVES(parameter, SCIWaitForDataInterrupt, data, NULL, &length, 0, 0);
    GIVES(flag, SCIRemoveInterrupt, plain, 1);
    GIVES(flag, SCIDisconnectInterrupt, remote, 1);
    GIVES(flag, SCIClose, desc(), 1);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, plain, 0, 0);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForDataInterrupt, data, bytes, &length, 0, 0);
    EXPECT(8, (int)length);
    /* No error pointer at all. */
    SCITriggerInterrupt(remote, 0, NULL);
    SCIWaitForInterrupt(plain, LONG_MS, 0, NULL);
    SCIWaitForInterrupt(NULL, 0, 0, NULL);
    SCIQuery(0, NULL, 0, NULL);
    SCITerminate();
}

/* ---------------------------------------------------------------- callbacks */

struct calls {
    _Atomic unsigned count;
    sci_callback_action_t answer;
    _Atomic(sci_local_interrupt_t) remove; /* in the callback */
    _Atomic(sci_desc_t) close;             /* likewise */
    sci_error_t error;                     /* of that */
    sem_t *may_return;
    const uint64_t *left; /* address of a local variable of the last callback */
};

static sci_callback_action_t count_call(void *argument, sci_local_interrupt_t interrupt,
                                        sci_error_t status)
{
    struct calls *calls = argument;
    if (calls->remove != NULL)
        calls->error = ERROR_OF(SCIRemoveInterrupt, atomic_load(&calls->remove), 0);
    if (calls->close != NULL)
        calls->error = ERROR_OF(SCIClose, atomic_load(&calls->close), 0);
    atomic_fetch_add(&calls->count, 1);
    while (calls->may_return != NULL && sem_wait(calls->may_return) != 0)
        continue;
    return calls->answer;
}

CONFORMANCE(X, 03, "a callback that says CANCEL is not called again; without the flag never")
{
    static struct calls once = {.answer = SCI_CALLBACK_CANCEL};
    sci_local_interrupt_t made, quiet;
    unsigned number = 2;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&made, 1, count_call, &once));
    SUCCEEDS(SCICreateInterrupt, desc(), &quiet, ADAPTER, &number, count_call, &once,
             SCI_FLAG_FIXED_INTNO);
    sci_remote_interrupt_t own = connect_own(1), other = connect_own(2);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    await_count(&once.count, 1);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    SUCCEEDS(SCITriggerInterrupt, other, 0);
    SUCCEEDS(SCIWaitForInterrupt, quiet, LONG_MS, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForInterrupt, made, 0, 0);
    usleep(20000);
    EXPECT(1, (int)atomic_load(&once.count));
    SUCCEEDS(SCIRemoveInterrupt, made, 0);
    SUCCEEDS(SCIRemoveInterrupt, quiet, 0);
    SCITerminate();
}

CONFORMANCE(X, 04, "a callback removes its own interrupt or closes its descriptor")
{
    static struct calls removes = {.answer = SCI_CALLBACK_CONTINUE},
                        closes = {.answer = SCI_CALLBACK_CONTINUE};
    sci_local_interrupt_t made, again;
    sci_desc_t other;
    unsigned number = 2;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&made, 1, count_call, &removes));
    removes.remove = made;
    SUCCEEDS(SCITriggerInterrupt, connect_own(1), 0);
    await_count(&removes.count, 1);
    EXPECT(SCI_ERR_OK, removes.error);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveInterrupt, made, 0);
    EXPECT(SCI_ERR_OK, create(&again, 1, NULL, NULL));
    SUCCEEDS(SCIOpen, &other, 0);
    closes.close = other;
    SUCCEEDS(SCICreateInterrupt, other, &made, ADAPTER, &number, count_call, &closes,
             SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCITriggerInterrupt, connect_own(2), 0);
    await_count(&closes.count, 1);
    EXPECT(SCI_ERR_OK, closes.error);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, other, 0);
    EXPECT(SCI_ERR_OK, create(&again, 2, NULL, NULL));
    SCITerminate();
}

static void *remove_it(void *interrupt)
{
    return (void *)(uintptr_t)ERROR_OF(SCIRemoveInterrupt, interrupt, 0);
}

CONFORMANCE(X, 05, "removal waits for a callback that runs; two callbacks may remove each other's")
{
    static struct calls slow = {.answer = SCI_CALLBACK_CONTINUE},
                        first = {.answer = SCI_CALLBACK_CONTINUE},
                        second = {.answer = SCI_CALLBACK_CONTINUE};
    static sem_t may_return;
    sci_local_interrupt_t made, pair[2];
    pthread_t thread;
    void *error;
    begin_as_a();
    sem_init(&may_return, 0, 0);
    slow.may_return = &may_return;
    EXPECT(SCI_ERR_OK, create(&made, 1, count_call, &slow));
    SUCCEEDS(SCITriggerInterrupt, connect_own(1), 0);
    await_count(&slow.count, 1);
    HOLDS(pthread_create(&thread, NULL, remove_it, made) == 0);
    usleep(50000);
    HOLDS(pthread_tryjoin_np(thread, &error) == EBUSY);
    sem_post(&may_return);
    HOLDS(pthread_join(thread, &error) == 0);
    EXPECT(SCI_ERR_OK, (int)(uintptr_t)error);
    EXPECT(SCI_ERR_OK, create(&pair[0], 2, count_call, &first));
    EXPECT(SCI_ERR_OK, create(&pair[1], 3, count_call, &second));
    first.remove = pair[1];
    second.remove = pair[0];
    sci_remote_interrupt_t own[2] = {connect_own(2), connect_own(3)};
    /* Whoever comes second finds that it has been removed. */
    (void)ERROR_OF(SCITriggerInterrupt, own[0], 0);
    (void)ERROR_OF(SCITriggerInterrupt, own[1], 0);
    for (int64_t end = now_ms() + LONG_MS;
         atomic_load(&first.count) + atomic_load(&second.count) == 0;)
        HOLDS(now_ms() < end);
    SCITerminate();
}

static sci_callback_action_t leave_address(void *argument, sci_local_interrupt_t interrupt,
                                           sci_error_t status)
{
    struct calls *calls = argument;
    volatile uint64_t local[64];
    for (unsigned i = 0; i < 64; i++)
        local[i] = i + 1000;
    __asm__ volatile("" : "=r"(calls->left) : "0"(&local[0]));
    atomic_fetch_add(&calls->count, 1);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 06, "what a callback leaves on its stack stays there for a while")
{
    static struct calls calls;
    sci_local_interrupt_t made;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&made, 1, leave_address, &calls));
    sci_remote_interrupt_t own = connect_own(1);
    SUCCEEDS(SCITriggerInterrupt, own, 0);
    await_count(&calls.count, 1);
    usleep(150000); /* the library has looked for events meanwhile */
    for (unsigned i = 0; i < 64; i++)
        HOLDS(*(const volatile uint64_t *)(calls.left + i) == i + 1000);
    SCITerminate();
}

/* ---------------------------------------------------------------- threads */

enum { THREADS = 8, ROUNDS = 30 };

struct worker {
    pthread_t thread;
    unsigned number;
    const char *failed;
};

static sci_callback_action_t count_data(void *argument, sci_local_data_interrupt_t interrupt,
                                        void *data, unsigned length, sci_error_t status)
{
    atomic_fetch_add((_Atomic unsigned *)argument, length == 4 && status == SCI_ERR_OK);
    return SCI_CALLBACK_CONTINUE;
}

static const char *work_round(const struct worker *worker, _Atomic unsigned *count)
{
    sci_local_interrupt_t plain;
    sci_local_data_interrupt_t data;
    sci_remote_interrupt_t remote;
    sci_remote_data_interrupt_t remote_data;
    unsigned number = worker->number, node = 0;
    if (create(&plain, number, NULL, NULL) != SCI_ERR_OK ||
        ERROR_OF(SCICreateDataInterrupt, desc(), &data, ADAPTER, &number, count_data, count,
                 SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK) != SCI_ERR_OK)
        return "create";
    if (ERROR_OF(SCIGetLocalNodeId, ADAPTER, &node, 0) != SCI_ERR_OK ||
        ERROR_OF(SCIConnectInterrupt, desc(), &remote, node, ADAPTER, number, 0, 0) != SCI_ERR_OK ||
        ERROR_OF(SCIConnectDataInterrupt, desc(), &remote_data, node, ADAPTER, number, 0, 0) !=
            SCI_ERR_OK)
        return "connect";
    if (ERROR_OF(SCITriggerInterrupt, remote, 0) != SCI_ERR_OK ||
        ERROR_OF(SCITriggerDataInterrupt, remote_data, &number, 4, 0) != SCI_ERR_OK ||
        ERROR_OF(SCIWaitForInterrupt, plain, LONG_MS, 0) != SCI_ERR_OK)
        return "trigger";
    if (ERROR_OF(SCIDisconnectInterrupt, remote, 0) != SCI_ERR_OK ||
        ERROR_OF(SCIRemoveInterrupt, plain, 0) != SCI_ERR_OK)
        return "remove";
    for (int64_t end = now_ms() + LONG_MS; atomic_load(count) == 0; usleep(100))
        if (now_ms() >= end)
            return "callback";
    if (ERROR_OF(SCIDisconnectDataInterrupt, remote_data, 0) != SCI_ERR_OK ||
        ERROR_OF(SCIRemoveDataInterrupt, data, 0) != SCI_ERR_OK)
        return "remove data";
    return NULL;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned i = 0; worker->failed == NULL && i < ROUNDS; i++) {
        _Atomic unsigned count = 0;
        worker->failed = work_round(worker, &count);
    }
    return NULL;
}

CONFORMANCE(X, 07, "eight threads at once on one descriptor, while a timer's signals come")
{
    static struct worker workers[THREADS];
    begin_as_a();
    alarms_begin();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        HOLDS(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        HOLDS(pthread_join(workers[i].thread, NULL) == 0);
        about("thread %u: %s", i, workers[i].failed != NULL ? workers[i].failed : "");
        HOLDS(workers[i].failed == NULL);
    }
    alarms_end();
    SCITerminate();
}

static _Atomic bool enough;

/* Use what another thread ends. Whatever it is, the handle is known or it is not. */
static void *use_all_the_time(void *slot)
{
    while (!atomic_load(&enough)) {
        sci_local_interrupt_t interrupt = atomic_load((_Atomic(sci_local_interrupt_t) *)slot);
        sci_error_t error = ERROR_OF(SCIWaitForInterrupt, interrupt, 1, 0);
        if (error != SCI_ERR_TIMEOUT && error != SCI_ERR_CANCELLED &&
            error != SCI_ERR_ILLEGAL_PARAMETER)
            return (void *)(uintptr_t)error;
        if (error == SCI_ERR_ILLEGAL_PARAMETER)
            usleep(100);
    }
    return NULL;
}

CONFORMANCE(X, 08, "a resource is ended while other threads use it")
{
    static _Atomic(sci_local_interrupt_t) slot;
    pthread_t threads[4];
    void *error;
    begin_as_a();
    for (int i = 0; i < 4; i++)
        HOLDS(pthread_create(&threads[i], NULL, use_all_the_time, &slot) == 0);
    for (int i = 0; i < 100; i++) {
        sci_local_interrupt_t made;
        EXPECT(SCI_ERR_OK, create(&made, 1, NULL, NULL));
        atomic_store(&slot, made);
        usleep(500);
        SUCCEEDS(SCIRemoveInterrupt, made, 0);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 4; i++) {
        HOLDS(pthread_join(threads[i], &error) == 0);
        EXPECT(SCI_ERR_OK, (int)(uintptr_t)error);
    }
    SCITerminate();
}

/* ---------------------------------------------------------------- growth */

/* Mappings that come without a leak: stacks that the C library keeps, and what the thread sanitizer
 * notes of each thread. Four hundred resources that left one each would be many more. */
#if defined(__SANITIZE_THREAD__)
enum { MAPPINGS_KEPT = 64 };
#else
enum { MAPPINGS_KEPT = 8 };
#endif

CONFORMANCE(X, 09, "a thousand resources, made and removed, leave nothing behind")
{
    static struct worker worker = {.number = 1};
    unsigned descriptors = 0, mappings = 0;
    begin_as_a();
    for (int i = 0; i < 250; i++) {
        _Atomic unsigned count = 0;
        about("round %d", i);
        HOLDS(work_round(&worker, &count) == NULL); /* makes and removes two */
        if (i == 50) {
            descriptors = process_descriptors(getpid());
            mappings = process_mappings(getpid());
        }
    }
    about("after all");
    HOLDS(process_descriptors(getpid()) <= descriptors);
    HOLDS(process_mappings(getpid()) <= mappings + MAPPINGS_KEPT);
    SCITerminate();
}

CONFORMANCE(X, 10, "the end of the daemon ends waits; what is made afterwards works")
{
    APPLIES_IF(!two_hosts(), "the daemons of two hosts are the test's own");
    static struct calls calls = {.answer = SCI_CALLBACK_CONTINUE};
    sci_local_interrupt_t waits, called;
    begin_as_a();
    EXPECT(SCI_ERR_OK, create(&waits, 1, NULL, NULL));
    EXPECT(SCI_ERR_OK, create(&called, 2, count_call, &calls));
    sci_remote_interrupt_t own = connect_own(1);
    node_end(node_a());
    GIVES(SCI_ERR_CANCELLED, SCIWaitForInterrupt, waits, SCI_INFINITE_TIMEOUT, 0);
    sci_error_t error = ERROR_OF(SCITriggerInterrupt, own, 0);
    HOLDS(error == SCI_ERR_NOT_CONNECTED || error == SCI_ERR_NODE_NOT_RESPONDING);
    SUCCEEDS(SCIRemoveInterrupt, waits, 0);
    SUCCEEDS(SCIRemoveInterrupt, called, 0);
    EXPECT(SCI_ERR_OK, create(&waits, 1, NULL, NULL));
    SUCCEEDS(SCITriggerInterrupt, connect_own(1), 0);
    SUCCEEDS(SCIWaitForInterrupt, waits, LONG_MS, 0);
    SCITerminate();
}

CONFORMANCE(X, 11, "what librsm has not says so")
{
    const sci_error_t absent = SCI_ERR_NOT_IMPLEMENTED;
    sci_remote_segment_t segment = (sci_remote_segment_t)8;
    sci_device_t device = (sci_device_t)8;
    sci_address_t address = {0, 0, 0};
    begin_as_a();
    HOLDS(SCIGetCSRRegister(desc(), ADAPTER, node_a(), 0, 0, NULL) == 0);
    GIVES(absent, SCISetLocalCSR, desc(), ADAPTER, 0, 0, 0);
    GIVES(SCI_ERR_ACCESS, SCIConnectSCISpace, desc(), ADAPTER, &segment, address, 1, 0);
    HOLDS(segment == NULL);
    GIVES(absent, SCIBorrowDevice, desc(), &device, 1, 0);
    HOLDS(device == NULL);
    HOLDS(SCIGetFabricDeviceId(device) == 0);
    SCITerminate();
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIReturnDevice, NULL, 0);
}
