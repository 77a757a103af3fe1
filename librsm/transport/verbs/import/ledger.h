/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What has been posted on a connection, what of it has happened, and whether a failure still has to
 * be told. A reliable connection executes and completes in order, so a completion stands for
 * everything posted before it; and its first failure is its last: nothing behind it happens.
 *
 * The caller holds the connection's lock.
 */
#ifndef VERBS_LEDGER_H
#define VERBS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct verbs_ledger {
    uint64_t posted;    /**< number of the latest work request; the first is 1 */
    uint64_t completed; /**< all up to this one have happened */
    uint64_t unwatched; /**< the latest one whose caller has not waited for it */
    bool dead;          /**< the connection has failed */
    bool untold;        /**< an access whose caller was told of success has failed */
};

/** Work requests under way. */
static inline uint64_t verbs_ledger_flying(const struct verbs_ledger *ledger)
{
    return ledger->dead ? 0 : ledger->posted - ledger->completed;
}

/** @p count requests have been posted; @return the number of the latest. */
static inline uint64_t verbs_ledger_post(struct verbs_ledger *ledger, uint32_t count)
{
    ledger->posted += count;
    return ledger->posted;
}

/** The caller of everything up to @p number is told of success now. */
static inline void verbs_ledger_leave(struct verbs_ledger *ledger, uint64_t number)
{
    if (number > ledger->unwatched)
        ledger->unwatched = number;
    if (ledger->dead && number > ledger->completed)
        ledger->untold = true;
}

/** A success arrived. A number that was never posted is the fabric's error and is cut. */
static inline void verbs_ledger_complete(struct verbs_ledger *ledger, uint64_t number)
{
    if (!ledger->dead && number > ledger->completed)
        ledger->completed = number < ledger->posted ? number : ledger->posted;
}

/** The connection failed: what has not completed by now never will. */
static inline void verbs_ledger_die(struct verbs_ledger *ledger)
{
    if (!ledger->dead && ledger->unwatched > ledger->completed)
        ledger->untold = true;
    ledger->dead = true;
}

/** Whether complete() has a failure to tell; it is told once. */
static inline bool verbs_ledger_tell(struct verbs_ledger *ledger)
{
    bool failed = ledger->untold;
    ledger->untold = false;
    return failed;
}

#endif
