/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/topology.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "node/call.h"
#include "base/clock.h"
#include "node/controllers.h"
#include "node/reach.h"
#include "node/remote/far.h"

/* Clients of neighbours greet as often as they like; each look is a connection to the neighbour. */
static const int64_t LISTENED_NS = 1000000000;

enum {
    SHARE = 10,               /* one part in so many of the time goes into looks at other nodes */
    LOOKS_MOST_NS = 50000000, /* that can be saved up */
};

/* Where a node of this host listens, whether or not it does. */
static void peer_path(const struct rsmd_node *node, uint32_t peer, char *path)
{
    const struct rsmd_conf_node *configured = rsmd_conf_node(&node->conf, peer);
    if (configured != NULL && configured->socket[0] != '\0')
        memcpy(path, configured->socket, sizeof configured->socket);
    else
        rsmcore_runtime_socket(&node->runtime, peer, path);
}

enum rsmd_peer_state rsmd_peer_probe(const struct rsmd_node *node, uint32_t peer)
{
    char path[RSM_PROTO_PATH_MAX];
    peer_path(node, peer, path);
    int fd = rsm_packet_connect(path);
    if (fd >= 0) {
        close(fd);
        return RSMD_PEER_ACTIVE;
    }
    switch (errno) {
    case EAGAIN: /* somebody listens and has much to do */
        return RSMD_PEER_ACTIVE;
    case ENOENT:
    case ENOTDIR:
        return RSMD_PEER_UNKNOWN;
    case EMFILE:
    case ENFILE:
        return node->topology.here[peer]; /* cannot look: nothing new */
    default:
        return RSMD_PEER_DOWN;
    }
}

enum rsm_status rsmd_node_here(struct rsmd_node *node, uint32_t id)
{
    int64_t *listened = &node->topology.listened[id], now = rsm_clock_ns();
    if (id == node->id)
        return RSM_ST_OK;
    if (rsmd_far_is_up(node, id))
        return RSM_ST_DENIED;
    if (*listened != 0 && now - *listened < LISTENED_NS)
        return RSM_ST_OK;
    errno = 0;
    bool listens = rsmd_peer_probe(node, id) == RSMD_PEER_ACTIVE;
    if (!listens && (errno == EMFILE || errno == ENFILE))
        return RSM_ST_NO_RESOURCES;
    *listened = listens ? now : 0;
    return listens ? RSM_ST_OK : RSM_ST_DENIED;
}

bool rsmd_node_known(const struct rsmd_node *node, uint32_t id)
{
    if (id < 1 || id > RSM_NODE_ID_MAX)
        return false;
    return node->embedded || id == node->id || rsmd_conf_node(&node->conf, id) != NULL ||
           rsmd_peer_probe(node, id) != RSMD_PEER_UNKNOWN;
}

static bool reaches_hosts(const struct rsmd_controller *controller)
{
    return (controller->port->caps & RSM_NODE_REACHES_HOSTS) != 0;
}

/* Whether a node that does not show on this host belongs to another one, as far as one can know. */
static bool is_elsewhere(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_conf_node *configured = rsmd_conf_node(&node->conf, id);
    bool addressed = configured != NULL && configured->address[0] != '\0';
    return rsmd_far_is_up(node, id) || (addressed && configured->socket[0] == '\0');
}

enum rsm_status rsmd_locate(const struct rsmd_node *node, const struct rsmd_controller *controller,
                            uint32_t id, struct rsm_locate_reply *reply)
{
    if (controller->loopback && id != node->id)
        return RSM_ST_NO_CONTROLLER;
    if (id < 1 || id > RSM_NODE_ID_MAX)
        return RSM_ST_NO_ROUTE;
    peer_path(node, id, reply->path);
    reply->kind = id == node->id ? RSM_LOCATE_SELF : RSM_LOCATE_SAME_HOST;
    if (id == node->id)
        return RSM_ST_OK;
    enum rsmd_peer_state seen = rsmd_peer_probe(node, id);
    if (seen == RSMD_PEER_ACTIVE)
        return RSM_ST_OK;
    if (rsmd_far_is_up(node, id) && reaches_hosts(controller)) {
        if (!rsmd_reaches(controller, id))
            return RSM_ST_UNREACHABLE;
        *reply = (struct rsm_locate_reply){.kind = RSM_LOCATE_REMOTE};
        return RSM_ST_OK;
    }
    if (seen == RSMD_PEER_UNKNOWN && !reaches_hosts(controller) && is_elsewhere(node, id))
        return RSM_ST_NO_ROUTE;
    return rsmd_node_known(node, id) ? RSM_ST_UNREACHABLE : RSM_ST_NO_ROUTE;
}

enum rsm_status rsmd_answer_locate(struct rsmd_call *call)
{
    const struct rsm_locate_request *asked = &call->request->u.locate;
    const struct rsmd_controller *controller = rsmd_controller_named(call->node, asked->controller);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    return rsmd_locate(call->node, controller, asked->node, &call->reply->u.locate_reply);
}

/* What is new of a node: one of this host is reached here, of another one the link tells. */
static bool look_at(struct rsmd_node *node, uint32_t id)
{
    uint8_t *here = &node->topology.here[id], *anywhere = &node->topology.anywhere[id];
    uint8_t here_before = *here, anywhere_before = *anywhere;
    enum rsmd_peer_state seen = rsmd_peer_probe(node, id);
    bool configured = rsmd_conf_node(&node->conf, id) != NULL;
    enum rsmd_peer_state absent = configured ? RSMD_PEER_DOWN : RSMD_PEER_UNKNOWN;
    bool found = seen != RSMD_PEER_UNKNOWN;
    *here = (uint8_t)(found || is_elsewhere(node, id) ? seen : absent);
    *anywhere = (uint8_t)(found ? seen : absent);
    if (rsmd_far_is_up(node, id))
        *anywhere = RSMD_PEER_ACTIVE;
    return *here != here_before || *anywhere != anywhere_before;
}

/* A look at 63 daemons takes a while, and wakes them. All looks together take a tenth of the time
 * at most. What has not been used is saved up to a bound, so that only who asks all the time gets
 * an answer that is a little old. */
static bool may_look(struct rsmd_topology *topology, int64_t now)
{
    topology->looks_ns += (now - topology->looked_at) / SHARE;
    if (topology->looked_at == 0 || topology->looks_ns > LOOKS_MOST_NS)
        topology->looks_ns = LOOKS_MOST_NS;
    topology->looked_at = now;
    return topology->looks_ns > 0;
}

/* Look at all nodes; the generation moves when something is new. */
static void refresh(struct rsmd_node *node)
{
    struct rsmd_topology *topology = &node->topology;
    int64_t begun = rsm_clock_ns();
    if (!may_look(topology, begun))
        return;
    bool changed = topology->generation == 0;
    for (uint32_t id = 1; id <= RSM_NODE_ID_MAX; id++)
        if (id != node->id && look_at(node, id))
            changed = true;
    if (changed)
        topology->generation++;
    topology->looks_ns -= rsm_clock_ns() - begun;
}

static void add_peer(struct rsm_topology_reply *reply, const struct rsmd_controller *controller,
                     uint32_t id, uint32_t state)
{
    struct rsm_topology_peer *peer = &reply->peers[reply->peer_count++];
    peer->node = id;
    memcpy(peer->name, controller->name, sizeof peer->name);
    peer->hardware_address = id;
    peer->state = state;
}

/* The controller at an index that does not count loopback; NULL beyond the last. */
static const struct rsmd_controller *controller_at(const struct rsmd_node *node, uint32_t index,
                                                   uint32_t *count)
{
    const struct rsmd_controller *controller, *found = NULL;
    *count = 0;
    LL_FOREACH(node->controllers, controller)
    {
        if (controller->loopback)
            continue;
        if (*count == index)
            found = controller;
        ++*count;
    }
    return found;
}

enum rsm_status rsmd_answer_topology(struct rsmd_call *call)
{
    const struct rsm_topology_request *asked = &call->request->u.topology;
    struct rsm_topology_reply *reply = &call->reply->u.topology_reply;
    struct rsmd_node *node = call->node;
    refresh(node);
    reply->generation = node->topology.generation;
    const struct rsmd_controller *controller =
        controller_at(node, asked->controller, &reply->controllers);
    if (controller == NULL)
        return RSM_ST_OK;
    memcpy(reply->name, controller->name, sizeof reply->name);
    reply->hardware_address = rsmd_controller_address(controller, node->id);
    const uint8_t *states =
        reaches_hosts(controller) ? node->topology.anywhere : node->topology.here;
    for (uint32_t id = 1; id <= RSM_NODE_ID_MAX; id++) {
        uint32_t state = states[id];
        if (state == RSMD_PEER_UNKNOWN)
            continue;
        /* One that only the link of the daemons reaches. */
        if (state == RSMD_PEER_ACTIVE && node->topology.here[id] != RSMD_PEER_ACTIVE &&
            !rsmd_reaches(controller, id))
            state = RSMD_PEER_DOWN;
        if (reply->total_peers++ >= asked->first_peer && reply->peer_count < RSM_PROTO_PEERS_MAX)
            add_peer(reply, controller, id, state);
    }
    return RSM_ST_OK;
}
