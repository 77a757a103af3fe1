/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/node/shares.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { LOG_EVERY_MS = 60000 };

static const char *const names[NTB_RESOURCES] = {
    [NTB_POOL] = "bytes of the pool",
    [NTB_IN_PLACE] = "bytes of the room behind the pool",
    [NTB_RANGES] = "ranges",
    [NTB_COUNTERS] = "counters of connections",
};

void ntb_shares_begin(struct ntb_shares *shares)
{
    *shares = (struct ntb_shares){.own_uid = geteuid()};
}

void ntb_shares_end(struct ntb_shares *shares)
{
    struct ntb_account *account = shares->accounts, *next;
    HASH_CLEAR(hh, shares->accounts);
    for (; account != NULL; account = next) {
        next = account->hh.next;
        free(account);
    }
}

static bool is_privileged(const struct ntb_shares *shares, struct ntb_user user)
{
    return user.uid == 0 || (user.node == 0 && user.uid == shares->own_uid);
}

static struct ntb_account *find(const struct ntb_shares *shares, struct ntb_user user)
{
    struct ntb_account *account;
    HASH_FIND(hh, shares->accounts, &user, sizeof user, account);
    return account;
}

static struct ntb_account *need(struct ntb_shares *shares, struct ntb_user user)
{
    struct ntb_account *account = find(shares, user);
    if (account != NULL)
        return account;
    account = calloc(1, sizeof *account);
    if (account == NULL)
        return NULL;
    account->user = user;
    HASH_ADD(hh, shares->accounts, user, sizeof account->user, account);
    if (account->hh.tbl != NULL)
        return account;
    free(account);
    return NULL;
}

/* Totals may be as large as addresses are. At least one, so that small totals still let a user
 * in. */
static uint64_t part_of(uint64_t total, uint32_t percent)
{
    uint64_t part = total / 100 * percent + total % 100 * percent / 100;
    return part == 0 && total > 0 && percent > 0 ? 1 : part;
}

/* What all users together may have: of three there is nothing to set aside. */
static uint64_t users_part(const struct ntb_shares *shares, uint64_t total)
{
    return total < 4 ? total : total - part_of(total, shares->share.reserve_percent);
}

static bool has_room(uint64_t max, uint64_t used, uint64_t amount)
{
    return used <= max && amount <= max - used;
}

static bool fits(const struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                 uint64_t amount)
{
    const struct ntb_account *account = find(shares, user);
    uint64_t total = shares->total[resource], used = account != NULL ? account->used[resource] : 0;
    return shares->share.one_percent == 0 ||
           (has_room(part_of(total, shares->share.one_percent), used, amount) &&
            has_room(users_part(shares, total), shares->used[resource], amount));
}

static void complain(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                     uint64_t amount)
{
    const struct ntb_account *account = find(shares, user);
    int64_t now = rsm_clock_ms();
    if (shares->logged_ms[resource] != 0 && now - shares->logged_ms[resource] < LOG_EVERY_MS)
        return;
    shares->logged_ms[resource] = now;
    rsm_log_warning("ntb: user %" PRIu32 "%s has %" PRIu64 ", and all users %" PRIu64
                    ", of %" PRIu64 " %s, of which one user may take %" PRIu32
                    " percent, and %" PRIu32 " are for root: he is refused %" PRIu64 " more",
                    user.uid, user.node != 0 ? " of the other host" : "",
                    account != NULL ? account->used[resource] : 0, shares->used[resource],
                    shares->total[resource], names[resource], shares->share.one_percent,
                    shares->share.reserve_percent, amount);
}

bool ntb_share_take(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                    uint64_t amount)
{
    if (!is_privileged(shares, user) && !fits(shares, user, resource, amount)) {
        complain(shares, user, resource, amount);
        return false;
    }
    return ntb_share_charge(shares, user, resource, amount);
}

bool ntb_share_charge(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                      uint64_t amount)
{
    if (is_privileged(shares, user))
        return true;
    struct ntb_account *account = need(shares, user);
    if (account == NULL)
        return false;
    account->used[resource] += amount;
    shares->used[resource] += amount;
    return true;
}

void ntb_share_give(struct ntb_shares *shares, struct ntb_user user, enum ntb_resource resource,
                    uint64_t amount)
{
    struct ntb_account *account = is_privileged(shares, user) ? NULL : find(shares, user);
    bool empty = true;
    if (account == NULL)
        return;
    account->used[resource] -= amount;
    shares->used[resource] -= amount;
    for (unsigned i = 0; i < NTB_RESOURCES; i++)
        empty &= account->used[i] == 0;
    if (!empty)
        return;
    HASH_DEL(shares->accounts, account);
    free(account);
}
