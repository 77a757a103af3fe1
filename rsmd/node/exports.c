/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/exports.h"

#include <stdlib.h>

#include "node/counters.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/records.h"
#include "node/unfinished.h"

struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_export *exported;
    HASH_FIND_INT(node->exports, &id, exported);
    return exported != NULL && exported->client == client && !exported->ended ? exported : NULL;
}

enum rsm_status rsmd_export_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, struct rsmd_export **made)
{
    if (!rsmd_share_take(client->account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_export *exported = calloc(1, sizeof *exported);
    if (exported == NULL) {
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_MEMORY;
    }
    exported->epoch_slot = rsmd_generation_table_take(node->generation_table);
    if (exported->epoch_slot == 0) {
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        free(exported);
        return RSM_ST_NO_RESOURCES;
    }
    exported->id = rsmd_new_id(node);
    exported->client = client;
    exported->controller = controller;
    rsmd_events_init(&exported->events);
    HASH_ADD_INT(node->exports, id, exported);
    if (exported->hh.tbl == NULL) {
        rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
        rsmd_share_give(client->account, RSMD_SEGMENTS, 1);
        free(exported);
        return RSM_ST_NO_MEMORY;
    }
    DL_APPEND(client->exports, exported);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, exported);
    *made = exported;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ ends */

bool rsmd_export_is_used(const struct rsmd_export *exported)
{
    return exported->grants != NULL || exported->attached != NULL;
}

bool rsmd_export_name(struct rsmd_node *node, struct rsmd_export *exported,
                      const struct rsmd_segment_name *name)
{
    exported->name = *name;
    HASH_ADD(hh_segment, node->published, name, sizeof exported->name, exported);
    return exported->hh_segment.tbl != NULL;
}

static void forget_name(struct rsmd_node *node, struct rsmd_export *exported)
{
    HASH_DELETE(hh_segment, node->published, exported);
    exported->hh_segment.tbl = NULL;
}

static void forget_claim(struct rsmd_node *node, struct rsmd_export *exported)
{
    if (exported->claimed)
        forget_name(node, exported);
    exported->claimed = false;
}

void rsmd_export_settle(struct rsmd_node *node, struct rsmd_client *client,
                        struct rsmd_export *exported)
{
    if (!exported->ended)
        return;
    if (exported->attached_count == 0 && exported->hh_segment.tbl != NULL) {
        rsmd_export_withdraw(node, exported);
        forget_claim(node, exported);
        rsmd_unfinished_report(node, client, exported);
    }
    if (!rsmd_export_is_used(exported))
        rsmd_export_free(node, exported);
}

static void abort_grant(struct rsmd_node *node, struct rsmd_grant *grant,
                        enum rsm_record_event event)
{
    grant->importer->ops->abort(node, grant->importer, event);
}

void rsmd_export_abort(struct rsmd_node *node, struct rsmd_grant *grant)
{
    struct rsmd_export *exported = grant->exported;
    abort_grant(node, grant, RSM_RECORD_LOST);
    rsmd_export_settle(node, exported->client, exported);
}

void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported)
{
    abort_grant(node, exported->grants != NULL ? exported->grants : exported->attached,
                RSM_RECORD_CUT);
}

void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_withdraw(node, exported);
    forget_claim(node, exported);
}

void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported)
{
    rsmd_export_unname(node, exported);
    rsmd_records_end(&exported->records);
    exported->ended = true;
}

void rsmd_export_withdraw(struct rsmd_node *node, struct rsmd_export *exported)
{
    if (!exported->published)
        return;
    exported->published = false;
    if (!exported->claimed)
        forget_name(node, exported);
    rsmd_pieces_drop(exported->pieces);
    exported->pieces = NULL;
}

void rsmd_export_defer(struct rsmd_node *node, struct rsmd_export *exported)
{
    bool named = exported->hh_segment.tbl != NULL;
    rsmd_records_end(&exported->records);
    exported->ended = true;
    if (!named) /* unpublished before: report it to importers that are still connected */
        rsmd_unfinished_report(node, exported->client, exported);
    rsmd_export_settle(node, exported->client, exported);
}

void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported)
{
    while (rsmd_export_is_used(exported))
        rsmd_export_cut_first(node, exported);
    rsmd_export_unname(node, exported);
    rsmd_records_end(&exported->records);
    rsmd_events_close(exported->client->account, &exported->events);
    rsmd_slotmap_set(node->exports_by_slot, exported->epoch_slot, NULL);
    rsmd_generation_table_release(node->generation_table, exported->epoch_slot);
    HASH_DEL(node->exports, exported);
    DL_DELETE(exported->client->exports, exported);
    rsmd_share_give(exported->client->account, RSMD_SEGMENTS, 1);
    free(exported);
}

/* ------------------------------------------------------------------ events */

void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *exported, uint32_t count,
                        bool coalesced)
{
    rsmd_events_deliver_batch(node, exported->client, exported->client->account, &exported->events,
                              count, coalesced);
}
