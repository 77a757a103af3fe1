/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/topology.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/call.h"
#include "base/clock.h"
#include "node/controllers.h"
#include "node/fabric.h"
#include "node/hosts.h"

/* Clients of other nodes may greet at any rate, and each look is a connection to that node. */
static const int64_t LISTENED_NS = 1000000000;

enum {
    SHARE = 10,              /* looks at other nodes take at most 1/SHARE of the time */
    LOOKS_MAX_NS = 50000000, /* that can be saved up */
};

/* The path of a node's socket on this host, whether or not it exists. */
static void remote_path(const struct rsmd_node *node, uint32_t remote, char *path)
{
    const struct rsmd_conf_node *configured = rsmd_conf_node(&node->conf, remote);
    if (configured != NULL && configured->socket[0] != '\0')
        memcpy(path, configured->socket, sizeof configured->socket);
    else
        rsmcore_runtime_socket(&node->runtime, remote, path);
}

/* ------------------------------------------------------------------ nodes that were seen */

static uint32_t place_of(const struct rsmd_topology *topology, uint32_t id)
{
    uint32_t low = 0, high = topology->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (topology->seen[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct rsmd_seen *find_seen(const struct rsmd_topology *topology, uint32_t id)
{
    uint32_t at = place_of(topology, id);
    return at < topology->count && topology->seen[at].id == id ? &topology->seen[at] : NULL;
}

/* The entry of a node, made if need be. NULL: no memory. */
static struct rsmd_seen *need_seen(struct rsmd_topology *topology, uint32_t id)
{
    uint32_t at = place_of(topology, id);
    if (at < topology->count && topology->seen[at].id == id)
        return &topology->seen[at];
    if (topology->count == topology->room) {
        uint32_t room = topology->room > 0 ? 2 * topology->room : 8;
        struct rsmd_seen *grown = realloc(topology->seen, room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        topology->seen = grown;
        topology->room = room;
    }
    memmove(topology->seen + at + 1, topology->seen + at,
            (topology->count - at) * sizeof *topology->seen);
    topology->seen[at] = (struct rsmd_seen){.id = id};
    topology->count++;
    return &topology->seen[at];
}

void rsmd_topology_free(struct rsmd_topology *topology)
{
    free(topology->seen);
    *topology = (struct rsmd_topology){.generation = 0};
}

/* ------------------------------------------------------------------ looking */

/* Connect to the daemon of a node. @p pid receives that of the listening process, or 0 if it is not
 * known. */
static enum rsmd_node_state probe(const struct rsmd_node *node, uint32_t remote, pid_t *pid)
{
    char path[RSM_PROTO_PATH_MAX];
    const struct rsmd_seen *seen;
    struct ucred listener = {.pid = 0};
    socklen_t size = sizeof listener;
    *pid = 0;
    remote_path(node, remote, path);
    int fd = rsm_packet_connect(path);
    if (fd >= 0) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0)
            *pid = listener.pid;
        close(fd);
        return RSMD_NODE_ACTIVE;
    }
    switch (errno) {
    case EAGAIN: /* a daemon listens and is busy */
        return RSMD_NODE_ACTIVE;
    case ENOENT:
    case ENOTDIR:
        return RSMD_NODE_UNKNOWN;
    case EMFILE:
    case ENFILE:
        seen = find_seen(&node->topology, remote);
        /* cannot look: keep the last result */
        return seen != NULL ? seen->here : RSMD_NODE_UNKNOWN;
    default:
        return RSMD_NODE_DOWN;
    }
}

enum rsmd_node_state rsmd_node_probe(const struct rsmd_node *node, uint32_t remote)
{
    pid_t pid;
    return probe(node, remote, &pid);
}

/* Whether it was found listening a moment ago and its process still seems to live. */
static bool listened(const struct rsmd_seen *seen)
{
    return seen != NULL && seen->listened != 0 && rsm_clock_ns() - seen->listened < LISTENED_NS &&
           (seen->pid == 0 || kill(seen->pid, 0) == 0 || errno == EPERM);
}

/* The state of a node of this host. While its daemon listens, this connects to it at most once a
 * second, however often clients ask. With RSMD_NODE_UNKNOWN errno may be EMFILE or ENFILE. */
static enum rsmd_node_state state_here(struct rsmd_node *node, uint32_t id)
{
    struct rsmd_seen *seen = find_seen(&node->topology, id);
    if (listened(seen))
        return RSMD_NODE_ACTIVE;
    errno = 0;
    pid_t pid;
    enum rsmd_node_state state = probe(node, id, &pid);
    int error = errno;
    bool listens = state == RSMD_NODE_ACTIVE;
    /* Only nodes that listen get an entry, whatever ids clients name. */
    if (listens && seen == NULL)
        seen = need_seen(&node->topology, id);
    if (seen != NULL) {
        seen->listened = listens ? rsm_clock_ns() : 0;
        seen->pid = pid;
    }
    errno = listens ? 0 : error;
    return state;
}

enum rsm_status rsmd_node_here(struct rsmd_node *node, uint32_t id)
{
    if (id == node->id)
        return RSM_ST_OK;
    if (node->hosts_ops->is_up(node, id))
        return RSM_ST_DENIED;
    if (state_here(node, id) == RSMD_NODE_ACTIVE)
        return RSM_ST_OK;
    return errno == EMFILE || errno == ENFILE ? RSM_ST_NO_RESOURCES : RSM_ST_DENIED;
}

/* Whether a node has a socket on this host, whether or not a daemon listens. */
static bool has_socket(const struct rsmd_node *node, uint32_t id)
{
    char path[RSM_PROTO_PATH_MAX];
    struct stat status;
    remote_path(node, id, path);
    return lstat(path, &status) == 0;
}

bool rsmd_node_known(const struct rsmd_node *node, uint32_t id)
{
    if (id < 1 || id > RSM_NODE_ID_MAX)
        return false;
    return node->embedded || id == node->id || rsmd_conf_node(&node->conf, id) != NULL ||
           has_socket(node, id);
}

static bool reaches_hosts(const struct rsmd_controller *controller)
{
    return (controller->port->caps & RSM_NODE_REACHES_HOSTS) != 0;
}

/* Whether a node that was not found on this host belongs to another one, as far as is known.
 */
static bool is_elsewhere(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_conf_node *configured = rsmd_conf_node(&node->conf, id);
    bool addressed = configured != NULL && configured->address[0] != '\0';
    return node->hosts_ops->is_up(node, id) || (addressed && configured->socket[0] == '\0');
}

enum rsm_status rsmd_locate(struct rsmd_node *node, const struct rsmd_controller *controller,
                            uint32_t id, struct rsm_locate_reply *reply)
{
    if (controller->loopback && id != node->id)
        return RSM_ST_NO_CONTROLLER;
    if (id < 1 || id > RSM_NODE_ID_MAX)
        return RSM_ST_NO_ROUTE;
    remote_path(node, id, reply->path);
    reply->kind = id == node->id ? RSM_LOCATE_SELF : RSM_LOCATE_SAME_HOST;
    if (id == node->id)
        return RSM_ST_OK;
    enum rsmd_node_state seen = state_here(node, id);
    if (seen == RSMD_NODE_ACTIVE)
        return RSM_ST_OK;
    if (node->hosts_ops->may_link(node, id) && reaches_hosts(controller)) {
        if (!rsmd_reaches(controller, id))
            return RSM_ST_UNREACHABLE;
        *reply = (struct rsm_locate_reply){.kind = RSM_LOCATE_REMOTE};
        strcpy(reply->address, rsmd_conf_address(&node->conf, id));
        return RSM_ST_OK;
    }
    if (seen == RSMD_NODE_UNKNOWN && !reaches_hosts(controller) && is_elsewhere(node, id))
        return RSM_ST_NO_ROUTE;
    return rsmd_node_known(node, id) ? RSM_ST_UNREACHABLE : RSM_ST_NO_ROUTE;
}

enum rsm_status rsmd_answer_locate(struct rsmd_call *call)
{
    const struct rsm_locate_request *asked = &call->request->u.locate;
    const struct rsmd_controller *controller = rsmd_controller_named(call->node, asked->controller);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    struct rsm_locate_reply *reply = &call->reply->u.locate_reply;
    enum rsm_status status = rsmd_locate(call->node, controller, asked->node, reply);
    if (status == RSM_ST_OK && reply->kind == RSM_LOCATE_REMOTE)
        status = call->node->hosts_ops->await(call, asked->node);
    return status;
}

/* Look at a node's socket. A daemon that listened a moment ago and lives is not woken again. */
static enum rsmd_node_state look_here(const struct rsmd_node *node, struct rsmd_seen *seen)
{
    const struct rsmd_conf_node *configured = rsmd_conf_node(&node->conf, seen->id);
    int64_t now = rsm_clock_ns();
    if (!seen->has_socket && (configured == NULL || configured->socket[0] == '\0'))
        return RSMD_NODE_UNKNOWN;
    if (seen->pid > 0 && listened(seen))
        return RSMD_NODE_ACTIVE;
    enum rsmd_node_state state = probe(node, seen->id, &seen->pid);
    seen->listened = state == RSMD_NODE_ACTIVE ? now : 0;
    return state;
}

/* Update a node's state, from its socket on this host or from the link. True: it has changed. */
static bool look_at(const struct rsmd_node *node, struct rsmd_seen *seen)
{
    uint8_t here_before = seen->here, anywhere_before = seen->anywhere;
    enum rsmd_node_state found = look_here(node, seen);
    bool configured = rsmd_conf_node(&node->conf, seen->id) != NULL;
    enum rsmd_node_state absent = configured ? RSMD_NODE_DOWN : RSMD_NODE_UNKNOWN;
    bool is_found = found != RSMD_NODE_UNKNOWN;
    seen->here = (uint8_t)(is_found || is_elsewhere(node, seen->id) ? found : absent);
    seen->anywhere = (uint8_t)(is_found ? found : absent);
    if (node->hosts_ops->may_reach(node, seen->id))
        seen->anywhere = RSMD_NODE_ACTIVE;
    return seen->here != here_before || seen->anywhere != anywhere_before;
}

static void note_socket(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    struct rsmd_seen *seen = id != node->id ? need_seen(&node->topology, id) : NULL;
    if (seen != NULL)
        seen->has_socket = true;
}

static void note_link(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    (void)need_seen(&node->topology, id);
}

/* Find the nodes: those of the configuration, those with a link, and those with a socket in the
 * runtime directory. False: cannot look, and nothing has changed. */
static bool find_nodes(struct rsmd_node *node)
{
    struct rsmd_topology *topology = &node->topology;
    for (uint32_t i = 0; i < node->conf.node_count; i++)
        if (node->conf.nodes[i]->id != node->id)
            need_seen(topology, node->conf.nodes[i]->id);
    node->hosts_ops->each_up(node, note_link, node);
    for (uint32_t i = 0; i < topology->count; i++)
        topology->seen[i].has_socket = false;
    if (rsmcore_runtime_each(&node->runtime, "sock", note_socket, node))
        return true;
    return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
}

/* Forget nodes that are neither configured nor found. */
static void forget_gone(struct rsmd_node *node)
{
    struct rsmd_topology *topology = &node->topology;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < topology->count; i++)
        if (topology->seen[i].anywhere != RSMD_NODE_UNKNOWN ||
            rsmd_conf_node(&node->conf, topology->seen[i].id) != NULL)
            topology->seen[kept++] = topology->seen[i];
    topology->count = kept;
}

/* A look at many daemons takes a while, and wakes them. All looks together take a tenth of the time
 * at most. Unused time is saved up to a bound, so that only clients that ask all the time get
 * answers that are a little old. */
static bool may_look(struct rsmd_topology *topology, int64_t now)
{
    topology->looks_ns += (now - topology->looked_at) / SHARE;
    if (topology->looked_at == 0 || topology->looks_ns > LOOKS_MAX_NS)
        topology->looks_ns = LOOKS_MAX_NS;
    topology->looked_at = now;
    return topology->looks_ns > 0;
}

/* Look at all nodes. The generation changes if any state has changed. */
static void refresh(struct rsmd_node *node)
{
    struct rsmd_topology *topology = &node->topology;
    int64_t begun = rsm_clock_ns();
    if (!may_look(topology, begun))
        return;
    if (find_nodes(node)) {
        bool changed = topology->generation == 0;
        for (uint32_t i = 0; i < topology->count; i++)
            changed |= look_at(node, &topology->seen[i]);
        if (changed)
            topology->generation++;
        forget_gone(node);
    }
    topology->looks_ns -= rsm_clock_ns() - begun;
}

static void add_peer(struct rsm_topology_reply *reply, const struct rsmd_controller *controller,
                     uint32_t id, uint32_t state)
{
    struct rsm_topology_remote *remote = &reply->remotes[reply->remote_count++];
    remote->node = id;
    memcpy(remote->name, controller->name, sizeof remote->name);
    remote->hardware_address = id;
    remote->state = state;
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
    for (uint32_t i = 0; i < node->topology.count; i++) {
        const struct rsmd_seen *seen = &node->topology.seen[i];
        uint32_t state = reaches_hosts(controller) ? seen->anywhere : seen->here;
        if (state == RSMD_NODE_UNKNOWN)
            continue;
        /* A node that only the cluster link reaches. */
        if (state == RSMD_NODE_ACTIVE && seen->here != RSMD_NODE_ACTIVE &&
            !rsmd_reaches(controller, seen->id))
            state = RSMD_NODE_DOWN;
        if (reply->total_remotes++ >= asked->first_remote &&
            reply->remote_count < RSM_PROTO_REMOTES_MAX)
            add_peer(reply, controller, seen->id, state);
    }
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ names of hosts and adapters */

static void add_named(struct rsm_named_reply *reply, uint32_t node, uint32_t adapter)
{
    if (reply->count < RSM_PROTO_NAMED_MAX)
        reply->nodes[reply->count++] = (struct rsm_named_node){.node = node, .adapter = adapter};
}

/* Whether a name is in a list of names separated by blanks, and at which place. */
static bool is_listed(const char *list, const char *name, uint32_t *place)
{
    size_t length = strlen(name);
    *place = 0;
    for (list += strspn(list, " \t"); *list != '\0'; list += strspn(list, " \t")) {
        size_t word = strcspn(list, " \t");
        if (word == length && strncasecmp(list, name, length) == 0)
            return true;
        list += word;
        ++*place;
    }
    return false;
}

/* Without a list of nodes the only host is this one. */
static bool is_own_host(const char *name)
{
    char host[RSM_PROTO_NAME_MAX] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    return strcasecmp(name, "localhost") == 0 || (host[0] != '\0' && strcasecmp(name, host) == 0);
}

enum rsm_status rsmd_answer_named(struct rsmd_call *call)
{
    const struct rsmd_conf *conf = &call->node->conf;
    const char *name = call->request->u.named.name;
    struct rsm_named_reply *reply = &call->reply->u.named_reply;
    for (uint32_t i = 0; i < conf->node_count; i++) {
        const struct rsmd_conf_node *node = conf->nodes[i];
        uint32_t adapter;
        if (is_listed(node->names, name, &adapter))
            add_named(reply, node->id, adapter);
        else if (strcasecmp(node->host, name) == 0)
            add_named(reply, node->id, 0);
    }
    if (conf->node_count == 0 && is_own_host(name))
        add_named(reply, call->node->id, 0);
    return reply->count > 0 ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}
