/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How much of a long job, such as one on many connections, rsmd does at once. If there is a server,
 * the rest follows in later rounds of the event loop.
 */
#pragma once

#include "base/clock.h"
#include "node/node.h"

/** The end (rsm_clock_ns()) of a slice that begins now. INT64_MAX: all is done at once. */
static inline int64_t rsmd_slice_end(const struct rsmd_node *node)
{
    static const int64_t slice_ns = 1000000;
    return node->has_turns ? rsm_clock_ns() + slice_ns : INT64_MAX;
}

static inline bool rsmd_slice_is_over(int64_t until)
{
    return until != INT64_MAX && rsm_clock_ns() >= until;
}
