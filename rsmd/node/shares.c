/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "node/shares.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf/conf.h"
#include "protocol/sharedmem.h"
#include "base/log.h"
#include "base/memory_limit.h"

enum {
    RESERVE_PERCENT = 5,
    CONNECTIONS_MAX = 4096,
    FORWARDS_MAX = 4096,
    RECORDS_MAX = 65536,                             /* of up to 1 KiB */
    INTERRUPTS_MAX = RSM_GENERATION_TABLE_SLOTS - 1, /* which have places, from 1 on */
    THREADS_MAX = 256,
    LOG_EVERY_S = 60,

    /* Descriptors that the daemon needs for itself. */
    OWN_FIXED = 32,         /* listener, lock, loop, signals, log, table, spare */
    OWN_IN_HAND = 128,      /* of a request and its reply */
    OWN_PER_CONTROLLER = 8, /* device, its channels, listener */
    OWN_FOR_LINKS = 96,     /* strangers, listener, resolver, munged */
    OWN_PER_NODE = 2,       /* the link and the next attempt at it */
    OWN_PER_UNGREETED = 2,  /* socket and pidfd */
    UNGREETED_MIN = 8,
    UNGREETED_MAX = 256,
    UNGREETED_PART = 16,     /* of the descriptors */
    UNGREETED_USER_PART = 4, /* of those, one user */
};

static const char *const names[RSMD_RESOURCES] = {
    [RSMD_CONNECTIONS] = "connections",
    [RSMD_DESCRIPTORS] = "descriptors",
    [RSMD_SEGMENTS] = "segments",
    [RSMD_BYTES] = "bytes of exported memory",
    [RSMD_PINNED] = "bytes of pinned memory",
    [RSMD_FORWARDS] = "requests to other hosts",
    [RSMD_RECORDS] = "records and messages",
    [RSMD_INTERRUPTS] = "interrupts",
    [RSMD_THREADS] = "threads of transports",
};

/* ------------------------------------------------------------------ quotas */

/* Of an amount that may be as large as memories are. */
static uint64_t percent_of(uint64_t amount, uint32_t percent)
{
    return amount / 100 * percent + amount % 100 * percent / 100;
}

/* At least 1, so that small limits admit a user. */
static uint64_t part_of(uint64_t amount, uint32_t percent)
{
    uint64_t part = percent_of(amount, percent);
    return part == 0 && amount > 0 ? 1 : part;
}

/* @p total may be UINT64_MAX; shares are then those of @p base. */
static struct rsmd_quota quota_of(uint64_t total, uint64_t base, uint32_t percent)
{
    /* Of fewer than four nothing is reserved. */
    uint64_t reserve = total == UINT64_MAX || total < 4 ? 0 : part_of(total, RESERVE_PERCENT);
    struct rsmd_quota quota = {.total = total, .users = total - reserve};
    quota.one = part_of(base, percent);
    if (quota.one > quota.users)
        quota.one = quota.users;
    quota.one_of_node = part_of(quota.one, percent);
    return quota;
}

void rsmd_shares_limit(struct rsmd_shares *shares, enum rsmd_resource resource, uint64_t total)
{
    shares->quota[resource] = quota_of(total, total, shares->percent);
}

struct rsm_user_share rsmd_shares_of_ports(const struct rsmd_shares *shares)
{
    return (struct rsm_user_share){.size = sizeof(struct rsm_user_share),
                                   .one_percent = shares->percent,
                                   .reserve_percent = RESERVE_PERCENT};
}

/* Whether RLIMIT_MEMLOCK does not bind this process. */
static bool may_lock_all(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective >> CAP_IPC_LOCK & 1) != 0;
}

static void limit_memory(struct rsmd_shares *shares, const struct rsmd_conf *conf)
{
    uint64_t physical = rsmcore_memory_size();
    uint64_t max = conf->max_exported_percent == 0
                       ? UINT64_MAX
                       : percent_of(physical, conf->max_exported_percent);
    uint64_t base = max < physical ? max : physical;
    struct rlimit locked;
    shares->quota[RSMD_BYTES] = quota_of(max, base, shares->percent);
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur < base && !may_lock_all())
        base = locked.rlim_cur;
    shares->quota[RSMD_PINNED] = quota_of(base, base, shares->percent);
}

/* How many descriptors the daemon reserves for itself. */
static uint64_t own_descriptors(const struct rsmd_shares *shares, const struct rsmd_conf *conf)
{
    uint64_t own = OWN_FIXED + OWN_IN_HAND + OWN_PER_UNGREETED * (uint64_t)shares->ungreeted_max;
    own += OWN_PER_CONTROLLER * (uint64_t)conf->controller_count;
    if (rsmd_conf_has_address(conf))
        own += OWN_FOR_LINKS + OWN_PER_NODE * (uint64_t)conf->node_count;
    return own;
}

static void limit_descriptors(struct rsmd_shares *shares, const struct rsmd_conf *conf)
{
    struct rlimit files = {.rlim_cur = 1024};
    getrlimit(RLIMIT_NOFILE, &files);
    uint64_t limit = files.rlim_cur < UINT32_MAX ? files.rlim_cur : UINT32_MAX;
    uint64_t silent = limit / UNGREETED_PART;
    shares->ungreeted_max = (uint32_t)(silent > UNGREETED_MAX   ? UNGREETED_MAX
                                       : silent < UNGREETED_MIN ? UNGREETED_MIN
                                                                : silent);
    shares->ungreeted_max_per_user = shares->ungreeted_max / UNGREETED_USER_PART;
    uint64_t own = own_descriptors(shares, conf);
    rsmd_shares_limit(shares, RSMD_DESCRIPTORS, limit - (own < limit / 2 ? own : limit / 2));
}

void rsmd_shares_init(struct rsmd_shares *shares, const struct rsmd_conf *conf)
{
    *shares = (struct rsmd_shares){.own_uid = geteuid()};
    rsmd_shares_update(shares, conf);
}

void rsmd_shares_update(struct rsmd_shares *shares, const struct rsmd_conf *conf)
{
    shares->percent = conf->max_user_share;
    rsmd_shares_limit(shares, RSMD_CONNECTIONS, CONNECTIONS_MAX);
    rsmd_shares_limit(shares, RSMD_SEGMENTS, conf->max_segments);
    rsmd_shares_limit(shares, RSMD_FORWARDS, FORWARDS_MAX);
    rsmd_shares_limit(shares, RSMD_RECORDS, RECORDS_MAX);
    rsmd_shares_limit(shares, RSMD_INTERRUPTS, INTERRUPTS_MAX);
    rsmd_shares_limit(shares, RSMD_THREADS, THREADS_MAX);
    limit_memory(shares, conf);
    limit_descriptors(shares, conf);
}

void rsmd_shares_end(struct rsmd_shares *shares)
{
    if (shares->accounts != NULL || !rsmd_shares_are_sound(shares))
        rsm_log_error("the accounts of users do not add up: this is a defect of rsmd");
}

/* ------------------------------------------------------------------ accounts */

static struct rsmd_account *find(const struct rsmd_shares *shares,
                                 const struct rsmd_account_key *key)
{
    struct rsmd_account *account;
    HASH_FIND(hh, shares->accounts, key, sizeof *key, account);
    return account;
}

/* Found or made, and held. A new one holds @p parent, which may be NULL. */
static struct rsmd_account *need(struct rsmd_shares *shares, struct rsmd_account_key key,
                                 struct rsmd_account *parent)
{
    struct rsmd_account *account = find(shares, &key);
    if (account != NULL)
        return rsmd_account_hold(account);
    account = calloc(1, sizeof *account);
    if (account == NULL)
        return NULL;
    account->shares = shares;
    account->key = key;
    account->serial = ++shares->last_serial;
    account->holders = 1;
    account->privileged = key.node == 0 && (key.uid == 0 || key.uid == shares->own_uid);
    HASH_ADD(hh, shares->accounts, key, sizeof account->key, account);
    if (account->hh.tbl == NULL) {
        free(account);
        return NULL;
    }
    account->listed = true;
    if (parent != NULL)
        account->parent = rsmd_account_hold(parent);
    return account;
}

struct rsmd_account *rsmd_account_of_user(struct rsmd_shares *shares, uid_t uid)
{
    return need(shares, (struct rsmd_account_key){.uid = uid}, NULL);
}

struct rsmd_account *rsmd_account_of_connection(struct rsmd_shares *shares, uid_t uid)
{
    struct rsmd_account *user = rsmd_account_of_user(shares, uid);
    if (user == NULL)
        return NULL;
    struct rsmd_account *account = calloc(1, sizeof *account);
    if (account == NULL) {
        rsmd_account_drop(user);
        return NULL;
    }
    *account = (struct rsmd_account){.shares = shares,
                                     .parent = user,
                                     .key = user->key,
                                     .holders = 1,
                                     .privileged = user->privileged};
    return account;
}

struct rsmd_account *rsmd_account_of_remote(struct rsmd_shares *shares, uint32_t node, uid_t uid)
{
    struct rsmd_account_key all = {.node = node, .uid = RSMD_ALL_USERS};
    struct rsmd_account *parent = need(shares, all, NULL);
    if (parent == NULL || uid == RSMD_ALL_USERS)
        return parent;
    struct rsmd_account *made =
        need(shares, (struct rsmd_account_key){.node = node, .uid = uid}, parent);
    rsmd_account_drop(parent);
    return made;
}

struct rsmd_account *rsmd_account_hold(struct rsmd_account *account)
{
    account->holders++;
    return account;
}

static bool is_needed(const struct rsmd_account *account)
{
    bool needed = account->holders > 0;
    for (unsigned i = 0; i < RSMD_RESOURCES; i++)
        needed |= account->used[i] > 0;
    return needed;
}

static void free_unless_needed(struct rsmd_account *account)
{
    struct rsmd_account *parent = account->parent;
    if (is_needed(account))
        return;
    if (account->listed)
        HASH_DEL(account->shares->accounts, account);
    free(account);
    rsmd_account_drop(parent);
}

void rsmd_account_drop(struct rsmd_account *account) /* NOLINT(misc-no-recursion): one step */
{
    if (account == NULL)
        return;
    account->holders--;
    free_unless_needed(account);
}

/* ------------------------------------------------------------------ taking and giving */

/* How much this account may have, regardless of the others. */
static uint64_t max_of(const struct rsmd_account *account, enum rsmd_resource resource)
{
    const struct rsmd_quota *quota = &account->shares->quota[resource];
    if (!account->listed)
        return resource == RSMD_DESCRIPTORS ? quota->total - quota->total / 4 : UINT64_MAX;
    if (account->privileged)
        return quota->total;
    return account->parent != NULL ? quota->one_of_node : quota->one;
}

static bool has_room(uint64_t max, uint64_t used, uint64_t amount)
{
    return used <= max && amount <= max - used;
}

/* The account whose share would be exceeded: this one or that of its node. NULL: neither. */
static const struct rsmd_account *exhausted(const struct rsmd_account *account,
                                            enum rsmd_resource resource, uint64_t amount)
{
    while (account != NULL && has_room(max_of(account, resource), account->used[resource], amount))
        account = account->parent;
    return account;
}

/* Whether all accounts together leave room for @p amount more. */
static bool others_leave_room(const struct rsmd_account *account, enum rsmd_resource resource,
                              uint64_t amount)
{
    const struct rsmd_shares *shares = account->shares;
    const struct rsmd_quota *quota = &shares->quota[resource];
    return has_room(quota->total, shares->used[resource], amount) &&
           (account->privileged || has_room(quota->users, shares->used_by_users[resource], amount));
}

enum { WHO_BYTES = 48 };

static const char *who_is(const struct rsmd_account *account, char text[WHO_BYTES])
{
    if (account->key.node == 0)
        snprintf(text, WHO_BYTES, "user %" PRIu32, account->key.uid);
    else if (account->parent == NULL)
        snprintf(text, WHO_BYTES, "node %" PRIu32, account->key.node);
    else
        snprintf(text, WHO_BYTES, "user %" PRIu32 " of node %" PRIu32, account->key.uid,
                 account->key.node);
    return text;
}

/* The account that has most, of users of this host and nodes of other hosts. */
static const struct rsmd_account *largest_account(const struct rsmd_shares *shares,
                                                  enum rsmd_resource resource)
{
    const struct rsmd_account *account, *largest = NULL;
    for (account = shares->accounts; account != NULL; account = account->hh.next)
        if (account->parent == NULL &&
            (largest == NULL || account->used[resource] > largest->used[resource]))
            largest = account;
    return largest;
}

/* Log that a user is refused, and which user has most. */
static void complain(const struct rsmd_account *account, enum rsmd_resource resource,
                     uint64_t amount)
{
    struct rsmd_shares *shares = account->shares;
    char who[WHO_BYTES], other[WHO_BYTES];
    int64_t now = rsm_clock_ms() / 1000;
    if (shares->logged[resource] != 0 && now - shares->logged[resource] < LOG_EVERY_S)
        return;
    shares->logged[resource] = now;
    const struct rsmd_account *full = exhausted(account, resource, amount);
    who_is(full != NULL ? full : account, who);
    if (full != NULL) {
        rsm_log_warning("%s has %" PRIu64 " of the %" PRIu64 " %s that one %s may take, and is "
                        "refused %" PRIu64 " more",
                        who, full->used[resource], max_of(full, resource), names[resource],
                        full->listed ? "user" : "process", amount);
        return;
    }
    const struct rsmd_account *largest = largest_account(shares, resource);
    rsm_log_warning("%" PRIu64 " of %" PRIu64 " %s are taken (the last %" PRIu64 " are for root), "
                    "most of them, %" PRIu64 ", by %s; %s is refused %" PRIu64 " more",
                    shares->used[resource], shares->quota[resource].total, names[resource],
                    shares->quota[resource].total - shares->quota[resource].users,
                    largest->used[resource], who_is(largest, other), who, amount);
}

bool rsmd_share_fits(const struct rsmd_account *account, enum rsmd_resource resource,
                     uint64_t amount)
{
    bool fits = exhausted(account, resource, amount) == NULL &&
                others_leave_room(account, resource, amount);
    if (!fits)
        complain(account, resource, amount);
    return fits;
}

void rsmd_share_charge(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount)
{
    struct rsmd_shares *shares = account->shares;
    shares->used[resource] += amount;
    if (!account->privileged)
        shares->used_by_users[resource] += amount;
    for (struct rsmd_account *each = account; each != NULL; each = each->parent)
        each->used[resource] += amount;
}

bool rsmd_share_take(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount)
{
    if (!rsmd_share_fits(account, resource, amount))
        return false;
    rsmd_share_charge(account, resource, amount);
    return true;
}

void rsmd_share_give(struct rsmd_account *account, enum rsmd_resource resource, uint64_t amount)
{
    struct rsmd_shares *shares = account->shares;
    if (amount > account->used[resource]) {
        rsm_log_error("more %s are given back than were taken: this is a defect of rsmd",
                      names[resource]);
        amount = account->used[resource];
    }
    shares->used[resource] -= amount;
    if (!account->privileged)
        shares->used_by_users[resource] -= amount;
    for (struct rsmd_account *each = account; each != NULL; each = each->parent)
        each->used[resource] -= amount;
    free_unless_needed(account);
}

/* ------------------------------------------------------------------ checks */

/* Whether the amounts of a node's users add up to that of the node. */
static bool node_is_sound(const struct rsmd_shares *shares, const struct rsmd_account *node,
                          enum rsmd_resource resource)
{
    uint64_t sum = 0;
    const struct rsmd_account *account;
    for (account = shares->accounts; account != NULL; account = account->hh.next)
        if (account->parent == node)
            sum += account->used[resource];
    return sum <= node->used[resource];
}

static bool resource_is_sound(const struct rsmd_shares *shares, enum rsmd_resource resource)
{
    const struct rsmd_quota *quota = &shares->quota[resource];
    uint64_t all = 0, users = 0;
    const struct rsmd_account *account;
    for (account = shares->accounts; account != NULL; account = account->hh.next) {
        uint64_t used = account->used[resource];
        if (used > max_of(account, resource))
            return false;
        if (account->parent != NULL)
            continue;
        all += used;
        users += account->privileged ? 0 : used;
        if (account->key.node != 0 && !node_is_sound(shares, account, resource))
            return false;
    }
    return all == shares->used[resource] && users == shares->used_by_users[resource] &&
           all <= quota->total && users <= quota->users;
}

bool rsmd_shares_are_sound(const struct rsmd_shares *shares)
{
    for (unsigned i = 0; i < RSMD_RESOURCES; i++)
        if (!resource_is_sound(shares, (enum rsmd_resource)i))
            return false;
    return true;
}
