/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of other hosts that import from this node. */
#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/connect.h"
#include "node/exports.h"
#include "remote/internal.h"

/* time limit for a node to report why the fabric has lost its process */
enum { CAUSE_SECONDS = 2 };

static struct rsmd_remote_importer *remote_importer(struct rsmd_importer *importer)
{
    return (struct rsmd_remote_importer *)importer;
}

/* ------------------------------------------------------------------ ends */

static void revoke(struct rsmd_node *node, struct rsmd_remote_importer *importer,
                   enum rsm_record_event event)
{
    rsmd_grant_revoke(node, importer->importer.grant, event);
    rsmd_release_await(importer->remote, importer->release);
}

/* Free one that has no grant any more. */
static void free_importer(struct rsmd_node *node, struct rsmd_remote_importer *importer)
{
    rsmd_ends_done_importer(importer);
    if (importer->overdue != NULL)
        event_free(importer->overdue);
    rsmd_relay_free(&importer->relay);
    rsmd_silence_pass_importer(importer);
    DL_DELETE(importer->remote->importers, importer);
    rsmd_importer_leave(node, &importer->importer);
    free(importer);
}

void rsmd_remote_importer_free(struct rsmd_node *node, struct rsmd_remote_importer *importer,
                               enum rsm_record_event event)
{
    struct rsmd_export *exported = importer->importer.grant->exported;
    rsmd_relay_free(&importer->relay);
    revoke(node, importer, event);
    rsmd_export_settle(node, exported->client, exported);
    free_importer(node, importer);
}

static void abort_importer(struct rsmd_node *node, struct rsmd_importer *base,
                           enum rsm_record_event event)
{
    struct rsmd_remote_importer *importer = remote_importer(base);
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_ABORT, .u.abort.import = base->id};
    rsmd_relay_leave_fabric(importer->relay);
    revoke(node, importer, event);
    rsmd_relay_flush(importer->relay);
    rsmd_remote_send(node, importer->remote, &msg);
    free_importer(node, importer);
}

static void on_overdue(evutil_socket_t fd, short what, void *argument)
{
    struct rsmd_remote_importer *importer = argument;
    (void)fd, (void)what;
    rsmd_ends_doom(importer->node, importer);
}

/* Only its host knows whether the importer has disconnected or died. The connection ends with the
 * DISCONNECT that reports it. If none comes soon, both are alive, and the connection is cut. */
static void await_cause(struct rsmd_node *node, struct rsmd_importer *base)
{
    static const struct timeval timeout = {.tv_sec = CAUSE_SECONDS};
    struct rsmd_remote_importer *importer = remote_importer(base);
    if (importer->overdue != NULL)
        return;
    importer->overdue = event_new(node->hosts->base, -1, 0, on_overdue, importer);
    if (importer->overdue == NULL || event_add(importer->overdue, &timeout) < 0)
        rsmd_export_abort(node, base->grant);
}

/* ------------------------------------------------------------------ what an exporter does to it */

static void report_unavailable(struct rsmd_node *node, struct rsmd_importer *base)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_UNAVAILABLE,
                                  .u.unavailable.import = base->id};
    rsmd_remote_send(node, remote_importer(base)->remote, &msg);
}

static enum rsm_status need_relay(struct rsmd_node *node, struct rsmd_importer *base,
                                  const struct rsmd_events **events)
{
    struct rsmd_remote_importer *importer = remote_importer(base);
    const struct rsmd_relay_target target = {.remote = importer->remote,
                                             .account = base->account,
                                             .end = RSM_EVENT_IMPORT,
                                             .id = base->id,
                                             .grant = base->grant};
    return rsmd_relay_need(node, &importer->relay, &target, events);
}

/* The importer cannot see this error on its host: it is cut off instead. */
static bool miss_event(struct rsmd_node *node, struct rsmd_importer *base)
{
    unsigned dropped;
    if (rsmd_bucket_take(&node->missed_log, rsm_clock_ns() / 1000000, &dropped))
        rsm_log_error(
            "an importer of node %u misses an event and is cut off: its counter cannot be "
            "made",
            (unsigned)base->who.node);
    rsmd_export_abort(node, base->grant);
    return false;
}

static bool ring_relay(struct rsmd_importer *base)
{
    return rsmd_relay_rung(remote_importer(base)->relay);
}

static void take_signals(struct rsmd_importer *base)
{
    rsmd_relay_taken(remote_importer(base)->relay);
}

static void show(const struct rsmd_importer *base, struct rsm_inspect_item *item)
{
    rsmd_grant_about(base->grant, item);
}

static const struct rsmd_importer_ops ops = {
    .abort = abort_importer,
    .lost = await_cause,
    .unavailable = report_unavailable,
    .receiver = need_relay,
    .missed = miss_event,
    .ring = ring_relay,
    .taken = take_signals,
    .about = show,
};

struct rsmd_remote_importer *rsmd_remote_importer(const struct rsmd_node *node,
                                                  const struct rsmd_remote *remote, uint32_t id)
{
    struct rsmd_importer *importer = rsmd_importer_find(node, id);
    bool is = importer != NULL && importer->ops == &ops;
    return is && remote_importer(importer)->remote == remote ? remote_importer(importer) : NULL;
}

/* ------------------------------------------------------------------ messages */

static struct rsmd_remote_importer *make_importer(struct rsmd_node *node,
                                                  struct rsmd_remote *remote)
{
    struct rsmd_remote_importer *importer = calloc(1, sizeof *importer);
    if (importer == NULL)
        return NULL;
    importer->importer = (struct rsmd_importer){.ops = &ops, .exporter = node->id};
    importer->node = node;
    importer->remote = remote;
    importer->release = rsmd_release_make();
    if (importer->release != NULL)
        return importer;
    free(importer);
    return NULL;
}

static enum rsm_status connect_from(struct rsmd_node *node, struct rsmd_remote *remote,
                                    const struct rsmd_wanted *wanted, struct rsm_offer *offer,
                                    const struct rsmd_importer **made)
{
    struct rsmd_remote_importer *importer = make_importer(node, remote);
    if (importer == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = rsmd_connect(node, wanted, &importer->importer, offer);
    const struct rsmd_grant *grant = importer->importer.grant;
    if (status == RSM_ST_OK && rsmd_grant_is_released(grant)) {
        rsmd_release_init(importer->release, grant);
    } else {
        free(importer->release);
        importer->release = NULL;
    }
    if (status != RSM_ST_OK) {
        free(importer);
        return status;
    }
    DL_APPEND(remote->importers, importer);
    *made = &importer->importer;
    return RSM_ST_OK;
}

static void fill(struct rsm_cluster_connect_reply *reply, const struct rsmd_importer *importer,
                 const struct rsm_offer *offer)
{
    const struct rsmd_export *exported = importer->grant->exported;
    reply->import = importer->id;
    reply->rights = importer->rights;
    reply->length = exported->length;
    reply->size = exported->size;
    strncpy(reply->transport, importer->controller->ops->name, sizeof reply->transport - 1);
    reply->blob_len = offer->blob_len;
    memcpy(reply->blob, offer->blob, offer->blob_len);
}

void rsmd_remote_on_connect(struct rsmd_node *node, struct rsmd_remote *remote,
                            const struct rsm_cluster_connect *asked)
{
    struct rsm_offer offer;
    const struct rsmd_importer *importer;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_CONNECT_REPLY};
    struct rsm_cluster_connect_reply *reply = &msg.u.connect_reply;
    struct rsmd_identity who = rsmd_remote_identity(&asked->who);
    struct rsmd_account *account =
        rsmd_account_of_remote(&node->shares, remote->node, asked->who.uid);
    const struct rsmd_asked bytes = {asked->transport, asked->asked, asked->asked_len};
    const struct rsmd_wanted wanted = {.node = remote->node,
                                       .account = account,
                                       .who = &who,
                                       .controller = asked->controller,
                                       .name = {.space = asked->space, .id = asked->segment_id},
                                       .rights = asked->rights,
                                       .asked = &bytes};
    reply->request = asked->request;
    reply->status =
        account != NULL ? connect_from(node, remote, &wanted, &offer, &importer) : RSM_ST_NO_MEMORY;
    if (reply->status == RSM_ST_OK)
        fill(reply, importer, &offer);
    rsmd_account_drop(account);
    /* A link that cannot take the message goes down, and the connection with it. */
    rsmd_remote_send(node, remote, &msg);
}

void rsmd_remote_on_disconnect(struct rsmd_node *node, struct rsmd_remote *remote,
                               const struct rsm_cluster_import *gone)
{
    struct rsmd_remote_importer *importer = rsmd_remote_importer(node, remote, gone->import);
    bool died = (gone->died & RSM_CLUSTER_DIED) != 0;
    if (importer != NULL)
        rsmd_remote_importer_free(node, importer, died ? RSM_RECORD_LOST : RSM_RECORD_DISCONNECTED);
    if ((gone->died & RSM_CLUSTER_HELD) == 0)
        rsmd_release(remote, gone->import);
    else
        rsmd_release_keep(remote, gone->import);
}
