/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/remote/far.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/events.h"
#include "node/remote/internal.h"
#include "node/registry.h"

bool rsmd_far_start(struct rsmd_node *node, struct event_base *base,
                    const struct rsmd_carrier *carrier)
{
    node->hosts = calloc(1, sizeof *node->hosts);
    if (node->hosts == NULL)
        return false;
    node->hosts->base = base;
    node->hosts->carrier = *carrier;
    return true;
}

struct rsmd_far *rsmd_far_of(const struct rsmd_node *node, uint32_t id)
{
    struct rsmd_far *far = NULL;
    if (node->hosts != NULL)
        HASH_FIND_INT(node->hosts->far, &id, far);
    return far;
}

void rsmd_far_each_up(const struct rsmd_node *node, void (*visit)(void *context, uint32_t id),
                      void *context)
{
    const struct rsmd_far *far;
    for (far = node->hosts != NULL ? node->hosts->far : NULL; far != NULL; far = far->hh.next)
        if (far->up)
            visit(context, far->node);
}

bool rsmd_far_is_up(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_far *far = rsmd_far_of(node, id);
    return far != NULL && far->up;
}

bool rsmd_far_send(const struct rsmd_node *node, const struct rsmd_far *far,
                   const struct rsm_peer_msg *msg)
{
    const struct rsmd_carrier *carrier = &node->hosts->carrier;
    return far->up && carrier->send(carrier->context, far->node, msg);
}

/* ------------------------------------------------------------------ up and down */

static struct rsmd_far *need(struct rsmd_node *node, uint32_t id)
{
    struct rsmd_far *far = calloc(1, sizeof *far);
    if (far == NULL)
        return NULL;
    far->node = id;
    far->client = (struct rsmd_client){.greeted = true, .node = id, .far = far};
    HASH_ADD_INT(node->hosts->far, node, far);
    if (far->hh.tbl == NULL) {
        free(far);
        return NULL;
    }
    return far;
}

static void take_down(struct rsmd_node *node, struct rsmd_far *far)
{
    far->up = false; /* first: from now on nothing is sent */
    rsmd_far_end_imports(node, far);
    rsmd_client_clear(node, &far->client);
}

void rsmd_far_up(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    if (node->hosts == NULL)
        return;
    struct rsmd_far *far = rsmd_far_of(node, id);
    if (far != NULL && far->up)
        take_down(node, far); /* another incarnation: nothing of the former is left */
    if (far == NULL)
        far = need(node, id);
    if (far != NULL)
        far->up = true;
    else
        rsm_log_error("node %u stays out of reach: no memory", (unsigned)id);
}

void rsmd_far_down(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    struct rsmd_far *far = rsmd_far_of(node, id);
    if (far != NULL)
        take_down(node, far);
}

static void cut(struct rsmd_node *node, struct rsmd_far *far,
                const struct rsmd_controller *controller)
{
    struct rsmd_import *import, *next;
    rsmd_far_cut_imports(node, far, controller);
    DL_FOREACH_SAFE(far->client.imports, import, next)
    {
        if (import->by == controller)
            rsmd_import_abort(node, import);
    }
}

void rsmd_far_cut(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id)
{
    struct rsmd_far *far = rsmd_far_of(node, id);
    if (far != NULL)
        cut(node, far, controller);
}

void rsmd_far_cut_all(struct rsmd_node *node, const struct rsmd_controller *controller)
{
    struct rsmd_far *far, *next;
    if (node->hosts == NULL)
        return;
    HASH_ITER(hh, node->hosts->far, far, next)
    cut(node, far, controller);
}

void rsmd_far_stop(struct rsmd_node *node)
{
    if (node->hosts == NULL)
        return;
    while (node->hosts->far != NULL) {
        struct rsmd_far *far = node->hosts->far;
        take_down(node, far);
        HASH_DEL(node->hosts->far, far);
        free(far);
    }
    free(node->hosts);
    node->hosts = NULL;
}

/* ------------------------------------------------------------------ messages */

/* Events for an end of a connection that these two nodes share. */
static void take_event(struct rsmd_node *node, const struct rsmd_far *far,
                       const struct rsm_peer_event *event)
{
    bool coalesced = event->coalesced != 0;
    if (event->end == RSM_EVENT_EXPORT) {
        struct rsmd_import *import = rsmd_client_import(node, &far->client, event->import);
        if (import != NULL)
            rsmd_export_posted(node, import->export, event->count, coalesced);
    } else if (event->end == RSM_EVENT_IMPORT) {
        struct rsmd_import *import = rsmd_far_import(far, event->import);
        if (import != NULL)
            rsmd_import_posted(node, import, event->count, coalesced);
    }
}

void rsmd_far_message(void *context, uint32_t id, const struct rsm_peer_msg *msg)
{
    struct rsmd_node *node = context;
    struct rsmd_far *far = rsmd_far_of(node, id);
    if (far == NULL || !far->up)
        return;
    switch (msg->type) {
    case RSM_PEER_CONNECT:
        rsmd_far_take_connect(node, far, &msg->u.connect);
        break;
    case RSM_PEER_CONNECT_REPLY:
        rsmd_far_take_reply(node, far, &msg->u.connect_reply);
        break;
    case RSM_PEER_DISCONNECT:
        rsmd_far_take_disconnect(node, far, &msg->u.import);
        break;
    case RSM_PEER_ABORT:
        rsmd_far_take_abort(node, far, msg->u.import.import);
        break;
    case RSM_PEER_UNAVAILABLE:
        rsmd_far_take_unavailable(node, far, msg->u.import.import);
        break;
    case RSM_PEER_EVENT:
        take_event(node, far, &msg->u.event);
        break;
    case RSM_PEER_INTERRUPT:
        rsmd_far_take_interrupt(node, far, &msg->u.interrupt);
        break;
    case RSM_PEER_INTERRUPT_REPLY:
        rsmd_far_take_interrupt_reply(far, &msg->u.interrupt_reply);
        break;
    default:
        break; /* the link's own */
    }
}
