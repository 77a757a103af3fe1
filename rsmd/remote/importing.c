/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of this node that import from other hosts. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "node/refusals.h"
#include "remote/internal.h"
#include "node/segment_ids.h"
#include "transport/best.h"

/* ------------------------------------------------------------------ requests under way */

void rsmd_remote_unforward(struct rsmd_forward *forward)
{
    if (forward->parked != NULL)
        rsmd_unpark(forward);
    else
        HASH_DELETE(hh, forward->remote->waiting, forward);
    DL_DELETE2(forward->client->forwards, forward, client_prev, client_next);
    forward->client->forward_count--;
    rsmd_share_give(forward->client->account, RSMD_FORWARDS, 1);
    event_free(forward->late);
    free(forward);
}

void rsmd_remote_answer(struct rsmd_forward *forward, struct rsm_msg *reply,
                        const struct rsm_packet_fds *fds)
{
    struct rsmd_client *client = forward->client;
    reply->type = forward->type | RSM_MSG_REPLY;
    reply->sequence = forward->sequence;
    rsmd_remote_unforward(forward);
    client->answer(client, reply, fds);
}

void rsmd_remote_refuse(struct rsmd_forward *forward, enum rsm_status status)
{
    struct rsm_msg reply = {.status = status};
    rsmd_remote_answer(forward, &reply, NULL);
}

static void on_late(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    rsmd_remote_refuse(argument, RSM_ST_UNREACHABLE);
}

void rsmd_remote_abandon(struct rsmd_client *client)
{
    while (client->forwards != NULL)
        rsmd_remote_unforward(client->forwards);
}

struct rsmd_forward *rsmd_remote_forwarded(const struct rsmd_remote *remote, uint32_t request,
                                           bool of_interrupt)
{
    struct rsmd_forward *forward;
    HASH_FIND_INT(remote->waiting, &request, forward);
    bool fits = forward != NULL && (forward->type != RSM_MSG_IMPORT_CONNECT) == of_interrupt;
    return fits ? forward : NULL;
}

/* Enter it, with its timer. False: no memory. */
static bool begin_forward(struct rsmd_forward *forward)
{
    uint32_t ms = forward->node->conf.peer_timeout_ms;
    struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    forward->late = evtimer_new(forward->node->hosts->base, on_late, forward);
    if (forward->late == NULL)
        return false;
    if (event_add(forward->late, &timeout) == 0)
        HASH_ADD_INT(forward->remote->waiting, request, forward);
    if (forward->hh.tbl != NULL)
        return true;
    event_free(forward->late);
    return false;
}

enum rsm_status rsmd_remote_forward(const struct rsmd_call *call, struct rsmd_remote *remote,
                                    struct rsmd_controller *controller, struct rsmd_forward **made)
{
    if (!rsmd_share_take(call->client->account, RSMD_FORWARDS, 1))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_forward *forward = calloc(1, sizeof *forward);
    if (forward != NULL)
        *forward = (struct rsmd_forward){.node = call->node,
                                         .remote = remote,
                                         .client = call->client,
                                         .controller = controller,
                                         .importer = {.size = sizeof(struct rsm_importer),
                                                      .node = call->node->id,
                                                      .uid = call->who.uid,
                                                      .gid = call->who.gid,
                                                      .pid = call->who.pid,
                                                      .local = true},
                                         .request = ++remote->last_request,
                                         .type = call->request->type,
                                         .sequence = call->request->sequence};
    if (forward == NULL || !begin_forward(forward)) {
        rsmd_share_give(call->client->account, RSMD_FORWARDS, 1);
        free(forward);
        return RSM_ST_NO_MEMORY;
    }
    DL_APPEND2(call->client->forwards, forward, client_prev, client_next);
    call->client->forward_count++;
    *made = forward;
    return RSM_ST_OK;
}

enum rsm_status rsmd_remote_send_forward(struct rsmd_call *call, struct rsmd_forward *forward,
                                         const struct rsm_cluster_msg *msg)
{
    call->later = rsmd_remote_send(call->node, forward->remote, msg);
    if (call->later)
        return RSM_ST_OK;
    rsmd_remote_unforward(forward);
    return RSM_ST_UNREACHABLE;
}

static void fill(struct rsm_cluster_connect *into, const struct rsmd_call *call, uint32_t request)
{
    const struct rsm_import_connect_request *asked = &call->request->u.import_connect;
    *into = (struct rsm_cluster_connect){.request = request,
                                         .space = asked->space,
                                         .segment_id = asked->segment_id,
                                         .rights = asked->rights,
                                         .asked_len = asked->asked_len};
    memcpy(into->controller, asked->controller, sizeof into->controller);
    memcpy(into->transport, asked->transport, sizeof into->transport);
    memcpy(into->asked, asked->asked, asked->asked_len);
    rsmd_remote_pack_identity(&call->who, &into->who);
}

enum rsm_status rsmd_remote_connect(struct rsmd_call *call, struct rsmd_controller *controller)
{
    const struct rsm_import_connect_request *asked = &call->request->u.import_connect;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_CONNECT};
    struct rsmd_forward *forward;
    if (!rsmd_share_fits(call->client->account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = rsmd_remote_await(call, asked->node);
    if (status != RSM_ST_OK || call->later)
        return status;
    status =
        rsmd_remote_forward(call, rsmd_remote_of(call->node, asked->node), controller, &forward);
    if (status != RSM_ST_OK)
        return status;
    forward->name = (struct rsmd_segment_name){.space = asked->space, .id = asked->segment_id};
    forward->rights = asked->rights;
    fill(&msg.u.connect, call, forward->request);
    return rsmd_remote_send_forward(call, forward, &msg);
}

/* ------------------------------------------------------------------ DISCONNECT */

void rsmd_remote_send_disconnect(const struct rsmd_node *node, const struct rsmd_remote *remote,
                                 uint32_t id, uint32_t died)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_DISCONNECT,
                                  .u.disconnect = {.import = id, .died = died}};
    rsmd_remote_send(node, remote, &msg);
}

/* Disconnect a connection that no client has, if the answer names one. */
static void give_back(const struct rsmd_node *node, const struct rsmd_remote *remote,
                      const struct rsm_cluster_connect_reply *reply)
{
    if (reply->status == RSM_ST_OK && rsmd_remote_import(remote, reply->import) == NULL)
        rsmd_remote_send_disconnect(node, remote, reply->import, 0);
}

/* ------------------------------------------------------------------ what a port has of an
 * import */

/* Revoke what this node has given to the importing process. True: nothing of it is left. */
static bool revoke_entry(const struct rsmd_remote_import *import)
{
    const struct rsmd_controller *controller = import->import.importer.controller;
    return import->entry == NULL ||
           controller->ops->imports->revoke(controller->port, import->entry);
}

static void close_entry(struct rsmd_remote_import *import)
{
    const struct rsmd_controller *controller = import->import.importer.controller;
    if (import->entry == NULL)
        return;
    controller->ops->imports->close(controller->port, import->entry);
    import->entry = NULL;
    rsmd_share_give(import->import.importer.account, RSMD_DESCRIPTORS, 1);
}

static bool goes_through_its_node(const struct rsmd_controller *controller,
                                  const struct rsm_cluster_connect_reply *reply)
{
    return controller->ops->imports != NULL && strcmp(controller->ops->name, reply->transport) == 0;
}

/* Let the port turn the offer into one for a process of this host. */
static enum rsm_status accept_offer(struct rsmd_node *node, struct rsmd_remote_import *import,
                                    const struct rsm_cluster_connect_reply *reply,
                                    struct rsm_offer *offer)
{
    const struct rsmd_importer *importer = &import->import.importer;
    const struct rsmd_controller *controller = importer->controller;
    struct rsm_offer theirs = {.size = sizeof theirs,
                               .node = importer->exporter,
                               .address = rsmd_conf_address(&node->conf, importer->exporter)};
    *offer = theirs;
    theirs.blob_len = reply->blob_len;
    memcpy(theirs.blob, reply->blob, reply->blob_len);
    if (!goes_through_its_node(controller, reply)) {
        *offer = theirs;
        return RSM_ST_OK;
    }
    if (!rsmd_share_take(importer->account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = controller->ops->imports->accept(
        controller->port, importer->exporter, reply->length, importer->rights, &importer->who,
        &theirs, offer, &import->entry);
    if (status == RSM_ST_OK)
        return RSM_ST_OK;
    import->entry = NULL;
    rsmd_share_give(importer->account, RSMD_DESCRIPTORS, 1);
    if (status != RSM_ST_PROTOCOL)
        return status;
    rsmd_log_of_node(node, importer->exporter,
                     "controller %s: node %u makes an offer that makes no sense", controller->name,
                     (unsigned)importer->exporter);
    return RSM_ST_UNREACHABLE;
}

/* ------------------------------------------------------------------ the end of a connection */

struct rsmd_remote_import *rsmd_remote_import(const struct rsmd_remote *remote, uint32_t id)
{
    struct rsmd_remote_import *import;
    HASH_FIND(hh, remote->imports, &id, sizeof id, import);
    return import;
}

/* Detach the import from the remote node. The client keeps its handle. */
static void part(struct rsmd_remote_import *import)
{
    rsmd_relay_free(&import->relay);
    rsmd_silence_pass_import(import);
    HASH_DELETE(hh, import->remote->imports, import);
    import->remote = NULL;
    import->exported.id = 0;
}

/* Report a connection that is cut here to the exporter's node. Nothing is sent if the node is not
 * reachable or knows, unless it waits for the release of the memory. */
static void report_cut(const struct rsmd_node *node, struct rsmd_remote_import *import, bool known,
                       bool released)
{
    uint32_t died = RSM_CLUSTER_DIED | (released ? 0 : RSM_CLUSTER_HELD);
    if (!known)
        rsmd_remote_send_disconnect(node, import->remote, import->exported.id, died);
    else if (import->entry != NULL && released)
        rsmd_remote_send_disconnect(node, import->remote, import->exported.id, 0);
    if (!released)
        rsmd_ends_await_disconnect(import->remote, import, import->exported.id);
}

void rsmd_remote_abort(struct rsmd_node *node, struct rsmd_remote_import *import, bool known)
{
    rsmd_ends_done_import(import);
    rsmd_generation_table_advance(node->generation_table, import->import.importer.slot);
    report_cut(node, import, known, revoke_entry(import));
    part(import);
    rsmd_import_aborted(node, &import->import);
}

void rsmd_remote_on_abort(struct rsmd_node *node, struct rsmd_remote *remote,
                          const struct rsm_cluster_import *cut)
{
    struct rsmd_remote_import *import = rsmd_remote_import(remote, cut->import);
    if (import != NULL)
        rsmd_remote_abort(node, import, true);
}

void rsmd_remote_on_unavailable(struct rsmd_node *node, struct rsmd_remote *remote,
                                const struct rsm_cluster_import *asked)
{
    struct rsmd_remote_import *import = rsmd_remote_import(remote, asked->import);
    if (import != NULL)
        import->import.importer.ops->unavailable(node, &import->import.importer);
}

/* ------------------------------------------------------------------ what a client does to it */

static struct rsmd_remote_import *remote_import(struct rsmd_import *import)
{
    return (struct rsmd_remote_import *)import;
}

/* Disconnect, and report to the exporter's node what it does not know. */
static void disconnect(struct rsmd_node *node, struct rsmd_import *base)
{
    struct rsmd_remote_import *import = remote_import(base);
    struct rsmd_remote *exporter =
        import->awaited_id != 0 ? rsmd_remote_of(node, base->importer.exporter) : NULL;
    rsmd_ends_done_import(import);
    close_entry(import);
    if (exporter != NULL) {
        rsmd_remote_send_disconnect(node, exporter, import->awaited_id, 0);
        rsmd_ends_disconnected(exporter, import);
    }
    if (import->exported.id == 0)
        return;
    /* Send the events that were posted before. */
    rsmd_relay_flush(import->relay);
    rsmd_remote_send_disconnect(node, import->remote, import->exported.id,
                                base->disconnected ? 0 : RSM_CLUSTER_DIED);
    part(import);
}

static enum rsm_status need_relay(struct rsmd_node *node, struct rsmd_import *base,
                                  const struct rsmd_events **events)
{
    struct rsmd_remote_import *import = remote_import(base);
    *events = NULL;
    if (import->remote == NULL || !import->remote->up)
        return RSM_ST_OK;
    const struct rsmd_relay_target target = {.remote = import->remote,
                                             .account = base->importer.account,
                                             .end = RSM_EVENT_EXPORT,
                                             .id = import->exported.id};
    return rsmd_relay_need(node, &import->relay, &target, events);
}

static bool ring_relay(struct rsmd_import *base)
{
    return rsmd_relay_rung(remote_import(base)->relay);
}

static void show(const struct rsmd_import *base, struct rsm_inspect_item *item)
{
    const struct rsmd_remote_import *import = (const struct rsmd_remote_import *)base;
    if (import->remote == NULL)
        return;
    item->export_id = import->exported.id;
    item->length = import->exported.length;
    snprintf(item->transport, sizeof item->transport, "%.*s", RSM_PROTO_SHOWN_MAX - 1,
             import->transport);
    rsmd_segment_about(&import->exported.name, item);
}

static const struct rsmd_exporter_ops ops = {
    .disconnect = disconnect,
    .receiver = need_relay,
    .ring = ring_relay,
    .about = show,
};

/* ------------------------------------------------------------------ answers */

/* Refuse a segment of a controller with another transport: the process would use the offer with the
 * device of the controller that it has named, and the offer is for another device. */
static bool is_of_this_transport(struct rsmd_node *node, const struct rsmd_forward *forward,
                                 const struct rsm_cluster_connect_reply *reply)
{
    const struct rsmd_controller *controller = forward->controller;
    if (strcmp(controller->ops->name, reply->transport) == 0)
        return true;
    rsmd_log_of_user(
        node, forward->importer.uid,
        "node %u: segment %#x is on a controller of transport %s, and the importer asked "
        "for it through controller %s, which is one of transport %s",
        (unsigned)forward->remote->node, (unsigned)forward->name.id, reply->transport,
        controller->name, controller->ops->name);
    return false;
}

/* Whether the remote node's answer is plausible. */
static bool is_sound(const struct rsmd_remote *remote, const struct rsmd_forward *forward,
                     const struct rsm_cluster_connect_reply *reply)
{
    return reply->import != 0 && reply->size != 0 && reply->size <= reply->length &&
           reply->transport[0] != '\0' && reply->rights == forward->rights &&
           rsmd_remote_import(remote, reply->import) == NULL;
}

/* Make this end of the connection. */
static enum rsm_status make_import(const struct rsmd_forward *forward,
                                   const struct rsm_cluster_connect_reply *reply,
                                   struct rsmd_remote_import **made)
{
    struct rsmd_node *node = forward->node;
    struct rsmd_remote *remote = forward->remote;
    struct rsmd_remote_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    struct rsmd_importer *importer = &import->import.importer;
    rsmd_import_init(node, &import->import, forward->client);
    import->import.exporter_ops = &ops;
    importer->who = forward->importer;
    importer->rights = forward->rights;
    importer->exporter = remote->node;
    importer->controller = forward->controller;
    enum rsm_status status = rsmd_importer_enter(node, importer, forward->client->account);
    if (status != RSM_ST_OK) {
        free(import);
        return status;
    }
    rsmd_import_add(&import->import);
    node->connects++;
    import->exported.id = reply->import;
    import->exported.name = forward->name;
    import->exported.length = reply->length;
    rsmcore_best_name(reply->transport, reply->blob, reply->blob_len, import->transport);
    HASH_ADD(hh, remote->imports, exported.id, sizeof import->exported.id, import);
    if (import->hh.tbl == NULL) {
        import->exported.id = 0;
        rsmd_import_free(node, &import->import);
        return RSM_ST_NO_MEMORY;
    }
    import->remote = remote;
    *made = import;
    return RSM_ST_OK;
}

static enum rsm_status take_success(struct rsmd_forward *forward,
                                    const struct rsm_cluster_connect_reply *reply,
                                    struct rsm_import_connect_reply *body,
                                    struct rsm_packet_fds *fds)
{
    struct rsmd_remote_import *import;
    struct rsm_offer offer;
    enum rsm_status status = make_import(forward, reply, &import);
    if (status != RSM_ST_OK) {
        give_back(forward->node, forward->remote, reply);
        return status;
    }
    status = accept_offer(forward->node, import, reply, &offer);
    if (status != RSM_ST_OK) {
        rsmd_import_free(forward->node, &import->import); /* and at the exporter's node */
        return status;
    }
    fds->count = offer.fd_count;
    memcpy(fds->fds, offer.fds, offer.fd_count * sizeof offer.fds[0]);
    const struct rsmd_importer *importer = &import->import.importer;
    *body = (struct rsm_import_connect_reply){
        .import = importer->id,
        .slot = importer->slot,
        .generation = rsmd_generation_table_value(forward->node->generation_table, importer->slot),
        .length = reply->length,
        .size = reply->size,
        .rights = reply->rights,
        .blob_len = offer.blob_len};
    memcpy(body->transport, reply->transport, sizeof body->transport);
    memcpy(body->blob, offer.blob, offer.blob_len);
    return RSM_ST_OK;
}

void rsmd_remote_on_connect_reply(struct rsmd_node *node, struct rsmd_remote *remote,
                                  const struct rsm_cluster_connect_reply *reply)
{
    struct rsm_msg answer = {.status = RSM_ST_OK};
    struct rsm_packet_fds fds = {.count = 0};
    struct rsmd_forward *forward = rsmd_remote_forwarded(remote, reply->request, false);
    if (forward == NULL) { /* no client waits for it */
        give_back(node, remote, reply);
        return;
    }
    enum rsm_status status = (enum rsm_status)reply->status;
    if (!rsmcore_status_known(reply->status) ||
        (status == RSM_ST_OK && !is_sound(remote, forward, reply))) {
        rsmd_log_of_node(node, remote->node, "node %u answers a connect with what makes no sense",
                         (unsigned)remote->node);
        give_back(node, remote, reply);
        status = RSM_ST_UNREACHABLE;
    }
    if (status == RSM_ST_OK && !is_of_this_transport(node, forward, reply)) {
        give_back(node, remote, reply);
        status = RSM_ST_NO_ROUTE;
    }
    if (status == RSM_ST_OK)
        status = take_success(forward, reply, &answer.u.import_connect_reply, &fds);
    answer.status = status;
    rsmd_remote_answer(forward, &answer, &fds);
    rsm_packet_fds_close(&fds);
}
