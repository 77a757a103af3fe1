/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What has been posted on a connection, what of it has happened, and whether a failure still has to
 * be told. A reliable connection executes and completes in order, so a completion stands for
 * everything posted before it; and its first failure is its last: nothing behind it happens.
 *
 * The caller holds the connection's lock.
 */
#ifndef VERBS_SENDQ_H
#define VERBS_SENDQ_H

#include <stdbool.h>
#include <stdint.h>

struct verbs_sendq {
    uint64_t posted;    /**< number of the latest work request; the first is 1 */
    uint64_t completed; /**< all up to this one have happened */
    uint64_t unwaited;  /**< the latest one whose caller has not waited for it */
    bool dead;          /**< the connection has failed */
    bool error_pending; /**< an access whose caller was told of success has failed */
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

/** The caller of everything up to @p number is told of success now. */
static inline void verbs_sendq_report_success(struct verbs_sendq *sendq, uint64_t number)
{
    if (number > sendq->unwaited)
        sendq->unwaited = number;
    if (sendq->dead && number > sendq->completed)
        sendq->error_pending = true;
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
    if (!sendq->dead && sendq->unwaited > sendq->completed)
        sendq->error_pending = true;
    sendq->dead = true;
}

/** Whether complete() has a failure to tell; it is told once. */
static inline bool verbs_sendq_take_error(struct verbs_sendq *sendq)
{
    bool failed = sendq->error_pending;
    sendq->error_pending = false;
    return failed;
}

#endif
