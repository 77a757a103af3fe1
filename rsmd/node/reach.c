/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/refusals.h"
#include "node/reach.h"

#include <inttypes.h>
#include <stdlib.h>

#include "node/hosts.h"

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
