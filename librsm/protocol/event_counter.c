/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/event_counter.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/sealed.h"

_Static_assert(RSM_SIGNALS_MAX == RSM_EVENT_COALESCED_FIRST - 1, "a relay holds what travels");

/* The page that a counter is mapped in. */
static size_t counter_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct rsm_event_counter *rsm_event_counter_map(int fd)
{
    if (fd >= 0 && !rsm_is_sealed_memory(fd, counter_bytes()))
        return NULL;
    void *mapped = rsmcore_mmap_apart(counter_bytes(), PROT_READ | PROT_WRITE,
                                      fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

void rsm_event_counter_unmap(struct rsm_event_counter *counter)
{
    munmap(counter, counter_bytes());
}

/* What the counter becomes. A relay's coalesced event counts at the other end if nothing is pending
 * there; behind events that are on their way it never does. */
static uint32_t posted(uint32_t pending, uint32_t count, bool coalesce, bool relay)
{
    if (coalesce && pending != 0)
        return pending;
    if (coalesce)
        return relay ? RSM_EVENT_COALESCED_FIRST : 1;
    uint32_t first = relay ? pending & RSM_EVENT_COALESCED_FIRST : 0;
    uint32_t max = relay ? RSM_EVENT_COALESCED_FIRST - 1 : UINT32_MAX;
    uint32_t number = pending - first;
    return first | (count > max || number > max - count ? max : number + count);
}

/* As it is kept in a counter. No system call where the C library or the vDSO knows it. */
static uint32_t own_processor(void)
{
    return (uint32_t)(sched_getcpu() + 1);
}

/* Before the counter moves, in the same cache line: a waiter that finds the event finds it. */
static void note_processor(struct rsm_event_counter *counter)
{
    uint32_t own = own_processor();
    if (atomic_load_explicit(&counter->processor, memory_order_relaxed) != own)
        atomic_store_explicit(&counter->processor, own, memory_order_relaxed);
}

bool rsm_event_counter_may_spin(const struct rsm_event_counter *counter)
{
    uint32_t poster = atomic_load_explicit(&counter->processor, memory_order_relaxed);
    return poster == 0 || poster != own_processor();
}

bool rsm_event_counter_post(struct rsm_event_counter *counter, uint32_t count, bool coalesce)
{
    note_processor(counter);
    bool relay = counter->relay != 0;
    uint32_t pending = atomic_load(&counter->pending), sum;
    /* Store the counter even if it does not change: a load alone is not ordered against the
     * consumer of the pending event. With the weak order of arm64 the consumer could load the
     * poster's data too early while the poster finds the event not yet consumed. A consumer whose
     * exchange comes later finds the data by this store, and one whose exchange came before leaves
     * 0 here. */
    do
        sum = posted(pending, count, coalesce, relay);
    while (!atomic_compare_exchange_weak(&counter->pending, &pending, sum));
    int max = count < INT_MAX ? (int)count : INT_MAX;
    if (atomic_load(&counter->waiters) > 0)
        syscall(SYS_futex, &counter->pending, FUTEX_WAKE, max, NULL, NULL, 0);
    return pending == 0 && sum != 0 && atomic_load(&counter->armed) != 0;
}

bool rsm_event_counter_retract(struct rsm_event_counter *counter, bool coalesce)
{
    bool first = coalesce && counter->relay != 0;
    uint32_t of_its_kind = first ? RSM_EVENT_COALESCED_FIRST : UINT32_MAX;
    if (!first && counter->relay != 0)
        of_its_kind = RSM_EVENT_COALESCED_FIRST - 1;
    uint32_t pending = atomic_load(&counter->pending);
    do
        if ((pending & of_its_kind) == 0)
            return false;
    while (!atomic_compare_exchange_weak(&counter->pending, &pending,
                                         pending - (first ? RSM_EVENT_COALESCED_FIRST : 1)));
    return true;
}

struct rsm_signals rsm_event_counter_take(struct rsm_event_counter *counter)
{
    uint32_t taken = atomic_exchange(&counter->pending, 0);
    return (struct rsm_signals){.count = taken & ~RSM_EVENT_COALESCED_FIRST,
                                .coalesced = (taken & RSM_EVENT_COALESCED_FIRST) != 0};
}
