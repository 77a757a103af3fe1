/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/fabric.h"

#include <inttypes.h>
#include <event2/event.h>
#include <stdlib.h>

#include "node/extents.h"
#include "node/grants.h"
#include "node/revokes.h"
#include "node/refusals.h"
#include "node/hosts.h"

/* A controller that is watched. */
struct watch {
    struct watch *next;
    struct rsmd_node *node;
    struct rsmd_controller *controller;
    struct event *readable;
};

struct rsmd_fabric {
    struct watch *watches;
};

static void on_signalled(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced)
{
    struct rsmd_node *node = context;
    const struct rsmd_grant *grant = rsmd_grant_offered(node, made);
    if (grant != NULL && count > 0)
        rsmd_grant_signalled(node, grant, count, coalesced);
}

static void on_lost(void *context, struct rsm_node_offer *made)
{
    struct rsmd_node *node = context;
    const struct rsmd_grant *grant = rsmd_grant_offered(node, made);
    if (grant != NULL)
        grant->importer->ops->lost(node, grant->importer);
}

static void on_taken(void *context, struct rsm_node_offer *made)
{
    const struct rsmd_grant *grant = rsmd_grant_offered(context, made);
    if (grant != NULL)
        grant->importer->ops->taken(grant->importer);
}

static void on_revoked(void *context, struct rsm_node_offer *made)
{
    rsmd_revoked(context, made);
}

static struct rsmd_controller *controller_of(const struct rsmd_node *node,
                                             const struct rsm_node_port *port)
{
    struct rsmd_controller *controller;
    LL_FOREACH(node->controllers, controller)
    if (controller->port == port)
        break;
    return controller;
}

/* End what was offered over @p port, which is one of a controller's several: the controller still
 * connects by the others. */
static void lose_port(struct rsmd_node *node, const struct rsm_node_port *port)
{
    struct rsmd_grant *grant, *next;
    HASH_ITER(hh_made, node->offers, grant, next)
    {
        if (grant->made->port == port)
            grant->importer->ops->lost(node, grant->importer);
    }
}

static void on_link_state(void *context, struct rsm_node_port *port, bool up)
{
    struct rsmd_node *node = context;
    struct rsmd_controller *controller = controller_of(node, port);
    if (controller != NULL)
        rsmd_reach_link(node, controller, up);
    else if (!up)
        lose_port(node, port);
}

static void on_node_state(void *context, struct rsm_node_port *port, uint32_t id, bool up,
                          uint64_t epoch)
{
    struct rsmd_node *node = context;
    struct rsmd_controller *controller = controller_of(node, port);
    if (controller != NULL)
        rsmd_reach_node(node, controller, id, up, epoch);
}

/* ------------------------------------------------------------------ jobs */

/* A transport's job and the pieces it works on, which keep their extents. */
struct working {
    struct rsmd_job job;
    struct rsmd_node *node;
    struct rsmd_pieces *pieces;
    struct rsm_node_job *of_transport;
};

static void run_job(struct rsmd_job *job)
{
    struct rsm_node_job *own = ((struct working *)job)->of_transport;
    own->run(own);
}

static void on_job_done(struct rsmd_job *job);

/* The owner of a job, for shares of the threads. Each user of this host is one; all users of
 * another host are one, because that host could invent users. Its number is near the end of the
 * uids, of which the last means no user. */
static uint32_t owner_of(const struct rsm_importer *importer)
{
    return importer->local ? importer->uid : UINT32_MAX - importer->node;
}

static enum rsm_status on_submit(void *context, struct rsm_node_offer *made,
                                 struct rsm_node_job *job)
{
    struct rsmd_node *node = context;
    const struct rsmd_grant *grant = rsmd_grant_offered(node, made);
    if (grant == NULL)
        return RSM_ST_NOT_FOUND;
    if (node->worker == NULL)
        return RSM_ST_UNSUPPORTED;
    struct working *working = calloc(1, sizeof *working);
    if (working == NULL)
        return RSM_ST_NO_MEMORY;
    *working = (struct working){
        .job = {.run = run_job, .done = on_job_done, .owner = owner_of(&grant->importer->who)},
        .node = node,
        .of_transport = job};
    if (!rsmd_worker_submit(node->worker, &working->job)) {
        free(working);
        return RSM_ST_NO_MEMORY;
    }
    working->pieces = rsmd_pieces_hold(grant->pieces);
    return RSM_ST_OK;
}

static const struct rsm_node_upcalls upcalls = {
    .size = sizeof upcalls,
    .signalled = on_signalled,
    .lost = on_lost,
    .taken = on_taken,
    .link_state = on_link_state,
    .node_state = on_node_state,
    .submit = on_submit,
    .revoked = on_revoked,
};

static void on_job_done(struct rsmd_job *job)
{
    const struct working *working = (struct working *)job;
    working->of_transport->done(working->of_transport, &upcalls, working->node);
    rsmd_pieces_drop(working->pieces);
}

/* ------------------------------------------------------------------ watching */

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    const struct watch *watch = argument;
    const struct rsmd_controller *controller = watch->controller;
    controller->ops->dispatch(controller->port, &upcalls, watch->node);
}

static bool watch_port(struct rsmd_fabric *fabric, struct event_base *base, struct rsmd_node *node,
                       struct rsmd_controller *controller)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return false;
    watch->node = node;
    watch->controller = controller;
    watch->readable =
        event_new(base, controller->event_fd, EV_READ | EV_PERSIST, on_readable, watch);
    if (watch->readable == NULL || event_add(watch->readable, NULL) < 0) {
        if (watch->readable != NULL)
            event_free(watch->readable);
        free(watch);
        return false;
    }
    LL_PREPEND(fabric->watches, watch);
    return true;
}

bool rsmd_fabric_add(struct rsmd_fabric *fabric, struct event_base *base, struct rsmd_node *node,
                     struct rsmd_controller *controller)
{
    return controller->event_fd < 0 || watch_port(fabric, base, node, controller);
}

struct rsmd_fabric *rsmd_fabric_start(struct event_base *base, struct rsmd_node *node)
{
    struct rsmd_fabric *fabric = calloc(1, sizeof *fabric);
    struct rsmd_controller *controller;
    if (fabric == NULL)
        return NULL;
    LL_FOREACH(node->controllers, controller)
    {
        if (rsmd_fabric_add(fabric, base, node, controller))
            continue;
        rsmd_fabric_stop(fabric);
        return NULL;
    }
    return fabric;
}

void rsmd_fabric_stop(struct rsmd_fabric *fabric)
{
    if (fabric == NULL)
        return;
    while (fabric->watches != NULL) {
        struct watch *watch = fabric->watches;
        LL_DELETE(fabric->watches, watch);
        event_free(watch->readable);
        free(watch);
    }
    free(fabric);
}

/* ------------------------------------------------------------------ what a fabric reaches */

/* A node that the transport has reported. */
struct rsmd_reached {
    uint32_t node;
    bool up;
    uint64_t epoch; /* of the latest report that it is up */
    UT_hash_handle hh;
};

static struct rsmd_reached *find(const struct rsmd_controller *controller, uint32_t id)
{
    struct rsmd_reached *reached;
    HASH_FIND_INT(controller->reached, &id, reached);
    return reached;
}

bool rsmd_reaches(const struct rsmd_controller *controller, uint32_t id)
{
    if (controller->link_down)
        return false;
    if ((controller->port->caps & RSM_NODE_REPORTS_NODES) == 0)
        return true;
    const struct rsmd_reached *reached = find(controller, id);
    return reached != NULL && reached->up;
}

/* NULL: no memory. */
static struct rsmd_reached *need(struct rsmd_controller *controller, uint32_t id)
{
    struct rsmd_reached *reached = find(controller, id);
    if (reached != NULL)
        return reached;
    reached = calloc(1, sizeof *reached);
    if (reached == NULL)
        return NULL;
    reached->node = id;
    HASH_ADD_INT(controller->reached, node, reached);
    if (reached->hh.tbl != NULL)
        return reached;
    free(reached);
    return NULL;
}

void rsmd_reach_link(struct rsmd_node *node, struct rsmd_controller *controller, bool up)
{
    if (controller->link_down == !up)
        return;
    controller->link_down = !up;
    node->topology.generation++;
    if (up) {
        rsmd_log_of_node(node, node->id, "controller %s: the fabric is up", controller->name);
        return;
    }
    rsmd_log_of_node(node, node->id, "controller %s: the fabric is down", controller->name);
    node->hosts_ops->cut_all(node, controller);
}

void rsmd_reach_node(struct rsmd_node *node, struct rsmd_controller *controller, uint32_t id,
                     bool up, uint64_t epoch)
{
    if (id == node->id || id < 1 || id > RSM_NODE_ID_MAX)
        return;
    /* Without memory to note it, the node stays out of reach until the next report. */
    struct rsmd_reached *reached = up ? need(controller, id) : find(controller, id);
    bool was_up = reached != NULL && reached->up;
    bool same = was_up && up && reached->epoch == epoch;
    if (same || (!was_up && !up && reached != NULL))
        return;
    node->topology.generation++;
    if (reached != NULL) {
        reached->up = up;
        reached->epoch = epoch;
    }
    rsmd_log_of_node(node, id, "controller %s: node %" PRIu32 " %s", controller->name, id,
                     !up      ? "is out of reach"
                     : was_up ? "has been restarted"
                              : "is in reach");
    if (was_up || !up)
        node->hosts_ops->cut(node, controller, id);
}

void rsmd_reach_forget(struct rsmd_controller *controller)
{
    struct rsmd_reached *reached, *next;
    HASH_ITER(hh, controller->reached, reached, next)
    {
        HASH_DEL(controller->reached, reached);
        free(reached);
    }
}
