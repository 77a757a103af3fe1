/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What has been posted on a connection, and what of it has happened. A reliable connection
 *  executes and completes in order, so a completion stands for everything posted before it; and its
 *  first failure is its last: nothing behind it happens.
 *
 *  The caller holds the connection's lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct verbs_sendq {
    uint64_t posted;    /**< number of the latest work request; the first is 1 */
    uint64_t completed; /**< all up to this one have happened */
    bool dead;          /**< the connection has failed */
};

/** Work requests under way. */
static inline uint64_t verbs_sendq_outstanding(const struct verbs_sendq *sendq)
{
    return sendq->dead ? 0 : sendq->posted - sendq->completed;
}

/** @p count requests have been posted; @return the number of the latest. */
static inline uint64_t verbs_sendq_posted(struct verbs_sendq *sendq, uint32_t count)
{
    sendq->posted += count;
    return sendq->posted;
}

/** A success arrived. A number that was never posted is the fabric's error and is cut. */
static inline void verbs_sendq_completed(struct verbs_sendq *sendq, uint64_t number)
{
    if (!sendq->dead && number > sendq->completed)
        sendq->completed = number < sendq->posted ? number : sendq->posted;
}

/** The connection failed: what has not completed by now never will. */
static inline void verbs_sendq_fail(struct verbs_sendq *sendq)
{
    sendq->dead = true;
}
