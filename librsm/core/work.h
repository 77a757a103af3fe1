/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Works: transfers of an import that proceed while the caller does something else, and whose
 *  completions are reported one by one (struct rsm_completion_ops in <rsm/transport.h>).
 *
 *  All works of an import share one queue of completions. A thread that polls or waits for one work
 *  takes all completions, and marks the works of other threads as ended. Any number of threads may
 *  post, poll and wait at once; only one thread polls or waits for a given work. The import must
 *  stay until all its works have ended and these functions have returned. */
#pragma once

#include "core/import.h"

RSMCORE_EXPORTS_BEGIN

/** A work. The caller provides the memory, which must stay from a successful rsmcore_work_post()
 *  until rsmcore_work_poll() has returned true or rsmcore_work_wait() has returned. The members are
 *  private to the functions below. */
struct rsmcore_work {
    struct rsmcore_import *import;
    enum rsm_status status; /* once it is done */
    atomic_bool done;       /* set last, by the thread that took the completion */
};

/** Whether the transport carries out works on its own, reads or writes. If not, a work has ended
 *  when rsmcore_work_post() returns. Writes lose the ability when the mapping engine makes the
 *  connection mappable, because pages that are shown change with them. */
bool rsmcore_work_is_asynchronous(const struct rsmcore_import *import, bool read);

/** What a work moves: @p length bytes between the segment, from @p offset on, and @p local. */
struct rsmcore_work_request {
    bool read; /**< from the segment */
    uint64_t offset;
    void *local; /**< stays valid as long as the work */
    size_t length;
};

/**
 * Begin a work. Works are carried out and end in any order, also relative to other transfers of the
 * import; rsmcore_import_order() and rsmcore_import_complete() do not wait for them.
 * @return RSM_ST_OK; RSM_ST_DENIED, RSM_ST_RANGE: as a put or get; RSM_ST_BUSY: too many works of
 *         this import are under way; RSM_ST_NO_MEMORY; RSM_ST_STALE: after a fork(). On error
 *         nothing has begun.
 */
enum rsm_status rsmcore_work_post(struct rsmcore_import *import, struct rsmcore_work *work,
                                  const struct rsmcore_work_request *request);

/** Whether a work that was posted has ended, without waiting. True: *status says how, as the result
 *  of rsmcore_work_wait(), and the work is the caller's again. */
bool rsmcore_work_poll(struct rsmcore_work *work, enum rsm_status *status);

/**
 * Wait until a work that was posted has ended: its bytes are where they were to go, or the
 * transport has given up and touches the memory no more. Not a cancellation point.
 * @return RSM_ST_OK; RSM_ST_ABORTED: it failed, and the connection was cut; RSM_ST_TRANSFER, or
 *         what else the transport says: it failed, which open barriers learn, too (barrier.h);
 *         RSM_ST_STALE: it is a work of the parent's, after a fork().
 */
enum rsm_status rsmcore_work_wait(struct rsmcore_work *work);

RSMCORE_EXPORTS_END
