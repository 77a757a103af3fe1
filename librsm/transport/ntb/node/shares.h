/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What each user has of what a bridge has little of, and how much he may have.
 *
 *  A range of the pool belongs to a user's share from before it is made until it can be used again,
 *  however long a process keeps a descriptor or the other host an import. So does the counter of a
 *  connection until the other host has released it.
 *
 *  Root and the daemon's own user are bound by the total alone, for which nothing needs an account.
 *
 *  Constant time. The caller has a lock. */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "rsm/transport.h"

enum ntb_resource {
    NTB_POOL,     /**< bytes */
    NTB_IN_PLACE, /**< bytes of the room behind the pool */
    NTB_RANGES,   /**< of either */
    NTB_COUNTERS, /**< of connections with importers of the other host */
    NTB_RESOURCES
};

struct ntb_user {
    uint32_t node; /**< of another host; 0: this one */
    uint32_t uid;
};

/** The user of ranges of an earlier daemon: not known. */
#define NTB_UNKNOWN_USER UINT32_MAX

struct ntb_account {
    struct ntb_user user;
    uint64_t used[NTB_RESOURCES];
    UT_hash_handle hh; /* by user */
};

struct ntb_shares {
    struct rsm_user_share share; /**< one_percent 0: nothing is bounded */
    uint32_t own_uid;            /**< of the daemon */
    uint64_t total[NTB_RESOURCES];
    uint64_t used[NTB_RESOURCES];     /**< by those that the reserve is not for */
    int64_t logged_ms[NTB_RESOURCES]; /**< when a refusal was last logged; 0: never */
    struct ntb_account *accounts;
};

/** With all totals 0. */
void ntb_shares_begin(struct ntb_shares *shares);
/** Whatever is charged. */
void ntb_shares_end(struct ntb_shares *shares);

/** False: it is more than the user may have, which the log says once a minute at most; or no
 *  memory. */
bool ntb_share_take(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                    uint64_t amount);
/** Whether or not it fits. False: no memory. */
bool ntb_share_charge(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                      uint64_t amount);
void ntb_share_give(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                    uint64_t amount);
