/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of other hosts that import from this node. */
#include <event2/event.h>
#include <stdlib.h>

#include "node/connect.h"
#include "node/remote/internal.h"
#include "node/remote/release.h"
#include "node/registry.h"

static void fill(struct rsm_cluster_connect_reply *reply, const struct rsmd_import *import,
                 const struct rsm_offer *offer)
{
    reply->import = import->id;
    reply->rights = import->rights;
    reply->length = import->exported->length;
    reply->size = import->exported->size;
    strncpy(reply->transport, import->controller->ops->name, sizeof reply->transport - 1);
    reply->blob_len = offer->blob_len;
    memcpy(reply->blob, offer->blob, offer->blob_len);
}

void rsmd_remote_on_connect(struct rsmd_node *node, struct rsmd_remote *remote,
                            const struct rsm_cluster_connect *asked)
{
    struct rsm_offer offer;
    struct rsmd_import *import;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_CONNECT_REPLY};
    struct rsm_cluster_connect_reply *reply = &msg.u.connect_reply;
    struct rsmd_identity who = rsmd_remote_identity(&asked->who);
    struct rsmd_account *account =
        rsmd_account_of_remote(&node->shares, remote->node, asked->who.uid);
    struct rsmd_wanted wanted = {.client = &remote->client,
                                 .account = account,
                                 .who = &who,
                                 .controller = asked->controller,
                                 .name = {.space = asked->space, .id = asked->segment_id},
                                 .rights = asked->rights};
    reply->request = asked->request;
    reply->status =
        account != NULL ? rsmd_connect(node, &wanted, &offer, &import) : RSM_ST_NO_MEMORY;
    if (reply->status == RSM_ST_OK) {
        import->remote = remote;
        fill(reply, import, &offer);
    }
    rsmd_account_drop(account);
    /* A link that cannot take it goes down, and the connection with it. */
    rsmd_remote_send(node, remote, &msg);
}

void rsmd_remote_on_disconnect(struct rsmd_node *node, struct rsmd_remote *remote,
                               const struct rsm_cluster_import *gone)
{
    struct rsmd_import *import = rsmd_client_import(node, &remote->client, gone->import);
    if (import != NULL) {
        import->disconnected = (gone->died & RSM_CLUSTER_DIED) == 0;
        rsmd_import_free(node, import);
    }
    if ((gone->died & RSM_CLUSTER_HELD) == 0)
        rsmd_release(remote, gone->import);
    else
        rsmd_release_keep(remote, gone->import);
}

void rsmd_remote_report_abort(struct rsmd_node *node, const struct rsmd_import *import)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_ABORT, .u.abort.import = import->id};
    rsmd_remote_send(node, import->remote, &msg);
}

/* ------------------------------------------------------------------ what the fabric has lost */

enum { FATE_SECONDS = 2 };

struct rsmd_fate {
    struct rsmd_node *node;
    struct event *overdue;
};

static void on_overdue(evutil_socket_t fd, short what, void *argument)
{
    struct rsmd_import *import = argument;
    (void)fd, (void)what;
    rsmd_ends_doom(import->fate->node, import);
}

void rsmd_remote_lost(struct rsmd_node *node, struct rsmd_import *import)
{
    static const struct timeval patience = {.tv_sec = FATE_SECONDS};
    if (import->fate != NULL)
        return;
    import->fate = calloc(1, sizeof *import->fate);
    if (import->fate != NULL) {
        import->fate->node = node;
        import->fate->overdue = event_new(node->hosts->base, -1, 0, on_overdue, import);
    }
    if (import->fate == NULL || import->fate->overdue == NULL ||
        event_add(import->fate->overdue, &patience) < 0)
        rsmd_import_abort(node, import);
}

void rsmd_fate_end(struct rsmd_import *import)
{
    if (import->fate == NULL)
        return;
    if (import->fate->overdue != NULL)
        event_free(import->fate->overdue);
    free(import->fate);
    import->fate = NULL;
}

void rsmd_remote_report_unavailable(struct rsmd_node *node, const struct rsmd_import *import)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_UNAVAILABLE,
                                  .u.unavailable.import = import->id};
    rsmd_remote_send(node, import->remote, &msg);
}
