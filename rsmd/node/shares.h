/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What each user has of what the node has little of, and how much he may have.
 *
 * Every user has one account, whatever number of connections he has. Whoever makes something takes
 * its price from the owner's account first, and gives it back when it is gone. Three bounds hold:
 *
 *  - one user has no more than his share (max-user-share), so that others find room;
 *  - all users together leave a reserve, so that root finds room;
 *  - all together have no more than the total. The daemon's own needs are no part of that.
 *
 * Root, and the user whom the daemon runs as, are bound by the total alone. An embedded node serves
 * nobody else, so there its user may have everything.
 *
 * Each connection has an account within its user's, which holds it to three quarters of the
 * descriptors, so that one program leaves some to the others of its user.
 *
 * Users of other hosts import segments of this node. Their accounts lie within one of their node,
 * which is held to the share of one user, each of its users to the same part of that: a remote
 * daemon that invents users gets no more than that share.
 *
 * All of it on rsmd's main thread, in constant time.
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

/** Lives as long as somebody holds it or anything is charged to it. */
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
    uint64_t unread;    /**< descriptors in replies that nobody has read (server/unread.h) */
    uint64_t used[RSMD_RESOURCES];
    UT_hash_handle hh;
};

/** Work the quotas out from the configuration, the limits of this process and the machine. */
void rsmd_shares_init(struct rsmd_shares *shares, const struct rsmd_conf *conf);
/** Work them out anew, from a changed configuration. Who has more than he may have now keeps it. */
void rsmd_shares_update(struct rsmd_shares *shares, const struct rsmd_conf *conf);
/** Nobody holds an account and nothing is charged any more. */
void rsmd_shares_end(struct rsmd_shares *shares);

/** By the same rule, what a user may have of what a transport's port has little of. */
struct rsm_user_share rsmd_shares_of_ports(const struct rsmd_shares *shares);

/** Set the quota of one resource anew. */
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
/** Hold it no longer; NULL is harmless. */
void rsmd_account_drop(struct rsmd_account *account);

/** Whether the account may have so much more. If not, the log says what is full and whose it is,
 *  once a minute at most for each resource. */
bool rsmd_share_fits(const struct rsmd_account *account, enum rsmd_resource resource,
                     uint64_t amount);
/** Charge the account with so much more. False: it does not fit, and nothing has changed. */
bool rsmd_share_take(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);
/** Charge it with what it has had before: of the daemon's predecessor. It may be more than fits. */
void rsmd_share_charge(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);
/** Give back what was taken. The account may be gone afterwards unless somebody holds it. */
void rsmd_share_give(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount);

#endif
