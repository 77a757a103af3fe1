/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "core/controller.h"
#include "control/control.h"

enum {
    SNAPSHOT_TRIES = 8,    /* until a topology that keeps changing is given up */
    CONTROLLERS_MAX = 256, /* bounds on what a daemon can make us allocate */
    RECEIVERS_MAX = RSM_NODE_ID_MAX,
};

static enum rsm_status fetch_page(struct rsmcore_control *link, uint32_t controller,
                                  uint32_t first_peer, struct rsm_topology_reply *page)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_TOPOLOGY);
    msg.u.topology =
        (struct rsm_topology_request){.controller = controller, .first_peer = first_peer};
    enum rsm_status status = rsmcore_control_call(link, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    *page = msg.u.topology_reply;
    bool sound = page->controllers <= CONTROLLERS_MAX && page->total_peers <= RECEIVERS_MAX;
    return sound ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

/* One controller with all its far ends. RSM_ST_BUSY: the topology changed meanwhile. */
static enum rsm_status fetch_controller(struct rsmcore_control *link, uint32_t index,
                                        uint32_t generation,
                                        struct rsmcore_topology_controller *into)
{
    struct rsm_topology_reply page;
    do {
        enum rsm_status status = fetch_page(link, index, into->peer_count, &page);
        if (status != RSM_ST_OK)
            return status;
        if (page.generation != generation || into->peer_count + page.peer_count > page.total_peers)
            return RSM_ST_BUSY;
        if (into->peers == NULL && page.total_peers > 0) {
            into->peers = calloc(page.total_peers, sizeof *into->peers);
            if (into->peers == NULL)
                return RSM_ST_NO_MEMORY;
        }
        memcpy(into->name, page.name, sizeof into->name);
        into->hardware_address = page.hardware_address;
        if (page.peer_count > 0)
            memcpy(into->peers + into->peer_count, page.peers,
                   page.peer_count * sizeof *into->peers);
        into->peer_count += page.peer_count;
    } while (page.peer_count > 0 && into->peer_count < page.total_peers);
    return into->peer_count == page.total_peers ? RSM_ST_OK : RSM_ST_BUSY;
}

static enum rsm_status fetch_all(struct rsmcore_control *link, struct rsmcore_topology **topology)
{
    struct rsm_topology_reply first;
    enum rsm_status status = fetch_page(link, 0, 0, &first);
    if (status != RSM_ST_OK)
        return status;
    struct rsmcore_topology *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->local_node = rsmcore_control_node(link);
    made->controllers = calloc(first.controllers + 1, sizeof *made->controllers);
    if (made->controllers == NULL)
        status = RSM_ST_NO_MEMORY;
    for (uint32_t i = 0; status == RSM_ST_OK && i < first.controllers; i++) {
        made->controller_count = i + 1;
        status = fetch_controller(link, i, first.generation, &made->controllers[i]);
    }
    if (status == RSM_ST_OK)
        *topology = made;
    else
        rsmcore_topology_free(made);
    return status;
}

enum rsm_status rsmcore_topology_get(struct rsmcore_topology **topology)
{
    struct rsmcore_control *link;
    enum rsm_status status = rsmcore_control_local(&link);
    if (status != RSM_ST_OK)
        return status;
    int tries = SNAPSHOT_TRIES;
    do
        status = fetch_all(link, topology);
    while (status == RSM_ST_BUSY && --tries > 0);
    rsmcore_control_release(link);
    return status;
}

void rsmcore_topology_free(struct rsmcore_topology *topology)
{
    if (topology == NULL)
        return;
    for (uint32_t i = 0; i < topology->controller_count; i++)
        free(topology->controllers[i].peers);
    free(topology->controllers);
    free(topology);
}
