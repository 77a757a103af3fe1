/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that are cancelled in functions that are no cancellation points: nothing stays locked or
 * held. */
#include <sys/ucontext.h>

#include "peer.h"
#include "segments_peer.h"

enum { NUMBER = 1, WATCH_S = 170, BYTES = 64 };

static struct {
    struct actor *b;
    sci_remote_segment_t remote;
    volatile uint8_t *bytes;
    sci_map_t map;
    sci_sequence_t sequence;
    sci_remote_interrupt_t plain;
    sci_remote_data_interrupt_t data;
    sci_dma_queue_t queue;
} use;

static char memory[BYTES];

/* ---------------------------------------------------------------- what is called */

static void flush(void)
{
    use.bytes[8] = 1;
    SCIFlush(use.sequence, 0);
}

static void barrier(void)
{
    use.bytes[8] = 2;
    SCIStoreBarrier(use.sequence, 0);
}

static void copy(void)
{
    sci_error_t error;
    SCIMemCpy(use.sequence, memory, use.map, 0, BYTES, SCI_FLAG_ERROR_CHECK, &error);
}

static void copy_back(void)
{
    sci_error_t error;
    SCIMemCpy(NULL, memory, use.map, 0, BYTES, SCI_FLAG_BLOCK_READ, &error);
}

static void write_to(void)
{
    sci_error_t error;
    SCIMemWrite(memory, use.bytes, BYTES, 0, &error);
}

static void transfer(void)
{
    sci_error_t error;
    SCITransferBlock(use.map, 0, use.map, BYTES, BYTES, SCI_FLAG_ERROR_CHECK, &error);
}

static void span(void)
{
    sci_error_t error;
    (void)SCIStartSequence(use.sequence, 0, &error);
    (void)SCICheckSequence(use.sequence, 0, &error);
}

static void trigger(void)
{
    sci_error_t error;
    SCITriggerInterrupt(use.plain, 0, &error);
}

static void ask(void)
{
    sci_error_t error;
    (void)SCIGetRemoteSegmentSize(use.remote);
    (void)SCIDMAQueueState(use.queue);
    SCICacheSync(use.map, (void *)use.bytes, BYTES, SCI_FLAG_CACHE_FLUSH, &error);
}

static void make_and_end(void)
{
    sci_sequence_t made;
    sci_error_t error;
    SCICreateMapSequence(use.map, &made, 0, &error);
    SCIRemoveSequence(made, 0, &error);
}

/* What involves the daemon. */
static void send_message(void)
{
    sci_error_t error;
    SCITriggerDataInterrupt(use.data, memory, BYTES, 0, &error);
}

static void connect_again(void)
{
    sci_remote_segment_t made;
    sci_error_t error;
    SCIConnectSegment(desc(), &made, node_b(), SEGMENT, ADAPTER, NULL, NULL, 0, 0, &error);
    SCIDisconnectSegment(made, 0, &error);
}

typedef void called(void);
static called *const quick[] = {flush,    barrier, copy,    copy_back, write_to,
                                transfer, span,    trigger, ask,       make_and_end};
static called *const others[] = {send_message, connect_again};
enum { QUICK = sizeof quick / sizeof quick[0], ALL = QUICK + sizeof others / sizeof others[0] };

static called *numbered(unsigned which)
{
    return which < QUICK ? quick[which] : others[which - QUICK];
}

/* ---------------------------------------------------------------- before and after */

static void begin(void)
{
    sci_error_t error;
    NEEDS_MAP();
    use.b = b_start();
    S_OK(use.b, offer, .id = SEGMENT, .size = SIZE);
    B_OK(use.b, create, .number = NUMBER);
    B_OK(use.b, create, .data = true, .number = NUMBER);
    begin_as_a();
    alarm(WATCH_S); /* a lock that is still held ends the test */
    use.remote = connected(node_b(), SEGMENT);
    use.bytes = SCIMapRemoteSegment(use.remote, &use.map, 0, SIZE, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCICreateMapSequence, use.map, &use.sequence, 0);
    SUCCEEDS(SCIConnectInterrupt, desc(), &use.plain, node_b(), ADAPTER, NUMBER, 0, 0);
    SUCCEEDS(SCIConnectDataInterrupt, desc(), &use.data, node_b(), ADAPTER, NUMBER, 0, 0);
    SUCCEEDS(SCICreateDMAQueue, desc(), &use.queue, ADAPTER, 1, 0);
}

/* A disconnect takes the locks of flushes as a writer; each function that ends a resource waits
 * until no thread holds it. */
static void expect_usable(void)
{
    SUCCEEDS(SCIDisconnectSegment, connected(node_b(), SEGMENT), 0);
}

static void end(void)
{
    for (unsigned which = 0; which < ALL; which++)
        numbered(which)();
    SUCCEEDS(SCIRemoveSequence, use.sequence, 0);
    SUCCEEDS(SCIUnmapSegment, use.map, 0);
    SUCCEEDS(SCIRemoveDMAQueue, use.queue, 0);
    SUCCEEDS(SCIDisconnectSegment, use.remote, 0);
    SUCCEEDS(SCIDisconnectInterrupt, use.plain, 0);
    SUCCEEDS(SCIDisconnectDataInterrupt, use.data, 0);
    SCITerminate();
    alarm(0);
}

static void set_type(int type)
{
    int before;
    pthread_setcanceltype(type, &before);
}

/* ---------------------------------------------------------------- at each step */

/* The thread executes one instruction after the other, and asks for its own cancellation before the
 * one that is wanted, which ends the stepping. */
static _Thread_local volatile unsigned long steps, wanted;

enum { TRAP_FLAG = 0x100 };

/* A sanitizer's own functions are not safe against asynchronous cancellation. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_STEP true
static void on_step(int signal, siginfo_t *info, void *context)
{
    if (++steps != wanted)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    pthread_cancel(pthread_self());
}

static void step(bool on)
{
    if (on)
        __asm__ volatile(
            "lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
            :
            : "i"(TRAP_FLAG)
            : "memory", "cc");
    else
        __asm__ volatile(
            "lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
            :
            : "i"(~TRAP_FLAG)
            : "memory", "cc");
}
#else
#define CAN_STEP false
static void on_step(int signal, siginfo_t *info, void *context)
{
}

static void step(bool on)
{
}
#endif

struct stepped {
    called *function;
    int type;
    unsigned long steps, wanted;
    bool returned;
};

static void *call_in_steps(void *argument)
{
    struct stepped *stepped = argument;
    set_type(stepped->type);
    wanted = stepped->wanted;
    step(true);
    stepped->function();
    step(false);
    stepped->steps = steps;
    stepped->returned = true;
    pthread_testcancel();
    return NULL;
}

/* Whether the thread was cancelled. */
static bool run_in_steps(struct stepped *stepped)
{
    pthread_t thread;
    void *result;
    HOLDS(pthread_create(&thread, NULL, call_in_steps, stepped) == 0);
    HOLDS(pthread_join(thread, &result) == 0);
    return result == PTHREAD_CANCELED;
}

static void cancel_at_each_step(called *function, int type)
{
    unsigned long threads = type == PTHREAD_CANCEL_ASYNCHRONOUS ? 60 : 12;
    struct stepped stepped = {.function = function, .type = type, .wanted = 0};
    function(); /* the first call takes steps of the loader's */
    HOLDS(!run_in_steps(&stepped));
    unsigned long all = stepped.steps, stride = long_run() ? 1 : all / threads + 1;
    HOLDS(all > 10);
    for (stepped.wanted = 1; stepped.wanted < all; stepped.wanted += stride) {
        about("step %lu of %lu, function %p", stepped.wanted, all, (void *)(uintptr_t)function);
        stepped.returned = false;
        HOLDS(run_in_steps(&stepped) || stepped.steps < stepped.wanted);
        /* One that can be cancelled at its cancellation points alone has run to its end. */
        HOLDS(type == PTHREAD_CANCEL_ASYNCHRONOUS || stepped.returned);
        function();
    }
    expect_usable();
}

static void *nothing(void *unused)
{
    for (;;)
        pthread_testcancel();
    return unused;
}

/* The C library loads what it unwinds with when the first thread is cancelled. */
static void cancel_one(void)
{
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, nothing, NULL) == 0);
    HOLDS(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
}

CONFORMANCE(X, 100, "a thread is cancelled at each step of a flush, a copy, a sequence, a trigger")
{
    APPLIES_IF(CAN_STEP, "the processor does not step, or the instructions are a sanitizer's");
    APPLIES_IF(getenv("RSM_SHM_DIRECT") == NULL, "the mapping engine blocks the signal of a step");
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    begin();
    cancel_one();
    for (unsigned which = 0; which < QUICK; which++) {
        cancel_at_each_step(numbered(which), PTHREAD_CANCEL_ASYNCHRONOUS);
        cancel_at_each_step(numbered(which), PTHREAD_CANCEL_DEFERRED);
    }
    end();
}

/* ---------------------------------------------------------------- at any moment */

struct repeated {
    called *function;
    int type;
};

static void *call_again_and_again(void *argument)
{
    const struct repeated *repeated = argument;
    set_type(repeated->type);
    for (;;) {
        repeated->function();
        pthread_testcancel();
    }
    return NULL;
}

CONFORMANCE(X, 101,
            "threads that flush, copy, trigger, send and connect are cancelled at any moment")
{
    enum { AT_ONCE = 3 };
    const unsigned rounds = long_run() ? 6000 : 200;
    APPLIES_IF(!IS_SANITIZED, "a sanitizer's functions must not be cancelled");
    begin();
    for (unsigned i = 0; i < rounds; i++) {
        struct repeated repeated[AT_ONCE];
        pthread_t threads[AT_ONCE];
        for (unsigned k = 0; k < AT_ONCE; k++) {
            repeated[k].function = numbered((i + k * 5) % ALL);
            repeated[k].type = i % 4 == 3 ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS;
            HOLDS(pthread_create(&threads[k], NULL, call_again_and_again, &repeated[k]) == 0);
        }
        usleep(i * 37 % 500);
        for (unsigned k = 0; k < AT_ONCE; k++) {
            HOLDS(pthread_cancel(threads[k]) == 0);
            HOLDS(pthread_join(threads[k], NULL) == 0);
        }
        if (i % 8 == 0)
            expect_usable();
    }
    end();
}
