/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One turn of an event loop, which is a step (fuzz.h). */
#ifndef TESTS_FUZZ_LOOP_H
#define TESTS_FUZZ_LOOP_H

#include <event2/event.h>

#include "fuzz.h"

static inline void loop_turn(struct event_base *base)
{
    int64_t begin = fuzz_step_begin();
    event_base_loop(base, EVLOOP_NONBLOCK);
    fuzz_step_end(begin, "a turn of the event loop");
}

#endif
