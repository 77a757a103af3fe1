/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/connect.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/call.h"
#include "node/controllers.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/hosts.h"
#include "node/imports.h"
#include "node/fabric.h"
#include "node/revokes.h"
#include "node/segment_ids.h"
#include "node/topology.h"

/* ------------------------------------------------------------------ to a segment of this node */

/* Find the published segment that the importer names, if it may connect. */
static enum rsm_status find_segment(const struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                    struct rsmd_export **found)
{
    bool foreign = wanted->node != node->id;
    if (wanted->attach)
        return rsmd_claim_find(node, wanted, found);
    struct rsmd_export *exported = rsmd_segment_named(node, &wanted->name);
    if (exported == NULL || (foreign && exported->controller->loopback))
        return RSM_ST_NOT_FOUND;
    *found = exported;
    return rsmd_access_decide(&exported->access, wanted->node, wanted->who, wanted->rights);
}

bool rsmd_grant_is_released(const struct rsmd_grant *grant)
{
    return !grant->importer->who.local && grant->by->ops->imports != NULL;
}

/* Revoke an offer that the transport has made and no importer has received. */
static void take_back(struct rsmd_node *node, struct rsmd_grant *grant,
                      struct rsmd_account *account, struct rsm_offer *offer)
{
    const struct rsmd_controller *by = grant->by;
    const struct rsm_record none = {.event = 0};
    grant->pieces = rsmd_pieces_hold(grant->exported->pieces);
    rsmd_revoke(node, grant, account, &none);
    if (rsmd_grant_is_released(grant))
        by->ops->imports->released(by->port, grant->made);
    while (offer->fd_count > 0)
        close(offer->fds[--offer->fd_count]);
}

/* Fill in what an importer is by its request. */
static void describe(const struct rsmd_wanted *wanted, const struct rsmd_export *exported,
                     struct rsmd_importer *importer)
{
    importer->who = (struct rsm_importer){.size = sizeof(struct rsm_importer),
                                          .node = wanted->node,
                                          .uid = wanted->who->uid,
                                          .gid = wanted->who->gid,
                                          .pid = wanted->who->pid,
                                          .local = wanted->local};
    importer->rights = wanted->rights;
    importer->attached = wanted->attach;
    importer->controller = exported->controller;
}

/* Enter an importer whose grant has an offer, and connect it. */
static enum rsm_status join(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                            struct rsmd_grant *grant, const struct rsm_offer *offer)
{
    if (!wanted->local && offer->fd_count > 0) /* descriptors cannot be passed to another host */
        return RSM_ST_NO_ROUTE;
    enum rsm_status status = rsmd_importer_enter(node, grant->importer, wanted->account);
    return status == RSM_ST_OK ? rsmd_grant_join(node, grant) : status;
}

static enum rsm_status connect_to(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                  struct rsmd_export *exported, struct rsmd_importer *importer,
                                  struct rsm_offer *offer)
{
    if (!wanted->local && !rsmd_reaches(exported->controller, wanted->node))
        return RSM_ST_UNREACHABLE;
    if (!rsmd_share_fits(wanted->account, RSMD_SEGMENTS, 1) ||
        (wanted->attach && exported->attached_count >= RSMD_ATTACHED_MAX))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_grant *grant = calloc(1, sizeof *grant);
    if (grant == NULL)
        return RSM_ST_NO_MEMORY;
    describe(wanted, exported, importer);
    grant->importer = importer;
    grant->exported = exported;
    enum rsm_status status = rsmd_offer_make(node, grant, wanted->asked, offer);
    if (status != RSM_ST_OK) {
        free(grant);
        return status;
    }
    status = join(node, wanted, grant, offer);
    if (status != RSM_ST_OK) {
        rsmd_importer_leave(node, importer);
        take_back(node, grant, wanted->account, offer);
        free(grant);
        return status;
    }
    /* revoke() ends any other offer, and no importer can keep the memory. */
    if (offer->fd_count > 0 || rsmd_grant_is_released(grant))
        rsmd_pieces_mark_offered(exported->pieces);
    return RSM_ST_OK;
}

enum rsm_status rsmd_connect(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                             struct rsmd_importer *importer, struct rsm_offer *offer)
{
    const struct rsmd_controller *controller = rsmd_controller_named(node, wanted->controller);
    struct rsmd_export *exported;
    if (controller == NULL || (controller->loopback && wanted->node != node->id))
        return RSM_ST_NO_CONTROLLER;
    if (wanted->name.space >= RSM_ID_SPACES)
        return RSM_ST_INVALID;
    enum rsm_status status = find_segment(node, wanted, &exported);
    return status == RSM_ST_OK ? connect_to(node, wanted, exported, importer, offer) : status;
}

/* ------------------------------------------------------------------ requests */

/* Put offer and connection into the reply. */
static void fill_reply(struct rsmd_call *call, const struct rsmd_importer *importer,
                       const struct rsm_offer *offer)
{
    struct rsm_import_connect_reply *reply = &call->reply->u.import_connect_reply;
    const struct rsmd_grant *grant = importer->grant;
    reply->import = importer->id;
    reply->slot = importer->slot;
    reply->generation = rsmd_generation_table_value(call->node->generation_table, importer->slot);
    reply->length = grant->exported->length;
    reply->size = grant->exported->size;
    reply->rights = importer->rights;
    strncpy(reply->transport, grant->by->ops->name, sizeof reply->transport - 1);
    reply->blob_len = offer->blob_len;
    memcpy(reply->blob, offer->blob, offer->blob_len);
    memcpy(call->attached.fds, offer->fds, offer->fd_count * sizeof offer->fds[0]);
    call->attached.count = offer->fd_count;
    call->close_attached = true;
}

/* Forward a connect to a node of another host, over the link. The process itself asks nodes of this
 * host. */
static enum rsm_status connect_elsewhere(struct rsmd_call *call)
{
    const struct rsm_import_connect_request *asked = &call->request->u.import_connect;
    struct rsmd_controller *controller = rsmd_controller_named(call->node, asked->controller);
    struct rsm_locate_reply where;
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    if (call->client->node != call->node->id)
        return controller->loopback ? RSM_ST_NO_CONTROLLER : RSM_ST_DENIED;
    enum rsm_status status = rsmd_locate(call->node, controller, asked->node, &where);
    if (status != RSM_ST_OK)
        return status;
    return where.kind == RSM_LOCATE_REMOTE ? call->node->hosts_ops->connect(call, controller)
                                           : RSM_ST_UNREACHABLE;
}

enum rsm_status rsmd_answer_import_connect(struct rsmd_call *call)
{
    const struct rsm_import_connect_request *asked = &call->request->u.import_connect;
    struct rsm_offer offer;
    if ((asked->flags & ~RSM_CONNECT_ATTACH) != 0)
        return RSM_ST_INVALID;
    if (asked->node != call->node->id && asked->flags != 0)
        return RSM_ST_DENIED;
    if (asked->node != call->node->id)
        return connect_elsewhere(call);
    const struct rsmd_asked bytes = {asked->transport, asked->asked, asked->asked_len};
    struct rsmd_wanted wanted = {.node = call->client->node,
                                 .local = true,
                                 .account = call->client->account,
                                 .who = &call->who,
                                 .controller = asked->controller,
                                 .name = {.space = asked->space, .id = asked->segment_id},
                                 .rights = asked->rights,
                                 .attach = (asked->flags & RSM_CONNECT_ATTACH) != 0,
                                 .asked = &bytes};
    struct rsmd_import *import = malloc(sizeof *import);
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    rsmd_import_init(call->node, import, call->client);
    enum rsm_status status = rsmd_connect(call->node, &wanted, &import->importer, &offer);
    if (status != RSM_ST_OK) {
        free(import);
        return status;
    }
    rsmd_import_add(import);
    fill_reply(call, &import->importer, &offer);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_import_disconnect(struct rsmd_call *call)
{
    struct rsmd_import *import =
        rsmd_client_import(call->node, call->client, call->request->u.import_disconnect.import);
    if (import == NULL)
        return RSM_ST_NOT_FOUND;
    import->disconnected = true;
    rsmd_import_free(call->node, import);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_import_trap(struct rsmd_call *call)
{
    const struct rsm_import_trap_request *asked = &call->request->u.import_trap;
    struct rsmd_import *import = rsmd_client_import(call->node, call->client, asked->import);
    if (import == NULL)
        return RSM_ST_NOT_FOUND;
    if (!rsmcore_map_choice_is_valid(&asked->choice))
        return RSM_ST_INVALID;
    import->choice = asked->choice;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_import_counts(struct rsmd_call *call)
{
    const struct rsm_import_counts_request *asked = &call->request->u.import_counts;
    struct rsmd_import *import = rsmd_client_import(call->node, call->client, asked->import);
    if (import == NULL)
        return RSM_ST_NOT_FOUND;
    import->counts = asked->counts;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_import_group(struct rsmd_call *call)
{
    const struct rsm_import_group_request *asked = &call->request->u.import_group;
    struct rsmd_import *import = rsmd_client_import(call->node, call->client, asked->import);
    if (import == NULL)
        return RSM_ST_NOT_FOUND;
    import->group = asked->stats;
    import->group_at = rsm_clock_ns();
    return RSM_ST_OK;
}
