/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/claims.h"

#include "node/call.h"
#include "node/exports.h"
#include "node/grants.h"
#include "node/imports.h"
#include "node/segment_ids.h"
#include "node/unfinished.h"

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
