/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/connect.h"

#include <stdlib.h>
#include <unistd.h>

#include "node/call.h"
#include "node/claims.h"
#include "node/controllers.h"
#include "node/remote/remote.h"
#include "node/offer.h"
#include "node/remote/release.h"
#include "node/reach.h"
#include "node/registry.h"
#include "node/segment_ids.h"
#include "node/topology.h"

/* ------------------------------------------------------------------ to a segment of this node */

/* The published segment that is meant, if this importer may have it. */
static enum rsm_status find_segment(const struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                    struct rsmd_export **found)
{
    const struct rsmd_client *client = wanted->client;
    bool foreign = client->node != node->id;
    if (wanted->attach)
        return rsmd_claim_find(node, wanted, found);
    struct rsmd_export *exported = rsmd_segment_named(node, &wanted->name);
    if (exported == NULL || (foreign && exported->controller->loopback))
        return RSM_ST_NOT_FOUND;
    *found = exported;
    return rsmd_access_decide(&exported->access, client->node, wanted->who, wanted->rights);
}

/* Whoever sends packets to the socket is on this host. */
static struct rsm_importer importer_of(const struct rsmd_wanted *wanted)
{
    return (struct rsm_importer){.size = sizeof(struct rsm_importer),
                                 .node = wanted->client->node,
                                 .uid = wanted->who->uid,
                                 .gid = wanted->who->gid,
                                 .pid = wanted->who->pid,
                                 .local = wanted->client->remote == NULL};
}

static void take_back(const struct rsmd_controller *by, const struct rsm_importer *importer,
                      struct rsm_node_offer *granted, struct rsm_offer *offer)
{
    by->ops->revoke(by->port, granted);
    if (!importer->local && by->ops->imports != NULL)
        by->ops->imports->released(by->port, granted);
    while (offer->fd_count > 0)
        close(offer->fds[--offer->fd_count]);
}

/* Make the connection of an offer. Descriptors do not cross to another host. */
static enum rsm_status make_connection(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                       const struct rsm_importer *importer,
                                       struct rsmd_export *exported, struct rsmd_controller *by,
                                       struct rsm_node_offer *granted, bool brings_fds,
                                       struct rsmd_import **made)
{
    struct rsmd_offer_price price;
    bool held = !importer->local && by->ops->imports != NULL;
    if (!importer->local && brings_fds)
        return RSM_ST_NO_ROUTE;
    if (!rsmd_offer_charge(by, granted, wanted->account, &price))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_release *release = held ? rsmd_release_make(by, granted) : NULL;
    enum rsm_status status = held && release == NULL
                                 ? RSM_ST_NO_MEMORY
                                 : rsmd_import_make(node, wanted->client, wanted->account, importer,
                                                    exported, by, granted, wanted->attach, made);
    if (status != RSM_ST_OK) {
        free(release);
        rsmd_offer_refund(wanted->account, &price);
        return status;
    }
    (*made)->rights = wanted->rights;
    (*made)->release = release;
    (*made)->price = price;
    return RSM_ST_OK;
}

static enum rsm_status connect_to(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                                  struct rsmd_export *exported, struct rsm_offer *offer,
                                  struct rsmd_import **made)
{
    struct rsmd_controller *by;
    struct rsm_node_offer *granted;
    struct rsm_importer importer = importer_of(wanted);
    bool local = importer.local;
    if (!local && !rsmd_reaches(exported->controller, wanted->client->node))
        return RSM_ST_UNREACHABLE;
    if (!rsmd_share_fits(wanted->account, RSMD_SEGMENTS, 1) ||
        (wanted->attach && exported->attached_count >= RSMD_ATTACHED_MAX))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status =
        rsmd_offer_make(node, exported, &importer, local, wanted->rights, offer, &by, &granted);
    if (status != RSM_ST_OK)
        return status;
    status =
        make_connection(node, wanted, &importer, exported, by, granted, offer->fd_count > 0, made);
    if (status != RSM_ST_OK) {
        take_back(by, &importer, granted, offer);
        return status;
    }
    /* Else it is a grant that revoke() takes back. */
    if (offer->fd_count > 0 || (*made)->release != NULL)
        rsmd_pieces_mark_offered(exported->pieces);
    return RSM_ST_OK;
}

enum rsm_status rsmd_connect(struct rsmd_node *node, const struct rsmd_wanted *wanted,
                             struct rsm_offer *offer, struct rsmd_import **made)
{
    const struct rsmd_controller *controller = rsmd_controller_named(node, wanted->controller);
    struct rsmd_export *exported;
    if (controller == NULL || (controller->loopback && wanted->client->node != node->id))
        return RSM_ST_NO_CONTROLLER;
    if (wanted->name.space >= RSM_ID_SPACES)
        return RSM_ST_INVALID;
    enum rsm_status status = find_segment(node, wanted, &exported);
    return status == RSM_ST_OK ? connect_to(node, wanted, exported, offer, made) : status;
}

/* ------------------------------------------------------------------ requests */

/* Put offer and connection into the reply. */
static void fill_reply(struct rsmd_call *call, const struct rsmd_import *import,
                       const struct rsm_offer *offer)
{
    struct rsm_import_connect_reply *reply = &call->reply->u.import_connect_reply;
    reply->import = import->id;
    reply->slot = import->slot;
    reply->generation = rsmd_generation_table_value(call->node->generation_table, import->slot);
    reply->length = import->exported->length;
    reply->size = import->exported->size;
    reply->rights = import->rights;
    strncpy(reply->transport, import->by->ops->name, sizeof reply->transport - 1);
    reply->blob_len = offer->blob_len;
    memcpy(reply->blob, offer->blob, offer->blob_len);
    memcpy(call->attached.fds, offer->fds, offer->fd_count * sizeof offer->fds[0]);
    call->attached.count = offer->fd_count;
    call->close_attached = true;
}

/* A connect that this node cannot serve itself. Nodes of this host are asked directly, by the
 * process; those of other hosts through the link. */
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
    return where.kind == RSM_LOCATE_REMOTE ? rsmd_remote_connect(call, controller)
                                           : RSM_ST_UNREACHABLE;
}

enum rsm_status rsmd_answer_import_connect(struct rsmd_call *call)
{
    const struct rsm_import_connect_request *asked = &call->request->u.import_connect;
    struct rsmd_import *import;
    struct rsm_offer offer;
    if ((asked->flags & ~RSM_CONNECT_ATTACH) != 0)
        return RSM_ST_INVALID;
    if (asked->node != call->node->id && asked->flags != 0)
        return RSM_ST_DENIED;
    if (asked->node != call->node->id)
        return connect_elsewhere(call);
    struct rsmd_wanted wanted = {.client = call->client,
                                 .account = call->client->account,
                                 .who = &call->who,
                                 .controller = asked->controller,
                                 .name = {.space = asked->space, .id = asked->segment_id},
                                 .rights = asked->rights,
                                 .attach = (asked->flags & RSM_CONNECT_ATTACH) != 0};
    enum rsm_status status = rsmd_connect(call->node, &wanted, &offer, &import);
    if (status == RSM_ST_OK)
        fill_reply(call, import, &offer);
    return status;
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
