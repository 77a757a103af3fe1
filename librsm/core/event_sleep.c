/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/event_sleep.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/event_internal.h"

/* Of the kernel's interface, which older headers lack. */
struct word {
    uint64_t value, address;
    uint32_t flags, reserved;
};
enum {
    FUTEX_WAITV_NUMBER = 449, /* on every architecture */
    WORD_OF_32_BITS = 2,
};

unsigned rsmcore_event_sleep_max(void)
{
    static atomic_uint known;
    unsigned max = atomic_load_explicit(&known, memory_order_relaxed);
    if (max == 0) {
        /* A kernel that has the call refuses an empty list as invalid. */
        bool has = syscall(FUTEX_WAITV_NUMBER, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
        max = has ? RSMCORE_EVENT_SLEEP_MAX : 1;
        atomic_store_explicit(&known, max, memory_order_relaxed);
    }
    return max;
}

static bool is_posted(const struct rsmcore_event *event)
{
    struct rsm_event_counter *counter = atomic_load_explicit(&event->counter, memory_order_acquire);
    return atomic_load_explicit(&counter->pending, memory_order_acquire) > 0;
}

bool rsmcore_event_is_due(const struct rsmcore_event *event)
{
    return is_posted(event) || rsmcore_event_state(event) != RSM_ST_OK;
}

bool rsmcore_event_is_due_soon(const struct rsmcore_event *event)
{
    rsmcore_event_spin(atomic_load(&event->counter));
    return is_posted(event);
}

/* By the call that every kernel has, where there is only one. */
static unsigned sleep_on(const struct word *words, unsigned count)
{
    long woken;
    const struct timespec until = rsm_timespec(rsm_deadline(RSMCORE_EVENT_LOOK_MS));
    if (count == 1)
        woken = syscall(SYS_futex, (uintptr_t)words->address, FUTEX_WAIT_BITSET,
                        (uint32_t)words->value, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    else
        woken = syscall(FUTEX_WAITV_NUMBER, words, count, 0, &until, CLOCK_MONOTONIC);
    return woken < 0 ? count : (unsigned)woken;
}

static struct word word_at(const _Atomic uint32_t *address, uint32_t value)
{
    return (struct word){.value = value, .address = (uintptr_t)address, .flags = WORD_OF_32_BITS};
}

void rsmcore_event_announce(struct rsmcore_event *event)
{
    atomic_fetch_add(&atomic_load(&event->counter)->waiters, 1);
}

void rsmcore_event_retract(struct rsmcore_event *event)
{
    atomic_fetch_sub(&atomic_load(&event->counter)->waiters, 1);
}

unsigned rsmcore_event_sleep(struct rsmcore_event *const events[], unsigned count,
                             _Atomic uint32_t *word, uint32_t seen)
{
    struct word words[RSMCORE_EVENT_SLEEP_MAX];
    unsigned all = count;
    for (unsigned i = 0; i < count; i++)
        words[i] = word_at(&atomic_load(&events[i]->counter)->pending, 0);
    if (word != NULL)
        words[all++] = word_at(word, seen);
    return sleep_on(words, all);
}

void rsmcore_event_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}
