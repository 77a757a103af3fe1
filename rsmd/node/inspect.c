/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows: pages of the exports, connections, links and shares that a client may see. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/cluster.h"
#include "node/call.h"
#include "node/counters.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/interrupts.h"
#include "node/refusals.h"
#include "node/segment_ids.h"

enum { LOOKED_AT_MAX = 1024 /* exports or imports, for one page */ };

/* A walk along exports or imports, in the order of their slots in the generation table. One of the
 * two is set. */
struct walk {
    const struct rsmd_node *node;
    const struct rsmd_export *exported;
    const struct rsmd_importer *importer;
    uid_t uid;
    bool all; /* the client may see all */
};

/* ------------------------------------------------------------------ who sees what */

static bool is_shown(const struct walk *walk)
{
    const struct rsmd_export *exported = walk->exported;
    const struct rsmd_importer *importer = walk->importer;
    if (walk->all)
        return true;
    if (exported != NULL)
        return exported->access.uid == walk->uid ||
               rsmd_export_has_guest(walk->node, exported, walk->uid);
    return importer != NULL &&
           (importer->who.uid == walk->uid ||
            (importer->grant != NULL && importer->grant->exported->access.uid == walk->uid));
}

/* ------------------------------------------------------------------ items */

static enum rsm_inspect_state state_of(const struct rsmd_export *exported)
{
    if (rsmd_export_is_open(exported))
        return RSM_INSPECT_AVAILABLE;
    if (!exported->claimed)
        return RSM_INSPECT_NEW;
    for (unsigned i = 0; i < RSM_PROTO_UNITS_MAX; i++)
        if (exported->state[i] != RSM_SEGMENT_NEW)
            return RSM_INSPECT_PREPARED;
    return RSM_INSPECT_CREATED;
}

/* 0 before it has memory that rsmd knows. */
static uint64_t pinned_bytes(const struct rsmd_pieces *pieces)
{
    uint64_t pinned = 0;
    for (uint32_t i = 0; pieces != NULL && i < pieces->count; i++)
        if (rsmd_extent_pinned(pieces->piece[i].extent) != 0)
            pinned += pieces->piece[i].length;
    return pinned;
}

/* Copy as many of the first entries as fit. */
static void fill_access_list(const struct rsmd_access *access, struct rsm_inspect_item *item)
{
    item->acl_shown =
        access->acl_count < RSM_PROTO_ACL_SHOWN_MAX ? access->acl_count : RSM_PROTO_ACL_SHOWN_MAX;
    memcpy(item->acl, access->acl, item->acl_shown * sizeof *item->acl);
}

static void fill_export(const struct rsmd_node *node, const struct walk *walk,
                        struct rsm_inspect_item *item)
{
    const struct rsmd_export *exported = walk->exported;
    bool owner = walk->all || exported->access.uid == walk->uid;
    *item = (struct rsm_inspect_item){
        .id = exported->id,
        .node = node->id,
        .pid = (uint32_t)exported->creator,
        .uid = exported->access.uid,
        .gid = exported->access.gid,
        .permission = owner ? exported->access.mode : RSM_INSPECT_HIDDEN,
        .acl_count = owner ? exported->access.acl_count : RSM_INSPECT_HIDDEN,
        .connections = owner ? exported->grant_count : RSM_INSPECT_HIDDEN,
        .pending = rsmd_events_see(&exported->events).pending,
        .length = exported->length,
        .pinned = pinned_bytes(exported->pieces),
    };
    if (owner)
        fill_access_list(&exported->access, item);
    if (exported->published || exported->claimed)
        rsmd_segment_about(&exported->name, item);
    item->state = state_of(exported);
    if (item->state != RSM_INSPECT_AVAILABLE)
        item->published = 0;
    memcpy(item->controller, exported->controller->name, sizeof item->controller);
    snprintf(item->transport, sizeof item->transport, "%s", exported->controller->ops->name);
}

static void fill_import(const struct rsmd_importer *importer, struct rsm_inspect_item *item)
{
    *item = (struct rsm_inspect_item){
        .id = importer->id,
        .node = importer->who.node,
        .pid = (uint32_t)importer->who.pid,
        .uid = importer->who.uid,
        .gid = importer->who.gid,
        .permission = importer->rights,
        .exporter = importer->exporter,
    };
    memcpy(item->controller, importer->controller->name, sizeof item->controller);
    importer->ops->about(importer, item);
}

/* ------------------------------------------------------------------ the walk */

/* Go to the next one after a slot. Returns its slot, or 0 at the end. */
static uint32_t step(struct walk *walk, uint32_t what, uint32_t slot)
{
    const struct rsmd_node *node = walk->node;
    bool exports = what == RSM_INSPECT_EXPORTS;
    const struct rsmd_slotmap *map = exports ? node->exports_by_slot : node->importers_by_slot;
    slot = rsmd_slotmap_after(map, slot);
    if (slot != 0 && exports)
        walk->exported = map->holder[slot];
    else if (slot != 0)
        walk->importer = map->holder[slot];
    return slot;
}

static void fill_page(struct rsmd_call *call, struct walk *walk)
{
    const struct rsm_inspect_request *asked = &call->request->u.inspect;
    struct rsm_inspect_reply *reply = &call->reply->u.inspect_reply;
    uint32_t before = asked->after, slot;
    unsigned looked_at = 0;
    for (; (slot = step(walk, asked->what, before)) != 0; before = slot) {
        if (looked_at++ == LOOKED_AT_MAX || reply->count == RSM_PROTO_ITEMS_MAX) {
            reply->next = before;
            break;
        }
        if (!is_shown(walk))
            continue;
        struct rsm_inspect_item *item = &reply->items[reply->count++];
        if (walk->exported != NULL)
            fill_export(call->node, walk, item);
        else if (walk->importer != NULL)
            fill_import(walk->importer, item);
    }
}

static bool may_see_all(const struct rsmd_call *call)
{
    return call->who.uid == 0 || call->who.uid == geteuid();
}

enum rsm_status rsmd_answer_interrupts(struct rsmd_call *call)
{
    struct rsm_interrupts_reply *reply = &call->reply->u.interrupts_reply;
    const struct rsmd_slotmap *map = call->node->interrupts_by_place;
    uint32_t before = call->request->u.interrupts.after, place;
    unsigned looked_at = 0;
    for (; (place = rsmd_slotmap_after(map, before)) != 0; before = place) {
        if (looked_at++ == LOOKED_AT_MAX || reply->count == RSM_PROTO_INTERRUPTS_MAX) {
            reply->next = before;
            break;
        }
        struct rsm_interrupts_item *item = &reply->items[reply->count];
        *item = rsmd_interrupt_seen(map->holder[place]);
        if (may_see_all(call) || item->uid == call->who.uid)
            reply->count++;
    }
    return RSM_ST_OK;
}

/* The import where the walk is, if it is of a client here and shown. */
static const struct rsmd_import *import_at(const struct walk *walk)
{
    return walk->importer != NULL && is_shown(walk) ? rsmd_importer_import(walk->importer) : NULL;
}

/* Look at imports behind @p after, until add() finds no room. Where to go on; 0: all are done. */
static uint32_t each_import(struct rsmd_call *call, uint32_t after,
                            bool (*add)(struct rsm_msg *reply, const struct rsmd_import *import))
{
    struct walk walk = {.node = call->node, .uid = call->who.uid, .all = may_see_all(call)};
    unsigned looked_at = 0;
    uint32_t slot;
    for (; (slot = step(&walk, RSM_INSPECT_IMPORTS, after)) != 0; after = slot) {
        const struct rsmd_import *import = import_at(&walk);
        if (looked_at++ == LOOKED_AT_MAX || (import != NULL && !add(call->reply, import)))
            return after;
    }
    return 0;
}

static bool add_counts(struct rsm_msg *msg, const struct rsmd_import *import)
{
    struct rsm_counts_reply *reply = &msg->u.counts_reply;
    const struct mapping_counts *counts = &import->counts;
    if ((counts->unknown | counts->blocked | counts->by_calls | counts->evicted) == 0)
        return true;
    if (reply->count == RSM_PROTO_COUNTS_MAX)
        return false;
    reply->items[reply->count++] =
        (struct rsm_counts_item){.id = import->importer.id, .counts = *counts};
    return true;
}

enum rsm_status rsmd_answer_counts(struct rsmd_call *call)
{
    call->reply->u.counts_reply.next = each_import(call, call->request->u.counts.after, add_counts);
    return RSM_ST_OK;
}

static bool add_member(struct rsm_msg *msg, const struct rsmd_import *import)
{
    struct rsm_groups_reply *reply = &msg->u.groups_reply;
    if (import->group.group == 0)
        return true;
    if (reply->count == RSM_PROTO_GROUPS_MAX)
        return false;
    struct rsm_groups_item *item = &reply->items[reply->count++];
    *item = (struct rsm_groups_item){.id = import->importer.id, .stats = import->group};
    item->stats.quiet_us += (uint64_t)(rsm_clock_ns() - import->group_at) / 1000;
    return true;
}

enum rsm_status rsmd_answer_groups(struct rsmd_call *call)
{
    call->reply->u.groups_reply.next = each_import(call, call->request->u.groups.after, add_member);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_inspect(struct rsmd_call *call)
{
    const struct rsm_inspect_request *asked = &call->request->u.inspect;
    struct rsm_inspect_reply *reply = &call->reply->u.inspect_reply;
    const struct rsmd_node *node = call->node;
    struct walk walk = {.node = node, .uid = call->who.uid, .all = may_see_all(call)};
    if (asked->what != RSM_INSPECT_EXPORTS && asked->what != RSM_INSPECT_IMPORTS)
        return RSM_ST_INVALID;
    uint64_t max = node->shares.quota[RSMD_BYTES].total;
    reply->exported_bytes = node->shares.used[RSMD_BYTES];
    reply->exported_limit = max == UINT64_MAX ? 0 : max;
    reply->segments = (uint32_t)node->shares.used[RSMD_SEGMENTS];
    reply->segments_limit = (uint32_t)node->shares.quota[RSMD_SEGMENTS].total;
    reply->clients = node->client_count;
    reply->connects = node->connects;
    reply->events = node->events;
    reply->longest_step_us = (uint64_t)node->steps.longest_ns / 1000;
    reply->refusal = rsmd_refusal_seen(node, call->who.uid, walk.all);
    fill_page(call, &walk);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ links to other hosts */

static bool fill_link(const struct rsmd_node *node, const struct rsmd_conf_node *configured,
                      struct rsm_links_item *item)
{
    struct rsmd_link_about about;
    if (!rsmd_cluster_about(node->cluster, configured->id, &about))
        return false;
    *item = (struct rsm_links_item){.node = configured->id,
                                    .state = about.state,
                                    .version = about.version,
                                    .port = configured->port,
                                    .up_ms = about.up_ms,
                                    .failure_ms = about.failure_ms,
                                    .sent_bytes = about.sent_bytes,
                                    .received_bytes = about.received_bytes,
                                    .expires = about.expires};
    memcpy(item->address, configured->address, sizeof item->address);
    strncpy(item->text, about.text, sizeof item->text - 1);
    return true;
}

enum rsm_status rsmd_answer_links(struct rsmd_call *call)
{
    struct rsm_links_reply *reply = &call->reply->u.links_reply;
    const struct rsmd_node *node = call->node;
    struct rsm_links_item item;
    reply->auth = node->conf.auth == RSMD_AUTH_MUNGE ? RSM_LINK_AUTH_MUNGE
                  : node->conf.auth == RSMD_AUTH_TLS ? RSM_LINK_AUTH_TLS
                                                     : RSM_LINK_AUTH_NONE;
    uint32_t first = rsmd_conf_node_from(&node->conf, call->request->u.links.first);
    for (uint32_t i = first; i < node->conf.node_count; i++) {
        if (!fill_link(node, node->conf.nodes[i], &item))
            continue;
        if (reply->count == RSM_PROTO_LINKS_MAX) {
            reply->more = 1;
            break;
        }
        reply->items[reply->count++] = item;
    }
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ shares */

static bool shows_account(const struct rsmd_call *call, const struct rsmd_account *account)
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
        if (account->serial <= call->request->u.shares.after || !shows_account(call, account))
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
