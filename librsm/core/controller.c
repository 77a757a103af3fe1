/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/controller.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/controller_ports.h"
#include "core/import.h"
#include "control/control.h"
#include "base/fork.h"
#include "base/log.h"
#include "fault/uffd.h"
#include "transport/generic.h"
#include "transport/instance.h"
#include "transport/registry.h"

/* One transport that this controller has been used with: its own one, and the one that reaches
 * nodes of this host where that is another. */
struct port_slot {
    const struct rsm_import_ops *ops;
    struct rsm_port *port;
    unsigned process; /* that opened it (transport/guard.c) */
};

enum { PORT_SLOTS = 4 };

/* Whether this process, a forked child, must not use the port. */
static bool is_parents(const struct port_slot *slot)
{
    return (slot->port->caps & RSM_CAP_FORK) == 0 && slot->process != rsmcore_guard_process();
}

struct rsmcore_controller {
    atomic_uint references;
    struct rsm_controller_reply info;
    uint32_t peer_timeout_ms;
    uint32_t node;                      /* this one */
    struct port_slot ports[PORT_SLOTS]; /* guarded by ports_lock */
};

/* Held for a look at the ports of a controller. Opening a port may take long, and is done without
 * it. */
RSMCORE_FORK_PART(ports_lock, RSMCORE_FORK_PORTS, NULL);

/* What came with the reply; all of it is ours to close. */
static void take_lent_device(struct rsm_packet_fds *fds)
{
    if (fds->count > 0) {
        rsmcore_uffd_lend(fds->fds[0]);
        fds->fds[0] = fds->fds[--fds->count];
    }
    rsm_packet_fds_close(fds);
}

/* What the node's daemon says of a controller. */
struct found {
    struct rsm_controller_reply info;
    uint32_t peer_timeout_ms;
    uint32_t node;
};

static enum rsm_status look_up(const struct rsm_controller_request *request, struct found *found)
{
    struct rsmcore_control *control;
    enum rsm_status status = rsmcore_control_local(&control);
    if (status != RSM_ST_OK)
        return status == RSM_ST_VERSION ? status : RSM_ST_UNREACHABLE;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_CONTROLLER);
    msg.u.controller = *request;
    struct rsm_packet_fds fds = {.count = 0};
    status = rsmcore_control_call(control, &msg, &fds);
    found->peer_timeout_ms = rsmcore_control_timeout(control);
    found->node = rsmcore_control_node(control);
    rsmcore_control_release(control);
    if (status == RSM_ST_OK) {
        found->info = msg.u.controller_reply;
        take_lent_device(&fds);
    }
    if (status == RSM_ST_STALE || status == RSM_ST_TIMEOUT)
        return RSM_ST_UNREACHABLE;
    return status == RSM_ST_OK || status == RSM_ST_NO_MEMORY ? status : RSM_ST_NO_CONTROLLER;
}

static enum rsm_status look_up_unit(const char *transport, unsigned unit, struct found *found)
{
    struct rsm_controller_request request = {.unit = unit};
    if (transport != NULL && (*transport == '\0' || strlen(transport) >= sizeof request.transport))
        return RSM_ST_NO_CONTROLLER;
    if (transport != NULL)
        strcpy(request.transport, transport);
    return look_up(&request, found);
}

/* The most failed controllers that are read: a daemon that sends more must not keep the caller for
 * ever. */
enum { FAILED_MAX = 4096 };

/* The next page of controllers with which something is wrong: false: there is none. */
static bool ask_failed(struct rsmcore_control *control, uint32_t first, struct rsm_msg *msg)
{
    rsm_msg_begin(msg, RSM_MSG_FAILED);
    msg->u.failed.first = first;
    return rsmcore_control_call(control, msg, NULL) == RSM_ST_OK && msg->u.failed_reply.count > 0;
}

/* Log the daemon's reason for a configured controller that it could not open, or that reaches no
 * other host. */
static void explain(const char *name)
{
    struct rsmcore_control *control;
    struct rsm_msg msg;
    uint32_t first = 0;
    if (rsmcore_control_local(&control) != RSM_ST_OK)
        return;
    for (bool found = false; !found && first < FAILED_MAX && ask_failed(control, first, &msg);) {
        const struct rsm_failed_reply *page = &msg.u.failed_reply;
        for (uint32_t i = 0; i < page->count && !found; i++) {
            found = strcasecmp(page->items[i].name, name) == 0;
            if (found)
                rsm_log_error("controller %s: %s: %s", name,
                              page->items[i].ago_ms != 0 ? "rsmd could not open it"
                                                         : "it reaches no other host",
                              page->items[i].text);
        }
        first += page->count;
    }
    rsmcore_control_release(control);
}

static enum rsm_status open_found(const struct found *found, struct rsmcore_controller **controller)
{
    struct rsm_port *port;
    const struct rsm_import_ops *ops = rsmcore_transport_import(found->info.transport);
    struct rsmcore_controller *made = ops != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return ops == NULL ? RSM_ST_NO_CONTROLLER : RSM_ST_NO_MEMORY;
    atomic_init(&made->references, 1);
    made->info = found->info;
    made->peer_timeout_ms = found->peer_timeout_ms;
    made->node = found->node;
    enum rsm_status status = rsmcore_controller_port(made, ops, &port);
    if (status == RSM_ST_OK)
        *controller = made;
    else
        rsmcore_controller_close(made);
    if (status == RSM_ST_OK && found->info.loopback == 0)
        explain(found->info.name);
    return status;
}

enum rsm_status rsmcore_controller_open(const char *name, struct rsmcore_controller **controller)
{
    struct found found;
    struct rsm_controller_request request = {.unit = 0};
    if (*name == '\0' || strlen(name) >= sizeof request.name)
        return RSM_ST_NO_CONTROLLER;
    strcpy(request.name, name);
    enum rsm_status status = look_up(&request, &found);
    if (status == RSM_ST_NO_CONTROLLER)
        explain(name);
    return status == RSM_ST_OK ? open_found(&found, controller) : status;
}

enum rsm_status rsmcore_controller_open_unit(const char *transport, unsigned unit,
                                             struct rsmcore_controller **controller)
{
    struct found found;
    enum rsm_status status = look_up_unit(transport, unit, &found);
    return status == RSM_ST_OK ? open_found(&found, controller) : status;
}

enum rsm_status rsmcore_controller_open_adapter(unsigned adapter,
                                                struct rsmcore_controller **controller)
{
    struct found found;
    const struct rsm_controller_request request = {.unit = adapter,
                                                   .flags = RSM_CONTROLLER_BY_ADAPTER};
    enum rsm_status status = look_up(&request, &found);
    return status == RSM_ST_OK ? open_found(&found, controller) : status;
}

enum rsm_status rsmcore_controller_name_of_unit(const char *transport, unsigned unit, char *name)
{
    struct found found;
    enum rsm_status status = look_up_unit(transport, unit, &found);
    if (status == RSM_ST_OK)
        memcpy(name, found.info.name, sizeof found.info.name);
    return status;
}

struct rsmcore_controller *rsmcore_controller_hold(struct rsmcore_controller *controller)
{
    atomic_fetch_add(&controller->references, 1);
    return controller;
}

void rsmcore_controller_close(struct rsmcore_controller *controller)
{
    if (atomic_fetch_sub(&controller->references, 1) != 1)
        return;
    for (int i = 0; i < PORT_SLOTS; i++)
        if (controller->ports[i].ops != NULL && !is_parents(&controller->ports[i]))
            rsmcore_port_close(controller->ports[i].port);
    free(controller);
}

/* The slot of the transport's port, or the one where it belongs; NULL: all are taken. A port that
 * this process must not use is none. */
static struct port_slot *find_slot(struct rsmcore_controller *controller,
                                   const struct rsm_import_ops *ops)
{
    for (int i = 0; i < PORT_SLOTS; i++)
        if (controller->ports[i].ops == NULL || controller->ports[i].ops == ops)
            return &controller->ports[i];
    return NULL;
}

/* The port that is open, or NULL. With @p opened, a port that the caller has just opened: it is the
 * one from now on if there is none yet and there is a slot. */
static struct rsm_port *look_for_port(struct rsmcore_controller *controller,
                                      const struct rsm_import_ops *ops, struct rsm_port *opened)
{
    struct rsm_port *port = NULL;
    rsmcore_fork_lock(&ports_lock);
    struct port_slot *slot = find_slot(controller, ops);
    if (slot != NULL && opened != NULL && (slot->ops == NULL || is_parents(slot)))
        *slot = (struct port_slot){.ops = ops, .port = opened, .process = rsmcore_guard_process()};
    if (slot != NULL && slot->ops != NULL && !is_parents(slot))
        port = slot->port;
    rsmcore_fork_unlock(&ports_lock);
    return port;
}

enum rsm_status rsmcore_controller_port(struct rsmcore_controller *controller,
                                        const struct rsm_import_ops *ops, struct rsm_port **port)
{
    struct rsm_port *opened;
    const struct rsm_controller_info info = {.name = controller->info.name,
                                             .device = controller->info.device,
                                             .options = controller->info.options,
                                             .peer_timeout_ms = controller->peer_timeout_ms,
                                             .node = controller->node,
                                             .address = controller->info.address};
    *port = look_for_port(controller, ops, NULL);
    if (*port != NULL)
        return RSM_ST_OK;
    enum rsm_status status = rsmcore_port_open(ops, &info, &opened);
    if (status != RSM_ST_OK)
        return status;
    *port = look_for_port(controller, ops, opened);
    if (*port != opened) /* another thread has opened one meanwhile, or there is no slot */
        rsmcore_port_close(opened);
    return *port != NULL ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

enum rsm_status rsmcore_controller_request(struct rsmcore_controller *controller,
                                           struct rsm_connect_request *request)
{
    const struct rsm_import_ops *ops = controller->ports[0].ops; /* open() filled it */
    struct rsm_port *port;
    request->length = 0;
    if (ops->connect_request == NULL)
        return RSM_ST_OK;
    enum rsm_status status = rsmcore_controller_port(controller, ops, &port);
    return status == RSM_ST_OK ? rsmcore_port_request(port, request) : status;
}

const char *rsmcore_controller_transport(const struct rsmcore_controller *controller)
{
    return controller->info.transport;
}

const struct rsm_port_attr *rsmcore_controller_attr(const struct rsmcore_controller *controller)
{
    return &controller->info.attr;
}

const char *rsmcore_controller_name(const struct rsmcore_controller *controller)
{
    return controller->info.name;
}

/* Those that came after release 1.0, from a daemon that has them. */
static void ask_for_tunables(const struct rsmcore_controller *controller,
                             struct rsmcore_control *control, struct mapping_settings *settings)
{
    struct rsm_msg msg;
    if (!rsmcore_control_knows(control, RSM_MSG_TUNABLES))
        return;
    rsm_msg_begin(&msg, RSM_MSG_TUNABLES);
    strcpy(msg.u.tunables.controller, controller->info.name);
    const struct rsm_tunables_reply *reply = &msg.u.tunables_reply;
    if (rsmcore_control_call(control, &msg, NULL) == RSM_ST_OK)
        (void)rsmcore_map_settings_take(settings, reply->given, reply->value, reply->count);
}

struct mapping_settings rsmcore_controller_map_settings(const struct rsmcore_controller *controller)
{
    struct mapping_settings settings = controller->info.map;
    struct rsmcore_control *control;
    if (rsmcore_control_local(&control) == RSM_ST_OK) {
        ask_for_tunables(controller, control, &settings);
        rsmcore_control_release(control);
    }
    return settings;
}

bool rsmcore_controller_is_loopback(const struct rsmcore_controller *controller)
{
    return controller->info.loopback != 0;
}

/* Slot 0 is the controller's own transport: open() filled it. */
enum rsm_status rsmcore_controller_register(struct rsmcore_controller *controller, void *address,
                                            size_t length, void **cookie)
{
    struct port_slot *own = &controller->ports[0];
    const struct rsm_mapping_ops *engine = atomic_load(&rsmcore_mapping_engine);
    /* What an adapter finds there is not what a load would see. */
    if (is_parents(own) || (engine != NULL && engine->shows(address, length))) {
        *cookie = NULL;
        return RSM_ST_OK;
    }
    return own->ops->register_memory(own->port, address, length, cookie);
}

void rsmcore_controller_unregister(struct rsmcore_controller *controller, void *cookie)
{
    struct port_slot *own = &controller->ports[0];
    if (cookie != NULL && !is_parents(own))
        own->ops->unregister_memory(own->port, cookie);
}

static enum rsm_status check_extent(void *context, int fd, uint64_t offset, uint64_t length)
{
    const struct rsmcore_controller *controller = context;
    const struct port_slot *own = &controller->ports[0];
    if (is_parents(own))
        return RSM_ST_STALE;
    return own->ops->extent_check(own->port, fd, offset, length);
}

struct rsmcore_extent_source rsmcore_controller_extents(struct rsmcore_controller *controller)
{
    return (struct rsmcore_extent_source){
        .controller = controller->info.name, .check = check_extent, .context = controller};
}

enum rsm_status rsmcore_nodes_named(const char *name, struct rsm_named_reply *nodes)
{
    struct rsmcore_control *control;
    struct rsm_msg msg;
    if (strlen(name) >= sizeof msg.u.named.name)
        return RSM_ST_NOT_FOUND;
    enum rsm_status status = rsmcore_control_local(&control);
    if (status != RSM_ST_OK)
        return status;
    rsm_msg_begin(&msg, RSM_MSG_NAMED);
    strcpy(msg.u.named.name, name);
    status = rsmcore_control_call(control, &msg, NULL);
    rsmcore_control_release(control);
    if (status == RSM_ST_OK)
        *nodes = msg.u.named_reply;
    return status;
}

enum rsm_status rsmcore_local_node(uint32_t *node)
{
    struct rsmcore_control *control;
    enum rsm_status status = rsmcore_control_local(&control);
    if (status != RSM_ST_OK)
        return status;
    *node = rsmcore_control_node(control);
    rsmcore_control_release(control);
    return RSM_ST_OK;
}
