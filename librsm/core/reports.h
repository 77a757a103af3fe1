/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which threads ask a transport for its errors at this moment.
 *
 * complete() tells each error to one caller. Until that caller has counted it for the connection
 * (rsmcore_import_note()), no other thread can know of it. Callers therefore register while they
 * ask, and a barrier that the transport has told of nothing waits for those who asked at the same
 * time. It does not wait for those who come later, so that nobody waits for ever.
 */
#ifndef RSMCORE_REPORTS_H
#define RSMCORE_REPORTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Callers are counted in one of two counters; `word` has both, and the number of the turn, whose
 *  lowest bit says which counter new callers take. A turn begins when nobody is left of the one
 *  before the last. All zeros: nobody asks. */
struct rsmcore_reports {
    _Atomic uint64_t word;
};

/** Register the calling thread. @return the turn, for rsmcore_reports_leave(). */
uint32_t rsmcore_reports_enter(struct rsmcore_reports *reports);
/** What the transport told has been counted. */
void rsmcore_reports_leave(struct rsmcore_reports *reports, uint32_t turn);
/** Whether anybody is registered whose errors the caller may have missed. */
bool rsmcore_reports_is_quiet(const struct rsmcore_reports *reports);
/** Wait until all that are registered now have left. */
void rsmcore_reports_await(struct rsmcore_reports *reports);

#endif
