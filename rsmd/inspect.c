/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows: pages of exports and of connections, as far as the asker takes part. */
#include <stddef.h>
#include <unistd.h>

#include "call.h"
#include "core/sharedmem.h"

/* A walk along exports or imports in the order in which they were made. At most one of the two is
 * set; none: it is at the end. */
struct walk {
    const struct rsmd_export *export;
    const struct rsmd_import *import;
    uid_t uid;
    bool all; /* the asker may see everything */
};

/* ------------------------------------------------------------------ who sees what */

static bool is_importer(const struct rsmd_export *export, uid_t uid)
{
    const struct rsmd_import *import;
    DL_FOREACH2(export->imports, import, export_next)
    if (import->importer.uid == uid)
        return true;
    return false;
}

static bool is_shown(const struct walk *walk)
{
    const struct rsmd_export *export = walk->export;
    const struct rsmd_import *import = walk->import;
    if (walk->all)
        return true;
    if (export != NULL)
        return export->access.uid == walk->uid || is_importer(export, walk->uid);
    return import->importer.uid == walk->uid ||
           (import->export != NULL && import->export->access.uid == walk->uid);
}

/* ------------------------------------------------------------------ items */

/* Both ends may look at the counter themselves; it is no secret, and nothing that we rely on. */
static uint32_t pending_of(const struct rsmd_events *events)
{
    uint32_t pending = 0;
    off_t place = offsetof(struct rsm_event_cell, pending);
    if (events->cell < 0 ||
        pread(events->cell, &pending, sizeof pending, place) != (ssize_t)sizeof pending)
        return 0;
    return pending;
}

static void fill_export(const struct rsmd_node *node, const struct walk *walk,
                        struct rsm_inspect_item *item)
{
    const struct rsmd_export *export = walk->export;
    bool owner = walk->all || export->access.uid == walk->uid;
    *item = (struct rsm_inspect_item){
        .id = export->id,
        .segment_id = export->published ? export->segment_id : 0,
        .node = node->id,
        .pid = (uint32_t) export->creator,
        .uid = export->access.uid,
        .gid = export->access.gid,
        .permission = owner ? export->access.mode : RSM_INSPECT_HIDDEN,
        .acl_count = owner ? export->access.acl_count : RSM_INSPECT_HIDDEN,
        .connections = owner ? export->import_count : RSM_INSPECT_HIDDEN,
        .pending = pending_of(&export->events),
        .length = export->length,
    };
    memcpy(item->controller, export->controller->name, sizeof item->controller);
}

static void fill_import(const struct walk *walk, struct rsm_inspect_item *item)
{
    const struct rsmd_import *import = walk->import;
    const struct rsmd_export *export = import->export;
    *item = (struct rsm_inspect_item){
        .id = import->id,
        .node = import->importer.node,
        .pid = (uint32_t)import->importer.pid,
        .uid = import->importer.uid,
        .gid = import->importer.gid,
        .permission = import->rights,
        .pending = pending_of(&import->events),
    };
    item->exporter = import->exporter;
    memcpy(item->controller, import->controller->name, sizeof item->controller);
    if (export == NULL) {
        item->export = import->there.id;
        item->segment_id = import->far != NULL ? import->there.segment_id : 0;
        item->length = import->far != NULL ? import->there.length : 0;
        return;
    }
    item->export = export->id;
    item->segment_id = export->published ? export->segment_id : 0;
    item->length = export->length;
}

/* ------------------------------------------------------------------ the walk */

static bool at_end(const struct walk *walk)
{
    return walk->export == NULL && walk->import == NULL;
}

static void step(struct walk *walk)
{
    if (walk->export != NULL)
        walk->export = walk->export->hh.next;
    else
        walk->import = walk->import->hh.next;
}

static uint32_t id_of(const struct walk *walk)
{
    return walk->export != NULL ? walk->export->id : walk->import->id;
}

static void begin(const struct rsmd_node *node, uint32_t what, struct walk *walk)
{
    walk->export = what == RSM_INSPECT_EXPORTS ? node->exports : NULL;
    walk->import = what == RSM_INSPECT_IMPORTS ? node->imports : NULL;
}

/* Go behind an item. If that has gone meanwhile, ids tell: they ascend (but where they start
 * again, after 4294967295 of them). */
static void begin_behind(const struct rsmd_node *node, uint32_t what, uint32_t id,
                         struct walk *walk)
{
    if (what == RSM_INSPECT_EXPORTS)
        HASH_FIND_INT(node->exports, &id, walk->export);
    else
        HASH_FIND_INT(node->imports, &id, walk->import);
    if (at_end(walk))
        begin(node, what, walk);
    while (!at_end(walk) && id_of(walk) <= id)
        step(walk);
}

/* Where the page that is asked for may start: the index of the first item there that the walk will
 * show. *total: how many it will show in all, 0 if only a walk to the end can tell. */
static uint32_t begin_page(const struct rsmd_call *call, struct walk *walk, uint32_t *total)
{
    const struct rsm_inspect_request *asked = &call->request->u.inspect;
    const struct rsmd_inspected *before = &call->client->inspected;
    const struct rsmd_node *node = call->node;
    if (asked->first != 0 && before->what == asked->what && before->next == asked->first) {
        begin_behind(node, asked->what, before->last, walk);
        *total = before->total;
        return before->next;
    }
    begin(node, asked->what, walk);
    *total = !walk->all                           ? 0
             : asked->what == RSM_INSPECT_EXPORTS ? HASH_COUNT(node->exports)
                                                  : HASH_COUNT(node->imports);
    return 0;
}

static void fill_page(struct rsmd_call *call, struct walk *walk)
{
    struct rsm_inspect_reply *reply = &call->reply->u.inspect_reply;
    uint32_t first = call->request->u.inspect.first, total;
    uint32_t index = begin_page(call, walk, &total);
    for (; !at_end(walk); step(walk)) {
        if (!is_shown(walk))
            continue;
        if (index >= first && reply->count < RSM_PROTO_ITEMS_MAX) {
            struct rsm_inspect_item *item = &reply->items[reply->count++];
            if (walk->export != NULL)
                fill_export(call->node, walk, item);
            else
                fill_import(walk, item);
        } else if (index >= first && total != 0) {
            break;
        }
        index++;
    }
    reply->total = at_end(walk) ? index : total > index ? total : index + 1;
}

enum rsm_status rsmd_answer_inspect(struct rsmd_call *call)
{
    const struct rsm_inspect_request *asked = &call->request->u.inspect;
    struct rsm_inspect_reply *reply = &call->reply->u.inspect_reply;
    const struct rsmd_node *node = call->node;
    struct walk walk = {.uid = call->who.uid,
                        .all = call->who.uid == 0 || call->who.uid == geteuid()};
    if (asked->what != RSM_INSPECT_EXPORTS && asked->what != RSM_INSPECT_IMPORTS)
        return RSM_ST_INVALID;
    uint64_t most = node->shares.quota[RSMD_BYTES].total;
    reply->exported_bytes = node->shares.used[RSMD_BYTES];
    reply->exported_limit = most == UINT64_MAX ? 0 : most;
    reply->segments = (uint32_t)node->shares.used[RSMD_SEGMENTS];
    reply->segments_limit = (uint32_t)node->shares.quota[RSMD_SEGMENTS].total;
    reply->clients = node->client_count;
    fill_page(call, &walk);
    call->client->inspected = (struct rsmd_inspected){.what = asked->what};
    if (reply->count > 0) {
        call->client->inspected.next = asked->first + reply->count;
        call->client->inspected.last = reply->items[reply->count - 1].id;
        call->client->inspected.total = reply->total;
    }
    return RSM_ST_OK;
}
