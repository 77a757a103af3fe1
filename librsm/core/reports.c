/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/reports.h"

#include <time.h>

#include "base/fence.h"

enum {
    COUNT_BITS = 24,
    TURN_SHIFT = 2 * COUNT_BITS,
    PAUSES_BEFORE_SLEEP = 200, /* mostly the other thread is about to leave */
    SLEEP_NS = 50 * 1000,
};

#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

static uint16_t turn_of(uint64_t word)
{
    return (uint16_t)(word >> TURN_SHIFT);
}

static unsigned shift_of(uint32_t turn)
{
    return (turn & 1) * COUNT_BITS;
}

/* How many are registered in this turn, if it is the current one or the one before. */
static uint64_t count_of(uint64_t word, uint32_t turn)
{
    return word >> shift_of(turn) & COUNT_MASK;
}

static bool is_quiet(uint64_t word)
{
    return count_of(word, 0) == 0 && count_of(word, 1) == 0;
}

uint32_t rsmcore_reports_enter(struct rsmcore_reports *reports)
{
    uint64_t word = atomic_load_explicit(&reports->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&reports->word, &word,
                                                  word + (UINT64_C(1) << shift_of(turn_of(word))),
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
    return turn_of(word);
}

void rsmcore_reports_leave(struct rsmcore_reports *reports, uint32_t turn)
{
    atomic_fetch_sub_explicit(&reports->word, UINT64_C(1) << shift_of(turn), memory_order_acq_rel);
}

bool rsmcore_reports_is_quiet(const struct rsmcore_reports *reports)
{
    return is_quiet(atomic_load_explicit(&reports->word, memory_order_acquire));
}

static void pause_or_sleep(unsigned round)
{
    if (round < PAUSES_BEFORE_SLEEP)
        rsm_pause();
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
}

/* Those who are registered in turn t or the one before have left when turn t + 2 begins. Whoever
 * waits moves the turns on. */
void rsmcore_reports_await(struct rsmcore_reports *reports)
{
    uint64_t word = atomic_load_explicit(&reports->word, memory_order_acquire);
    uint16_t first = turn_of(word);
    unsigned round = 0;
    while (!is_quiet(word) && (uint16_t)(turn_of(word) - first) < 2) {
        bool before_has_left = count_of(word, turn_of(word) + 1u) == 0;
        if (!before_has_left)
            pause_or_sleep(round++);
        else if (atomic_compare_exchange_weak_explicit(&reports->word, &word,
                                                       word + (UINT64_C(1) << TURN_SHIFT),
                                                       memory_order_acq_rel, memory_order_relaxed))
            continue;
        word = atomic_load_explicit(&reports->word, memory_order_acquire);
    }
}
