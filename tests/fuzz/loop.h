/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One turn of an event loop, which is a step (fuzz.h). EVLOOP_ONCE is what makes it one: without it libevent
 * goes on as long as anything is due, and a slice is always followed by the next one.
 */
#ifndef TESTS_FUZZ_LOOP_H
#define TESTS_FUZZ_LOOP_H

#include <event2/event.h>

#include "fuzz.h"

static inline void loop_turn(struct event_base *base)
{
    int64_t begin = fuzz_step_begin();
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    fuzz_step_end(begin, "a turn of the event loop");
}

#endif
