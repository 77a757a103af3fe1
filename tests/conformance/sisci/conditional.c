/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 108 to 113: interrupts that stores raise. */
#include <semaphore.h>

#include "segments_peer.h"

enum {
    FLAG = 4096 + 64, /* its offset */
    OTHER = 4096 + 68,
    DATA = 512,
    NO_MORE_MS = 100, /* that nothing comes */
    PLAIN = 1,        /* slot of an ordinary map */
    CONDITIONAL = SCI_FLAG_CONDITIONAL_INTERRUPT_MAP,
    UNCONDITIONAL = SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP,
};

static sci_local_interrupt_t flag_at(sci_local_segment_t segment, unsigned offset, unsigned flags)
{
    sci_local_interrupt_t made = NULL;
    SUCCEEDS(SCIRegisterInterruptFlag, ADAPTER, &made, segment, offset, NULL, NULL, flags);
    return made;
}

/* B has a map of A's segment whose stores raise interrupts, and an ordinary one. */
static void b_maps(struct actor *b, unsigned flags)
{
    S_OK(b, connect, .node = node_a(), .id = SEGMENT);
    S_OK(b, map, .size = SIZE, .flags = flags);
    S_OK(b, map, .map = PLAIN, .size = SIZE);
}

static void raised(sci_local_interrupt_t interrupt)
{
    SUCCEEDS(SCIWaitForInterrupt, interrupt, LONG_MS, 0);
}

static void not_raised(sci_local_interrupt_t interrupt)
{
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForInterrupt, interrupt, NO_MORE_MS, 0);
}

static uint64_t at(const struct offered *own, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const void *)(own->bytes + offset), sizeof value);
    return value;
}

/* Until the exporter has taken note of stores that it was told of. */
static void await_count(sci_local_interrupt_t interrupt, unsigned least)
{
    unsigned count = 0;
    for (int64_t end = now_ms() + LONG_MS; count < least; usleep(1000)) {
        HOLDS(now_ms() < end);
        SUCCEEDS(SCIGetConditionalInterruptTrigCounter, interrupt, &count, 0);
    }
}

CONFORMANCE(I, 108, "a store through a conditional map raises an interrupt that is enabled, once")
{
    unsigned count;
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_local_interrupt_t flag = flag_at(own.segment, FLAG, SCI_FLAG_CONDITIONAL_INTERRUPT);
    b_maps(b, CONDITIONAL);
    not_raised(flag);
    S_OK(b, poke, .offset = FLAG, .value = 1);
    raised(flag);
    HOLDS(at(&own, FLAG) == 1);
    SUCCEEDS(SCIGetConditionalInterruptTrigCounter, flag, &count, 0);
    HOLDS(count >= 1);

    /* It is disabled now, and counts. */
    S_OK(b, poke, .offset = FLAG, .value = 2);
    await_count(flag, count + 1);
    not_raised(flag);
    HOLDS(at(&own, FLAG) == 2);
    GIVES(SCI_ERR_COND_INT_RACE_PROBLEM, SCIEnableConditionalInterrupt, flag, 0);
    not_raised(flag);
    SUCCEEDS(SCIEnableConditionalInterrupt, flag, 0);
    SUCCEEDS(SCIGetConditionalInterruptTrigCounter, flag, &count, 0);
    HOLDS(count == 0);

    /* The exporter takes the flag back, and the same value is stored again. */
    memset((void *)(own.bytes + FLAG), 0, sizeof(uint64_t));
    S_OK(b, poke, .offset = FLAG, .value = 2);
    raised(flag);
    HOLDS(at(&own, FLAG) == 2);
    SUCCEEDS(SCIEnableConditionalInterrupt, flag, 0);
    SUCCEEDS(SCIDisableConditionalInterrupt, flag, 0);
    S_OK(b, poke, .offset = FLAG, .value = 3);
    await_count(flag, 1);
    not_raised(flag);

    /* Other places, and other maps, raise nothing. */
    SUCCEEDS(SCIDisableConditionalInterrupt, flag, 0);
    SUCCEEDS(SCIEnableConditionalInterrupt, flag, 0);
    S_OK(b, poke, .offset = FLAG + 8, .value = 1);
    S_OK(b, poke, .offset = FLAG - 8, .value = 1);
    S_OK(b, poke, .map = PLAIN, .offset = FLAG, .value = 4);
    not_raised(flag);
    SUCCEEDS(SCIGetConditionalInterruptTrigCounter, flag, &count, 0);
    HOLDS(count == 0);
    SUCCEEDS(SCIRemoveInterrupt, flag, 0);
    SCITerminate();
}

/* ---------------------------------------------------------------- callbacks */

static struct {
    struct offered own;
    atomic_uint calls, older; /* ... than the flag were data */
    _Atomic uint64_t latest;  /* value of the flag */
    sci_local_interrupt_t handle;
    sem_t each;
} seen;

static sci_callback_action_t look(void *argument, sci_local_interrupt_t interrupt,
                                  sci_error_t status)
{
    HOLDS(argument == &seen && status == SCI_ERR_OK);
    seen.handle = interrupt;
    do {
        uint64_t flag = at(&seen.own, FLAG);
        atomic_fetch_add(&seen.older, at(&seen.own, DATA) < flag);
        atomic_store(&seen.latest, flag);
        atomic_fetch_add(&seen.calls, 1);
    } while (ERROR_OF(SCIEnableConditionalInterrupt, interrupt, 0) ==
             SCI_ERR_COND_INT_RACE_PROBLEM);
    sem_post(&seen.each);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(I, 109, "a callback finds what was stored before, and enables its interrupt again")
{
    enum { ROUNDS = 40 };
    sci_local_interrupt_t flag;
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    sem_init(&seen.each, 0, 0);
    seen.own = offer(SEGMENT, SIZE);
    SUCCEEDS(SCIRegisterInterruptFlag, ADAPTER, &flag, seen.own.segment, FLAG, look, &seen,
             SCI_FLAG_CONDITIONAL_INTERRUPT | SCI_FLAG_USE_CALLBACK);
    b_maps(b, CONDITIONAL);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        S_OK(b, poke, .map = PLAIN, .offset = DATA, .value = i, .flags = 1); /* no barrier */
        S_OK(b, poke, .offset = FLAG, .value = i, .flags = i % 2);
        while (atomic_load(&seen.latest) != i)
            while (sem_wait(&seen.each) != 0)
                continue;
    }
    HOLDS(atomic_load(&seen.older) == 0 && seen.handle == flag);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForInterrupt, flag, 0, 0);
    SUCCEEDS(SCIRemoveInterrupt, flag, 0);
    unsigned calls = atomic_load(&seen.calls);
    HOLDS(calls >= ROUNDS / 2);
    S_OK(b, poke, .offset = FLAG, .value = ROUNDS + 1);
    usleep(NO_MORE_MS * 1000);
    HOLDS(atomic_load(&seen.calls) == calls && at(&seen.own, FLAG) == ROUNDS + 1);
    SCITerminate();
}

/* ---------------------------------------------------------------- unconditional ones */

CONFORMANCE(I, 110, "each store through an unconditional map raises the interrupt")
{
    unsigned count;
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    sci_local_interrupt_t each = flag_at(own.segment, FLAG, SCI_FLAG_COUNTING_INT);
    sci_local_interrupt_t other = flag_at(own.segment, OTHER, SCI_FLAG_CONDITIONAL_INTERRUPT);
    b_maps(b, UNCONDITIONAL);
    SUCCEEDS(SCIDisableConditionalInterrupt, other, 0);
    for (unsigned i = 1; i <= 3; i++) { /* 8 bytes: over both */
        S_OK(b, poke, .offset = FLAG, .value = i);
        raised(each);
        raised(other);
        HOLDS(at(&own, FLAG) == i);
    }
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIEnableConditionalInterrupt, each, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIDisableConditionalInterrupt, each, 0);
    SUCCEEDS(SCIGetConditionalInterruptTrigCounter, each, &count, 0);
    HOLDS(count >= 3);

    /* One that is not conditional is raised by either map. */
    S_OK(b, unmap);
    while (ERROR_OF(SCIWaitForInterrupt, each, NO_MORE_MS, 0) == SCI_ERR_OK)
        continue;
    S_OK(b, map, .size = SIZE, .flags = CONDITIONAL);
    S_OK(b, poke, .offset = FLAG, .value = 9);
    raised(each);
    S_OK(b, poke, .offset = FLAG, .value = 10);
    raised(each);
    SCITerminate();
}

/* ---------------------------------------------------------------- beginning and end */

CONFORMANCE(I, 111, "flags come and go while others store; a map that ends loses no store")
{
    NEEDS_MAP();
    struct actor *b = b_start();
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    b_maps(b, CONDITIONAL);
    S_OK(b, poke, .offset = FLAG, .value = 1); /* there is no flag yet */
    sci_local_interrupt_t flag = flag_at(own.segment, FLAG, SCI_FLAG_CONDITIONAL_INTERRUPT);
    S_OK(b, poke, .offset = FLAG, .value = 2);
    raised(flag);
    SUCCEEDS(SCIRemoveInterrupt, flag, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIEnableConditionalInterrupt, flag, 0);
    S_OK(b, poke, .offset = FLAG, .value = 3);
    flag = flag_at(own.segment, FLAG, SCI_FLAG_CONDITIONAL_INTERRUPT);
    sci_local_interrupt_t second = flag_at(own.segment, FLAG, SCI_FLAG_CONDITIONAL_INTERRUPT);
    S_OK(b, poke, .offset = FLAG, .value = 4, .flags = 1); /* no barrier */
    S_OK(b, unmap);
    raised(flag);
    raised(second);
    HOLDS(at(&own, FLAG) == 4);

    /* It ends with its segment; a later one with the id has flags of its own. */
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveInterrupt, flag, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForInterrupt, second, 0, 0);
    S_OK(b, unmap, .map = PLAIN);
    S_OK(b, disconnect);
    own = offer(SEGMENT, SIZE);
    flag = flag_at(own.segment, FLAG, SCI_FLAG_CONDITIONAL_INTERRUPT);
    await_connect(node_a(), SEGMENT, SCI_ERR_OK);
    b_maps(b, CONDITIONAL);
    S_OK(b, poke, .offset = FLAG, .value = 5);
    raised(flag);
    SCITerminate();
}

CONFORMANCE(I, 112, "what is wrong with flags and their maps is refused, and changes nothing")
{
    sci_local_interrupt_t flag = (sci_local_interrupt_t)8, ordinary;
    sci_local_segment_t hidden;
    sci_map_t map = (sci_map_t)8;
    unsigned number, count;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIRegisterInterruptFlag, ADAPTER, &flag, own.segment, FLAG, NULL,
          NULL, SCI_FLAG_FIXED_INTNO);
    HOLDS(flag == NULL);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRegisterInterruptFlag, ADAPTER, NULL, own.segment, FLAG,
          NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRegisterInterruptFlag, ADAPTER, &flag, own.segment, FLAG,
          NULL, NULL, SCI_FLAG_USE_CALLBACK);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIRegisterInterruptFlag, ADAPTER, &flag, no_handle(1), FLAG,
          NULL, NULL, 0);
    GIVES(SCI_ERR_OFFSET_ALIGNMENT, SCIRegisterInterruptFlag, ADAPTER, &flag, own.segment, FLAG + 2,
          NULL, NULL, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIRegisterInterruptFlag, ADAPTER, &flag, own.segment, SIZE, NULL,
          NULL, 0);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIRegisterInterruptFlag, ADAPTER, &flag, own.segment,
          UINT32_MAX - 3, NULL, NULL, 0);
    SUCCEEDS(SCICreateSegment, desc(), &hidden, SEGMENT + 1, SIZE, NULL, NULL, SCI_FLAG_PRIVATE);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIRegisterInterruptFlag, ADAPTER, &flag, hidden, FLAG, NULL,
          NULL, 0);
    flag = flag_at(own.segment, SIZE - 4, SCI_FLAG_CONDITIONAL_INTERRUPT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIEnableConditionalInterrupt, flag, 1);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetConditionalInterruptTrigCounter, flag, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetConditionalInterruptTrigCounter, no_handle(1), &count,
          0);
    SUCCEEDS(SCICreateInterrupt, desc(), &ordinary, ADAPTER, &number, NULL, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIEnableConditionalInterrupt, ordinary, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIDisableConditionalInterrupt, ordinary, 0);
    GIVES(SCI_ERR_ILLEGAL_OPERATION, SCIGetConditionalInterruptTrigCounter, ordinary, &count, 0);
    sci_remote_segment_t own_again = connected(node_a(), SEGMENT);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIMapRemoteSegment, own_again, &map, 0, SIZE, NULL,
          CONDITIONAL | UNCONDITIONAL);
    HOLDS(map == NULL);
    GIVES(SCI_ERR_OUT_OF_RANGE, SCIMapRemoteSegment, own_again, &map, 8, SIZE, NULL, CONDITIONAL);
    SCITerminate();
}

CONFORMANCE(I, 113, "an exporter that is stopped holds up no store, and gets all of them later")
{
    enum { STORES = 600, SOON_MS = 20000 };
    sci_map_t map;
    sci_error_t error;
    NEEDS_MAP();
    APPLIES_IF(!two_machines(), "the process is on another machine");
    struct actor *b = b_start();
    begin_as_a();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    S_OK(b, flag, .offset = FLAG);
    sci_remote_segment_t segment = connected(node_b(), SEGMENT);
    volatile uint8_t *bytes =
        SCIMapRemoteSegment(segment, &map, 0, SIZE, NULL, UNCONDITIONAL, &error);
    EXPECT(SCI_ERR_OK, error);
    volatile uint32_t *flag = (volatile uint32_t *)(bytes + FLAG);
    process_freeze(b->pid);
    int64_t begin = now_ms();
    for (uint32_t i = 1; i <= STORES; i++) {
        *flag = i;
        SCIFlush(NULL, 0);
        usleep(100); /* so that many messages become of them, more than the exporter has room for */
    }
    HOLDS(now_ms() - begin < SOON_MS);
    process_thaw(b->pid);
    while (S_TELL(b, wait_flag, .timeout = NO_MORE_MS) == SCI_ERR_OK)
        continue;
    HOLDS((S_ASK(b, load, .offset = FLAG).value & UINT32_MAX) == STORES);
    *flag = STORES + 1;
    SCIFlush(NULL, 0);
    S_OK(b, wait_flag, .timeout = LONG_MS);

    /* One that stays stopped does not keep a map from its end. */
    process_freeze(b->pid);
    for (uint32_t i = 1; i <= STORES; i++) {
        *flag = i;
        SCIFlush(NULL, 0);
        usleep(100);
    }
    begin = now_ms();
    SUCCEEDS(SCIUnmapSegment, map, 0);
    HOLDS(now_ms() - begin < SOON_MS);
    process_thaw(b->pid);
    S_OK(b, wait_flag, .timeout = LONG_MS);
    SCITerminate();
}
