/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "core/controller.h"
#include "control/control.h"

enum {
    SNAPSHOT_TRIES = 8,    /* until a topology that keeps changing is given up */
    CONTROLLERS_MAX = 256, /* bounds on what a daemon can make us allocate */
    REMOTES_MAX = RSM_NODE_ID_MAX,
};

static enum rsm_status fetch_page(struct rsmcore_control *control, uint32_t controller,
                                  uint32_t first_remote, struct rsm_topology_reply *page)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_TOPOLOGY);
    msg.u.topology =
        (struct rsm_topology_request){.controller = controller, .first_remote = first_remote};
    enum rsm_status status = rsmcore_control_call(control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    *page = msg.u.topology_reply;
    bool sound = page->controllers <= CONTROLLERS_MAX && page->total_remotes <= REMOTES_MAX;
    return sound ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

/* Fetch one controller with its remote controllers. RSM_ST_BUSY: the topology changed meanwhile. */
static enum rsm_status fetch_controller(struct rsmcore_control *control, uint32_t index,
                                        uint32_t generation,
                                        struct rsmcore_topology_controller *into)
{
    struct rsm_topology_reply page;
    do {
        enum rsm_status status = fetch_page(control, index, into->remote_count, &page);
        if (status != RSM_ST_OK)
            return status;
        if (page.generation != generation ||
            into->remote_count + page.remote_count > page.total_remotes)
            return RSM_ST_BUSY;
        if (into->remotes == NULL && page.total_remotes > 0) {
            into->remotes = calloc(page.total_remotes, sizeof *into->remotes);
            if (into->remotes == NULL)
                return RSM_ST_NO_MEMORY;
        }
        memcpy(into->name, page.name, sizeof into->name);
        into->hardware_address = page.hardware_address;
        if (page.remote_count > 0)
            memcpy(into->remotes + into->remote_count, page.remotes,
                   page.remote_count * sizeof *into->remotes);
        into->remote_count += page.remote_count;
    } while (page.remote_count > 0 && into->remote_count < page.total_remotes);
    return into->remote_count == page.total_remotes ? RSM_ST_OK : RSM_ST_BUSY;
}

static enum rsm_status fetch_all(struct rsmcore_control *control,
                                 struct rsmcore_topology **topology)
{
    struct rsm_topology_reply first;
    enum rsm_status status = fetch_page(control, 0, 0, &first);
    if (status != RSM_ST_OK)
        return status;
    struct rsmcore_topology *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->local_node = rsmcore_control_node(control);
    made->controllers = calloc(first.controllers + 1, sizeof *made->controllers);
    if (made->controllers == NULL)
        status = RSM_ST_NO_MEMORY;
    for (uint32_t i = 0; status == RSM_ST_OK && i < first.controllers; i++) {
        made->controller_count = i + 1;
        status = fetch_controller(control, i, first.generation, &made->controllers[i]);
    }
    if (status == RSM_ST_OK)
        *topology = made;
    else
        rsmcore_topology_free(made);
    return status;
}

enum rsm_status rsmcore_topology_get(struct rsmcore_topology **topology)
{
    struct rsmcore_control *control;
    enum rsm_status status = rsmcore_control_local(&control);
    if (status != RSM_ST_OK)
        return status;
    int tries = SNAPSHOT_TRIES;
    do
        status = fetch_all(control, topology);
    while (status == RSM_ST_BUSY && --tries > 0);
    rsmcore_control_release(control);
    return status;
}

void rsmcore_topology_free(struct rsmcore_topology *topology)
{
    if (topology == NULL)
        return;
    for (uint32_t i = 0; i < topology->controller_count; i++)
        free(topology->controllers[i].remotes);
    free(topology->controllers);
    free(topology);
}

/* The controllers of a name: one, or none if it is loopback. */
static enum rsm_status list_nodes(const struct rsmcore_topology *topology, const char *name,
                                  uint32_t **nodes, size_t *count)
{
    size_t room = 1, used = 1;
    for (uint32_t i = 0; i < topology->controller_count; i++)
        room += topology->controllers[i].remote_count;
    uint32_t *made = calloc(room, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made[0] = topology->local_node;
    for (uint32_t i = 0; i < topology->controller_count; i++) {
        const struct rsmcore_topology_controller *controller = &topology->controllers[i];
        if (strcmp(controller->name, name) != 0)
            continue;
        for (uint32_t j = 0; j < controller->remote_count; j++)
            made[used++] = controller->remotes[j].node;
    }
    *nodes = made;
    *count = used;
    return RSM_ST_OK;
}

enum rsm_status rsmcore_controller_nodes(const struct rsmcore_controller *controller,
                                         uint32_t **nodes, size_t *count)
{
    struct rsmcore_topology *topology;
    enum rsm_status status = rsmcore_topology_get(&topology);
    if (status != RSM_ST_OK)
        return status;
    status = list_nodes(topology, rsmcore_controller_name(controller), nodes, count);
    rsmcore_topology_free(topology);
    return status;
}
