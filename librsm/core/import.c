/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/import.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/controller_ports.h"
#include "core/event_internal.h"
#include "core/export.h"
#include "core/group_import.h"
#include "control/control.h"
#include "base/probe.h"
#include "transport/best.h"
#include "transport/generic.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum rsm_status rsmcore_route(const struct rsmcore_controller *controller, uint32_t node,
                              struct rsmcore_place *place)
{
    struct rsmcore_control *own;
    enum rsm_status status = rsmcore_control_local(&own);
    place->address[0] = '\0';
    if (status != RSM_ST_OK)
        return status;
    if (node == rsmcore_control_node(own)) {
        place->control = own;
        return RSM_ST_OK;
    }
    /* A node to which this process has a control connection stays there while its daemon lives. */
    place->control =
        rsmcore_controller_is_loopback(controller) ? NULL : rsmcore_control_known(node);
    if (place->control != NULL) {
        rsmcore_control_release(own);
        return RSM_ST_OK;
    }
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_LOCATE);
    msg.u.locate = (struct rsm_locate_request){.node = node};
    strcpy(msg.u.locate.controller, rsmcore_controller_name(controller));
    status = rsmcore_control_call(own, &msg, NULL);
    if (status == RSM_ST_OK && msg.u.locate_reply.kind == RSM_LOCATE_SAME_HOST) {
        status = rsmcore_control_to(node, msg.u.locate_reply.path, &place->control);
        rsmcore_control_release(own);
        bool known = status == RSM_ST_OK || status == RSM_ST_VERSION ||
                     status == RSM_ST_NO_MEMORY || status == RSM_ST_NO_RESOURCES;
        return known ? status : RSM_ST_UNREACHABLE;
    }
    if (status == RSM_ST_OK) {
        place->control = own;
        memcpy(place->address, msg.u.locate_reply.address, sizeof place->address);
        return RSM_ST_OK;
    }
    rsmcore_control_release(own);
    return status;
}

/* What the controller's transport asks goes with the request. */
static enum rsm_status request_connection(struct rsmcore_control *control,
                                          const struct rsmcore_controller *controller,
                                          const struct rsm_connect_request *asked,
                                          struct rsm_msg *msg, struct rsm_packet_fds *fds)
{
    struct rsm_import_connect_request *request = &msg->u.import_connect;
    strcpy(request->controller, rsmcore_controller_name(controller));
    strcpy(request->transport, rsmcore_controller_transport(controller));
    request->asked_len = asked->length;
    memcpy(request->asked, asked->data, asked->length);
    enum rsm_status status = rsmcore_control_call(control, msg, fds);
    const struct rsm_import_connect_reply *reply = &msg->u.import_connect_reply;
    if (status == RSM_ST_OK &&
        (reply->slot >= RSM_GENERATION_TABLE_SLOTS || reply->size > reply->length)) {
        rsm_packet_fds_close(fds);
        status = RSM_ST_PROTOCOL;
    }
    return status;
}

enum rsm_status rsmcore_import_move(struct rsmcore_import *import, const struct rsmcore_move *move,
                                    enum rsm_segment_state *was)
{
    return rsmcore_segment_move(import->control, RSM_EVENT_IMPORT, import->id, move, was);
}

static void end_connection(struct rsmcore_control *control, uint32_t id)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_DISCONNECT);
    msg.u.import_disconnect.import = id;
    /* A failure means that rsmd has gone, and the connection with it. */
    (void)rsmcore_control_call(control, &msg, NULL);
}

/* Let the transport named in the offer connect with it. */
static enum rsm_status connect_transport(struct rsmcore_import *import,
                                         const struct rsm_connect_request *asked,
                                         const struct rsm_import_connect_reply *reply,
                                         const struct rsm_packet_fds *fds)
{
    struct rsm_port *port;
    const struct rsm_import_ops *ops = rsmcore_transport_import(reply->transport);
    if (ops == NULL)
        return RSM_ST_NO_CONTROLLER;
    enum rsm_status status = rsmcore_controller_port(import->controller, ops, &port);
    if (status != RSM_ST_OK)
        return status;
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    if (offer == NULL)
        return RSM_ST_NO_MEMORY;
    offer->size = sizeof *offer;
    offer->node = asked->node;
    offer->address = asked->address;
    if (asked->length > 0 &&
        ops == rsmcore_transport_import(rsmcore_controller_transport(import->controller))) {
        offer->request = asked->data;
        offer->request_len = asked->length;
    }
    offer->blob_len = reply->blob_len;
    memcpy(offer->blob, reply->blob, reply->blob_len);
    offer->fd_count = fds->count;
    memcpy(offer->fds, fds->fds, fds->count * sizeof fds->fds[0]);
    struct rsm_conn *conn;
    status = rsmcore_conn_open(port, offer, reply->length, reply->rights, &conn);
    free(offer);
    if (status != RSM_ST_OK)
        return status;
    /* In a child the health of a connection that it must not use is bad. */
    import->is_inheritable = (conn->caps & RSM_CAP_FORK) != 0;
    import->reports_health = !import->is_inheritable || (conn->caps & RSM_CAP_ASYNC) != 0 ||
                             rsmcore_import_reports_health(conn->port->ops);
    import->acquires = conn->ops->acquire != NULL;
    import->inner = conn;
    atomic_store(&import->conn, conn);
    return RSM_ST_OK;
}

static void disconnect_transport(struct rsmcore_import *import)
{
    rsmcore_conn_close(rsmcore_import_conn(import));
}

/* Fill an import from rsmd's answer. */
static enum rsm_status build_import(struct rsmcore_import *import,
                                    const struct rsm_connect_request *asked,
                                    const struct rsm_import_connect_reply *reply,
                                    const struct rsm_packet_fds *fds)
{
    import->id = reply->import;
    import->rights = reply->rights;
    import->length = reply->length;
    import->size = reply->size;
    import->generation = reply->generation;
    import->table = rsmcore_control_generation_table(import->control);
    import->slot = &import->table->slot[reply->slot];
    import->process_epoch = rsmcore_process_epoch();
    pthread_mutex_init(&import->works.lock, NULL);
    pthread_cond_init(&import->works.taken, NULL);
    enum rsm_status status = connect_transport(import, asked, reply, fds);
    if (status != RSM_ST_OK)
        return status;
    status = rsmcore_event_create(import->control, RSM_EVENT_IMPORT, import->id, &import->event);
    if (status != RSM_ST_OK) {
        disconnect_transport(import);
        return status;
    }
    rsmcore_event_follow(import->event, import->slot, import->generation);
    rsmcore_event_set_source(import->event, rsmcore_import_conn(import));
    return RSM_ST_OK;
}

/* A controller of several transports asks for fewer after one of them could not connect. */
static bool has_another_way(struct rsmcore_controller *controller,
                            const struct rsm_connect_request *asked)
{
    struct rsm_connect_request now = {.node = asked->node, .address = asked->address};
    return strcmp(rsmcore_controller_transport(controller), RSMCORE_BEST_NAME) == 0 &&
           rsmcore_controller_request(controller, &now) == RSM_ST_OK && now.length < asked->length;
}

static enum rsm_status connect_once(struct rsmcore_controller *controller,
                                    const struct rsm_import_connect_request *request,
                                    struct rsmcore_import **out, bool *again)
{
    RSM_PROBE4(import_connect, request->node, (uint32_t)request->space, request->segment_id,
               request->rights);
    struct rsmcore_import *import = calloc(1, sizeof *import);
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    struct rsmcore_place place;
    struct rsm_connect_request asked = {.node = request->node, .address = place.address};
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_CONNECT);
    msg.u.import_connect = *request;
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmcore_route(controller, request->node, &place);
    if (status != RSM_ST_OK)
        goto free_import;
    import->control = place.control;
    status = rsmcore_controller_request(controller, &asked);
    if (status != RSM_ST_OK)
        goto release_control;
    status = request_connection(import->control, controller, &asked, &msg, &fds);
    if (status == RSM_ST_STALE || status == RSM_ST_TIMEOUT)
        status = RSM_ST_UNREACHABLE;
    if (status != RSM_ST_OK)
        goto release_control;
    import->controller = rsmcore_controller_hold(controller);
    status = build_import(import, &asked, &msg.u.import_connect_reply, &fds);
    rsm_packet_fds_close(&fds);
    if (status != RSM_ST_OK)
        goto drop_connection;
    *out = import;
    return RSM_ST_OK;

drop_connection:
    end_connection(import->control, msg.u.import_connect_reply.import);
    *again = has_another_way(controller, &asked);
    rsmcore_controller_close(controller);
release_control:
    rsmcore_control_release(import->control);
free_import:
    free(import);
    return status;
}

static enum rsm_status connect_with(struct rsmcore_controller *controller,
                                    const struct rsm_import_connect_request *request,
                                    struct rsmcore_import **out)
{
    enum rsm_status status;
    bool again;
    unsigned tries = RSMCORE_BEST_PARTS;
    do {
        again = false;
        status = connect_once(controller, request, out, &again);
    } while (again && --tries > 0);
    return status;
}

enum rsm_status rsmcore_import_connect(struct rsmcore_controller *controller, uint32_t node,
                                       enum rsm_id_space space, uint32_t segment_id,
                                       uint32_t rights, struct rsmcore_import **out)
{
    const struct rsm_import_connect_request request = {
        .node = node, .space = space, .segment_id = segment_id, .rights = rights};
    return connect_with(controller, &request, out);
}

enum rsm_status rsmcore_import_attach(struct rsmcore_controller *controller,
                                      enum rsm_id_space space, uint32_t segment_id,
                                      struct rsmcore_import **out)
{
    struct rsm_import_connect_request request = {.space = space,
                                                 .segment_id = segment_id,
                                                 .rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                                 .flags = RSM_CONNECT_ATTACH};
    enum rsm_status status = rsmcore_local_node(&request.node);
    return status == RSM_ST_OK ? connect_with(controller, &request, out) : status;
}

void rsmcore_import_disconnect(struct rsmcore_import *import)
{
    if (import->group != NULL)
        rsmcore_import_end_group(import->group);
    rsmcore_event_destroy(import->event);
    disconnect_transport(import);
    end_connection(import->control, import->id);
    rsmcore_controller_close(import->controller);
    rsmcore_control_release(import->control);
    if (import->process_epoch == rsmcore_process_epoch()) { /* a child may have copied a waiter */
        pthread_cond_destroy(&import->works.taken);
        pthread_mutex_destroy(&import->works.lock);
    }
    free(import);
}

void rsmcore_import_probe(const struct rsmcore_import *import, uint32_t right, uint64_t offset,
                          uint64_t length)
{
    if (length < RSM_PROBE_TRANSFER_BYTES)
        return;
    if (right == RSM_RIGHT_WRITE)
        RSM_PROBE3(import_put, import->id, offset, length);
    else
        RSM_PROBE3(import_get, import->id, offset, length);
}

static enum rsm_status transfer_vector(struct rsmcore_import *import,
                                       const struct rsm_transfer *vec, unsigned count,
                                       unsigned *done, uint32_t right)
{
    *done = 0;
    if ((import->rights & right) == 0)
        return RSM_ST_DENIED;
    unsigned inside = 0;
    while (inside < count &&
           rsmcore_import_in_range(import, vec[inside].remote, vec[inside].length))
        inside++;
    enum rsm_status status = RSM_ST_OK;
    struct rsm_conn *conn = rsmcore_import_conn(import);
    for (unsigned i = 0; i < inside; i++) {
        rsmcore_import_probe(import, right, vec[i].remote, vec[i].length);
        conn = rsmcore_import_conn_for(import, vec[i].local, vec[i].length);
    }
    if (inside > 0)
        status = rsmcore_import_note(import, right == RSM_RIGHT_WRITE
                                                 ? conn->ops->putv(conn, vec, inside, done)
                                                 : conn->ops->getv(conn, vec, inside, done));
    return status == RSM_ST_OK && inside < count ? RSM_ST_RANGE : status;
}

enum rsm_status rsmcore_import_putv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    return transfer_vector(import, vec, count, done, RSM_RIGHT_WRITE);
}

enum rsm_status rsmcore_import_getv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    return transfer_vector(import, vec, count, done, RSM_RIGHT_READ);
}

/* Whether transfers have failed that no caller knows of. The caller has to report it. */
static bool take_unreported(struct rsmcore_import *import)
{
    uint32_t failures = rsm_conn_failures(import->inner);
    return atomic_exchange(&import->failures_reported, failures) != failures;
}

static enum rsm_status signal_by_transport(struct rsmcore_import *import, bool coalesce)
{
    struct rsm_conn *conn = rsmcore_import_conn(import);
    if (take_unreported(import))
        return RSM_ST_TRANSFER;
    enum rsm_status status = conn->ops->signals->post(conn, coalesce);
    if (status != RSM_ST_OK)
        (void)take_unreported(import);
    return status;
}

enum rsm_status rsmcore_import_post(struct rsmcore_import *import, bool coalesce)
{
    RSM_PROBE3(event_post, (uint32_t)RSM_EVENT_IMPORT, import->id, (uint32_t)coalesce);
    if (!rsmcore_control_daemon_lives(import->control, import->table))
        return RSM_ST_UNREACHABLE;
    if (!import->is_inheritable && import->process_epoch != rsmcore_process_epoch())
        return RSM_ST_ABORTED;
    if (rsmcore_import_aborted(import))
        return RSM_ST_OK; /* no receiver */
    if ((rsmcore_import_conn(import)->caps & RSM_CAP_REMOTE_SIGNAL) != 0)
        return signal_by_transport(import, coalesce);
    enum rsm_status earlier = rsmcore_import_complete(import);
    if (earlier == RSM_ST_OK && take_unreported(import))
        earlier = RSM_ST_TRANSFER;
    if (earlier != RSM_ST_OK)
        return earlier == RSM_ST_ABORTED ? RSM_ST_OK : earlier;
    return rsmcore_event_post(import->event, coalesce);
}
