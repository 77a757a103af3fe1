/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/segment_ids.h"

#include "node/call.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/unfinished.h"

/* The rules that rsmd enforces because clients are not trusted. The library checks rules that
 * protect an API's own programs, such as the ranges that RSMAPI reserves for drivers. */
static const struct rules {
    uint32_t chosen_first, chosen_last; /* ids that a client may ask for */
    uint32_t assigned_first;            /* where assigning begins */
    bool assigned_once; /* an assigned id is never assigned again, nor can a client ask for it */
} rules[RSM_ID_SPACES] = {
    [RSM_ID_SPACE_RSMAPI] = {1, 0x7fffffff, 0x80000000, true},
    [RSM_ID_SPACE_SISCI] = {0, UINT32_MAX, 0, false},
    [RSM_ID_SPACE_SISCI_GROUPS] = {0, UINT32_MAX, 0, false},
};

/* How many ids are tried, from the one in a request upward. A client can occupy tens of thousands
 * in a row, and a request must not walk along all of them. */
enum { NEAR_CANDIDATES = 1024 };

void rsmd_segment_ids_init(struct rsmd_node *node)
{
    for (unsigned space = 0; space < RSM_ID_SPACES_THAT_ASSIGN; space++)
        node->next_segment_id[space] = rules[space].assigned_first;
}

static struct rsmd_export *find(const struct rsmd_node *node, const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported;
    HASH_FIND(hh_segment, node->published, name, sizeof *name, exported);
    return exported;
}

struct rsmd_export *rsmd_segment_named(const struct rsmd_node *node,
                                       const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported = find(node, name);
    return exported == NULL || exported->client->ending || !rsmd_export_is_open(exported)
               ? NULL
               : exported;
}

struct rsmd_export *rsmd_segment_claimed(const struct rsmd_node *node,
                                         const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported = find(node, name);
    return exported == NULL || exported->client->ending || !exported->claimed ? NULL : exported;
}

/* A segment whose exporter has gone does not count. Only its name is given up here, because it can
 * have very many connections. */
static bool in_use(struct rsmd_node *node, const struct rsmd_segment_name *name)
{
    struct rsmd_export *holder = find(node, name);
    if (holder == NULL || !holder->client->ending)
        return holder != NULL;
    rsmd_export_unname(node, holder);
    return false;
}

enum rsm_status rsmd_segment_id_check(struct rsmd_node *node, const struct rsmd_segment_name *name,
                                      bool assign)
{
    if (name->space >= RSM_ID_SPACES)
        return RSM_ST_INVALID;
    const struct rules *rule = &rules[name->space];
    if (assign && name->space >= RSM_ID_SPACES_THAT_ASSIGN)
        return RSM_ST_INVALID;
    if (assign)
        return rule->assigned_once && name->id != 0 ? RSM_ST_INVALID : RSM_ST_OK;
    if (name->id < rule->chosen_first || name->id > rule->chosen_last)
        return RSM_ST_INVALID;
    return in_use(node, name) ? RSM_ST_ID_IN_USE : RSM_ST_OK;
}

/* The next id that was never assigned. */
static enum rsm_status assign_next(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    uint64_t *next = &node->next_segment_id[name->space];
    while (*next <= UINT32_MAX) {
        name->id = (uint32_t)(*next)++;
        if (!in_use(node, name))
            return RSM_ST_OK;
    }
    return RSM_ST_NO_RESOURCES;
}

/* Assign the first free id from the requested one upward, 0 following the last. If none is near,
 * assign the first free one after the id that was last assigned in this way. There is one: a node
 * has fewer segments than there are ids. */
static void assign_near(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    uint64_t *next = &node->next_segment_id[name->space];
    for (unsigned tries = 0; tries < NEAR_CANDIDATES; tries++, name->id++)
        if (!in_use(node, name))
            return;
    do
        name->id = (uint32_t)(*next)++;
    while (in_use(node, name));
}

enum rsm_status rsmd_segment_id_assign(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    if (rules[name->space].assigned_once)
        return assign_next(node, name);
    assign_near(node, name);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ claimed ids */

enum rsm_status rsmd_claim(struct rsmd_node *node, struct rsmd_export *exported,
                           const struct rsm_export_create_request *asked)
{
    bool assign = asked->claim == RSM_CLAIM_ASSIGN;
    struct rsmd_segment_name name = {.space = asked->space, .id = asked->segment_id};
    if (asked->claim > RSM_CLAIM_ASSIGN)
        return RSM_ST_INVALID;
    if (asked->claim == RSM_CLAIM_NONE)
        return RSM_ST_OK;
    enum rsm_status status = rsmd_segment_id_check(node, &name, assign);
    if (status == RSM_ST_OK && assign)
        status = rsmd_segment_id_assign(node, &name);
    if (status != RSM_ST_OK)
        return status;
    exported->claimed = rsmd_export_name(node, exported, &name);
    return exported->claimed ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

bool rsmd_claim_is(const struct rsmd_export *exported, const struct rsmd_segment_name *name)
{
    return exported->claimed && exported->name.space == name->space &&
           exported->name.id == name->id;
}

bool rsmd_export_is_open(const struct rsmd_export *exported)
{
    if (!exported->published || !exported->claimed)
        return exported->published;
    for (unsigned i = 0; i < RSM_PROTO_UNITS_MAX; i++)
        if (exported->state[i] == RSM_SEGMENT_OPEN)
            return true;
    return false;
}

void rsmd_claim_close(struct rsmd_export *exported)
{
    for (unsigned i = 0; i < RSM_PROTO_UNITS_MAX; i++)
        if (exported->state[i] == RSM_SEGMENT_OPEN)
            exported->state[i] = RSM_SEGMENT_READY;
}

enum rsm_status rsmd_claim_find(const struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                struct rsmd_export **found)
{
    struct rsmd_export *exported = rsmd_segment_claimed(node, &wanted->name);
    if (wanted->node != node->id || !wanted->local)
        return RSM_ST_DENIED;
    if (exported == NULL)
        return RSM_ST_NOT_FOUND;
    if (!exported->shared)
        return RSM_ST_DENIED;
    if (!exported->published)
        return RSM_ST_NOT_PUBLISHED;
    *found = exported;
    return rsmd_access_decide(&exported->access, wanted->node, wanted->who, wanted->rights);
}

/* ------------------------------------------------------------------ states */

/* Find the segment that its exporter or an attached process names. */
static enum rsm_status find_meant(const struct rsmd_call *call, struct rsmd_export **found)
{
    const struct rsm_export_state_request *asked = &call->request->u.export_state;
    if (asked->end == RSM_EVENT_EXPORT) {
        *found = rsmd_client_export(call->node, call->client, asked->id);
        return *found != NULL ? RSM_ST_OK : RSM_ST_NOT_FOUND;
    }
    if (asked->end != RSM_EVENT_IMPORT)
        return RSM_ST_INVALID;
    const struct rsmd_import *import = rsmd_client_import(call->node, call->client, asked->id);
    if (import == NULL)
        return RSM_ST_NOT_FOUND;
    if (!import->importer.attached)
        return RSM_ST_INVALID;
    if (import->importer.grant == NULL)
        return RSM_ST_ABORTED;
    *found = import->importer.grant->exported;
    return RSM_ST_OK;
}

static enum rsm_status check_states(const struct rsm_export_state_request *asked)
{
    bool by_exporter = asked->end == RSM_EVENT_EXPORT;
    uint32_t flags = RSM_STATE_NOTIFY | (by_exporter ? RSM_STATE_SHARE : 0);
    return asked->unit >= RSM_PROTO_UNITS_MAX || asked->from > RSM_SEGMENT_OPEN ||
                   asked->to > RSM_SEGMENT_OPEN || (asked->flags & ~flags) != 0
               ? RSM_ST_INVALID
               : RSM_ST_OK;
}

enum rsm_status rsmd_answer_export_state(struct rsmd_call *call)
{
    const struct rsm_export_state_request *asked = &call->request->u.export_state;
    struct rsmd_export *exported;
    enum rsm_status status = find_meant(call, &exported);
    if (status == RSM_ST_OK)
        status = exported->claimed ? check_states(asked) : RSM_ST_INVALID;
    if (status != RSM_ST_OK)
        return status;
    uint8_t *state = &exported->state[asked->unit];
    call->reply->u.export_state_reply.was = *state;
    if (*state == asked->from && asked->to == RSM_SEGMENT_OPEN && !exported->published)
        return RSM_ST_NOT_PUBLISHED;
    exported->shared |= (asked->flags & RSM_STATE_SHARE) != 0;
    if (*state != asked->from)
        return RSM_ST_OK;
    bool closes = asked->from == RSM_SEGMENT_OPEN && asked->to != RSM_SEGMENT_OPEN;
    *state = (uint8_t)asked->to;
    if (closes && (asked->flags & RSM_STATE_NOTIFY) != 0)
        rsmd_unfinished_report(call->node, call->client, exported);
    return RSM_ST_OK;
}
