/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Sleep on the event counters of many handles at once. A post still costs what it costs with
 *  one waiter: the sleeper has no poll descriptor, so no poster has to ask rsmd to ring. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"
#include "core/event.h"

enum { RSMCORE_EVENT_SLEEP_MAX = 128 };

RSMCORE_EXPORTS_BEGIN

/** On how many words one sleep may wait: RSMCORE_EVENT_SLEEP_MAX, or 1 where the kernel has no
 *  futex_waitv (before Linux 5.16). */
unsigned rsmcore_event_sleep_max(void);

/** Whether an event can be consumed, or none will ever come any more. The counter is open. */
bool rsmcore_event_is_due(const struct rsmcore_event *event);

/** Whether an event comes within the few microseconds that a futex wake takes. It is not waited for
 *  if the latest poster was on this processor. */
bool rsmcore_event_is_due_soon(const struct rsmcore_event *event);

/** Announce that a thread sleeps on the counter, or will: posts wake one who does. What was posted
 *  before may have woken none: look whether the event is due. */
void rsmcore_event_announce(struct rsmcore_event *event);
/** Take the announcement back: posts need wake no thread. */
void rsmcore_event_retract(struct rsmcore_event *event);

/**
 * Sleep until one of the counters, of which that is announced, is not 0, or @p word is not @p
 * seen, and no longer than RSMCORE_EVENT_LOOK_MS. It may return sooner. A thread that changes the
 * word wakes those who sleep by rsmcore_event_wake().
 * @param word  NULL: none. @p count and the word are at most rsmcore_event_sleep_max().
 * @return which of the events a post has woken us by; anything else where none has.
 */
unsigned rsmcore_event_sleep(struct rsmcore_event *const events[], unsigned count,
                             _Atomic uint32_t *word, uint32_t seen);

/** Wake up to @p count who sleep on @p word. */
void rsmcore_event_wake(_Atomic uint32_t *word, int count);

RSMCORE_EXPORTS_END
