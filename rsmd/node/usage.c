/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows of shares: the limits, and the amount of each user. */
#include "node/call.h"

static bool is_shown(const struct rsmd_call *call, const struct rsmd_account *account)
{
    const struct rsmd_account_key *key = &account->key;
    return call->who.uid == 0 || call->who.uid == call->node->shares.own_uid ||
           (key->node == 0 && key->uid == call->who.uid);
}

static void fill_limits(const struct rsmd_shares *shares, struct rsm_shares_limit *limits)
{
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++)
        limits[i] = (struct rsm_shares_limit){.total = shares->quota[i].total,
                                              .users = shares->quota[i].users,
                                              .one = shares->quota[i].one,
                                              .used = shares->used[i]};
}

enum rsm_status rsmd_answer_shares(struct rsmd_call *call)
{
    struct rsm_shares_reply *reply = &call->reply->u.shares_reply;
    const struct rsmd_shares *shares = &call->node->shares;
    const struct rsmd_account *account;
    fill_limits(shares, reply->limits);
    for (account = shares->accounts; account != NULL; account = account->hh.next) {
        if (account->serial <= call->request->u.shares.after || !is_shown(call, account))
            continue;
        if (reply->count == RSM_PROTO_USERS_MAX) {
            reply->more = 1;
            break;
        }
        struct rsm_shares_user *user = &reply->users[reply->count++];
        *user = (struct rsm_shares_user){
            .serial = account->serial, .node = account->key.node, .uid = account->key.uid};
        memcpy(user->used, account->used, sizeof user->used);
    }
    return RSM_ST_OK;
}
