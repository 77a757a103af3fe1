/* SPDX-License-Identifier: BSD-3-Clause */
/* The links to other nodes: how remote/ uses them, what follows when one goes up or down, and the
 * node's state in one line for the service manager. */
#include "links.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cluster/cluster.h"
#include "cluster/munge.h"
#include "node/node.h"
#include "node/topology.h"
#include "remote/remote.h"
#include "server/notify.h"

enum { STATE_BYTES = 256 };

/* ------------------------------------------------------------------ links, as remote/ uses them */

static bool is_neighbour(void *context, uint32_t node)
{
    return rsmd_node_probe(context, node) == RSMD_NODE_ACTIVE;
}

static bool send_to(void *context, uint32_t node, const struct rsm_cluster_msg *msg)
{
    const struct rsmd_node *own = context;
    return rsmd_cluster_send(own->cluster, node, msg);
}

static size_t queued_to(void *context, uint32_t node)
{
    const struct rsmd_node *own = context;
    return rsmd_cluster_queued(own->cluster, node);
}

static enum rsmd_link_use need(void *context, uint32_t node)
{
    const struct rsmd_node *own = context;
    return rsmd_cluster_need(own->cluster, node);
}

static bool may_link(void *context, uint32_t node)
{
    const struct rsmd_node *own = context;
    return rsmd_cluster_is_on_demand(own->cluster) &&
           rsmd_cluster_state(own->cluster, node, NULL) != RSMD_LINK_NONE;
}

static bool may_reach(void *context, uint32_t node)
{
    const struct rsmd_node *own = context;
    return rsmd_cluster_may_reach(own->cluster, node);
}

static void proceed_with(void *context, uint32_t node)
{
    const struct rsmd_node *own = context;
    rsmd_cluster_proceed(own->cluster, node);
}

/* ------------------------------------------------------------------ the node in one line */

__attribute__((format(printf, 2, 3))) static void append(char text[STATE_BYTES], const char *format,
                                                         ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, STATE_BYTES - used, format, arguments);
    va_end(arguments);
}

/* "node 2: 1 of 2 links up; 3 controllers; failed: wrsm0 (reason)". */
static void state_text(const struct rsmd_node *node, char text[STATE_BYTES])
{
    const struct rsmd_controller *controller;
    const struct rsmd_failed *failed;
    uint32_t links, up;
    int controllers;
    text[0] = '\0';
    append(text, "node %u", (unsigned)node->id);
    rsmd_cluster_count(node->cluster, &links, &up);
    if (links > 0)
        append(text, "; %u of %u links up%s", (unsigned)up, (unsigned)links,
               rsmd_cluster_is_on_demand(node->cluster) ? " (on demand)" : "");
    LL_COUNT(node->controllers, controller, controllers);
    append(text, "; controllers: %d", controllers - 1); /* without loopback */
    LL_FOREACH(node->failed, failed)
    append(text, "%s%s", failed == node->failed ? "; failed: " : ", ", failed->name);
}

void rsmd_report_state(const struct rsmd_node *node)
{
    static char reported[STATE_BYTES]; /* there is one service manager */
    char text[STATE_BYTES], state[STATE_BYTES + 8];
    state_text(node, text);
    if (strcmp(text, reported) == 0)
        return;
    memcpy(reported, text, sizeof reported);
    snprintf(state, sizeof state, "STATUS=%s", text);
    rsmd_notify_in_passing(state);
}

/* ------------------------------------------------------------------ the cluster's callbacks */

static void on_up(void *context, uint32_t node)
{
    rsmd_remote_up(context, node);
    if (!((const struct rsmd_node *)context)->embedded)
        rsmd_report_state(context);
}

static void on_down(void *context, uint32_t node)
{
    rsmd_remote_down(context, node);
    if (!((const struct rsmd_node *)context)->embedded)
        rsmd_report_state(context);
}

/* ------------------------------------------------------------------ the start */

static void warn_of_trust(const struct rsmd_node *node)
{
    const struct rsmd_conf_node *self = rsmd_conf_node(&node->conf, node->id);
    if (node->conf.auth == RSMD_AUTH_NONE && self != NULL && self->address[0] != '\0')
        rsm_log_warning("auth = none: every user of this host can speak for the other nodes and "
                        "for all of their users");
}

bool rsmd_links_start(struct rsmd_server *server, char *why, size_t why_size)
{
    struct rsmd_node *node = server->node;
    const struct rsmd_remote_ops carrier = {.context = node,
                                            .send = send_to,
                                            .queued = queued_to,
                                            .need = need,
                                            .may_link = may_link,
                                            .may_reach = may_reach,
                                            .proceed = proceed_with};
    const struct rsmd_cluster_user user = {.context = node,
                                           .up = on_up,
                                           .down = on_down,
                                           .message = rsmd_remote_message,
                                           .busy = rsmd_remote_busy,
                                           .in_use = rsmd_remote_in_use,
                                           .needed = rsmd_remote_needed,
                                           .silent = rsmd_remote_silent};
    warn_of_trust(node);
    if (!rsmd_remote_start(node, server->base, &carrier)) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    node->cluster = rsmd_cluster_start(server->base, &node->conf, node->id, &user,
                                       RSMD_MUNGE_LIBRARY, why, why_size);
    if (node->cluster == NULL)
        return false;
    rsmd_cluster_set_same_host(node->cluster, is_neighbour, node);
    return true;
}
