/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Accounts of what each user has of the node's limited resources, and the bounds.
 *
 * Every user has one account, whatever the number of connections. Code that makes an object charges
 * the owner's account first, and gives the charge back when the object is gone. Three bounds hold:
 *
 *  - one user has no more than a share (max-user-share), so that others find room;
 *  - all users together leave a reserve, so that root finds room;
 *  - all together have no more than the total. The daemon's own needs are not part of it.
 *
 * Root, and the user that the daemon runs as, are bound only by the total. An embedded node serves
 * no other user, so its user may have everything.
 *
 * Each connection has an account within its user's, which holds it to three quarters of the
 * descriptors, so that one program leaves some to the others of its user.
 *
 * Users of other hosts import segments of this node. Their accounts lie within that of their node,
 * which is held to the share of one user; each of its users is held to the same part of that. A
 * remote daemon that invents users gets no more than that share.
 *
 * All functions run on rsmd's main thread, in constant time.
 */
#ifndef RSMD_SHARES_H
#define RSMD_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/proto.h"
#include "rsm/transport.h"
#include "common/tables.h"

struct rsmd_conf;

/** What is counted; the order is that of rsm_shares_reply. */
enum rsmd_resource {
    RSMD_CONNECTIONS = RSM_SHARES_CONNECTIONS, /**< sockets whose process has said HELLO */
    RSMD_DESCRIPTORS = RSM_SHARES_DESCRIPTORS, /**< that the daemon keeps open */
    RSMD_SEGMENTS = RSM_SHARES_SEGMENTS,       /**< exports and imports */
    RSMD_BYTES = RSM_SHARES_BYTES,             /**< in extents, populated or not */
    RSMD_PINNED = RSM_SHARES_PINNED,           /**< bytes in extents of transports that pin them */
    RSMD_FORWARDS = RSM_SHARES_FORWARDS,       /**< requests that other hosts have to answer */
    RSMD_RECORDS = RSM_SHARES_RECORDS,         /**< and messages of interrupts, not yet fetched */
    RSMD_INTERRUPTS = RSM_SHARES_INTERRUPTS,   /**< (interrupts.h) */
    RSMD_THREADS = RSM_SHARES_THREADS,         /**< that transports keep for connections */
    RSMD_RESOURCES = RSM_SHARES_COUNT
};

/** UINT64_MAX: no bound. */
struct rsmd_quota {
    uint64_t total;
    uint64_t users;       /**< all users together */
    uint64_t one;         /**< one user, or one node of another host */
    uint64_t one_of_node; /**< one user of a node of another host */
};

struct rsmd_shares {
    uint32_t percent; /**< max-user-share */
    uid_t own_uid;    /**< of the daemon */
    struct rsmd_quota quota[RSMD_RESOURCES];
    uint64_t used[RSMD_RESOURCES];          /**< by all */
    uint64_t used_by_users[RSMD_RESOURCES]; /**< by those that the reserve is not for */
    int64_t logged[RSMD_RESOURCES];         /**< when the log last said that it is full; seconds */
    struct rsmd_account *accounts;          /**< by key, in the order of their serial numbers */
    uint64_t last_serial;
    uint32_t ungreeted_max;          /**< connections that have not said HELLO */
    uint32_t ungreeted_max_per_user; /**< of one user */
};

/** Users of nodes of other hosts taken together. */
#define RSMD_ALL_USERS RSM_SHARES_ALL_USERS

struct rsmd_account_key {
    uint32_t node; /**< of another host; 0: users of this host */
    uint32_t uid;  /**< or RSMD_ALL_USERS */
};

/** Lives while it is held or charged. */
struct rsmd_account {
    struct rsmd_shares *shares;
    struct rsmd_account *parent; /**< of a connection its user's, of a user of another host that of
                                    its node; NULL: of a user of this host, or a node */
    bool listed;                 /**< in `accounts`; those of connections are not */
    struct rsmd_account_key key;
    uint64_t serial; /**< never 0, ascending */
    uint32_t holders;
    bool privileged;    /**< root's, or that of the daemon's own user: the reserve is for them */
    uint32_t ungreeted; /**< connections that have not said HELLO */
    uint64_t unread;    /**< descriptors in unread replies (server/connection.h) */
    uint64_t used[RSMD_RESOURCES];
    UT_hash_handle hh;
};

/** Compute the quotas from the configuration, the limits of this process and the machine. */
void rsmd_shares_init(struct rsmd_shares *shares, const struct rsmd_conf *conf);
/** Compute them again, from a changed configuration. Accounts that have more than is now allowed
 *  keep it. */
void rsmd_shares_update(struct rsmd_shares *shares, const struct rsmd_conf *conf);
/** Free the accounts. None is held or charged any more. */
void rsmd_shares_end(struct rsmd_shares *shares);

/** A user's share of the limited resources of a transport's port, by the same rule. */
struct rsm_user_share rsmd_shares_of_ports(const struct rsmd_shares *shares);

/** Change the quota of one resource. */
void rsmd_shares_limit(struct rsmd_shares *shares, enum rsmd_resource resource, uint64_t total);

/** Whether the sums over all accounts are what the totals say, and no quota is exceeded. */
bool rsmd_shares_are_sound(const struct rsmd_shares *shares);

/** The account of a user of this host, held for the caller. NULL: no memory. */
struct rsmd_account *rsmd_account_of_user(struct rsmd_shares *shares, uid_t uid);
/** A new account for one connection of a user of this host. NULL: no memory. */
struct rsmd_account *rsmd_account_of_connection(struct rsmd_shares *shares, uid_t uid);
/** The account of a user of another host's node, held for the caller. NULL: no memory. */
struct rsmd_account *rsmd_account_of_remote(struct rsmd_shares *shares, uint32_t node, uid_t uid);
struct rsmd_account *rsmd_account_hold(struct rsmd_account *account);
/** Drop a reference. NULL is harmless. */
void rsmd_account_drop(struct rsmd_account *account);

/** Whether the account may have @p amount more. If not, the log names the full resource and its
 *  largest user, at most once a minute for each resource. */
bool rsmd_share_fits(const struct rsmd_account *account, enum rsmd_resource resource,
                     uint64_t amount);
/** Charge the account with @p amount. False: it does not fit, and nothing has changed. */
bool rsmd_share_take(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);
/** Charge it with what it had under the daemon's predecessor, even beyond the quota. */
void rsmd_share_charge(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);
/** Give back a charge. The account may be gone afterwards unless it is held. */
void rsmd_share_give(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);

#endif
