/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/controller.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/controller_ports.h"
#include "core/import.h"
#include "control/link.h"
#include "base/log.h"
#include "fault/uffd.h"
#include "transport/instance.h"
#include "transport/registry_import.h"

/* One transport that this controller has been used with: its own one, and the one that reaches
 * nodes of this host where that is another. */
struct port_slot {
    const struct rsm_import_ops *ops;
    struct rsm_port *port;
};

enum { PORT_SLOTS = 4 };

struct rsmcore_controller {
    atomic_uint references;
    struct rsm_controller_reply info;
    uint32_t peer_timeout_ms;
    uint32_t node;        /* this one */
    pthread_mutex_t lock; /* guards ports */
    struct port_slot ports[PORT_SLOTS];
};

/* What came with the reply; all of it is ours to close. */
static void take_lent_device(struct rsm_packet_fds *fds)
{
    if (fds->count > 0) {
        rsmcore_uffd_lend(fds->fds[0]);
        fds->fds[0] = fds->fds[--fds->count];
    }
    rsm_packet_fds_close(fds);
}

static enum rsm_status ask_for(const char *type, unsigned unit, struct rsmcore_controller *about)
{
    struct rsmcore_link *link;
    enum rsm_status status = rsmcore_link_own(&link);
    if (status != RSM_ST_OK)
        return status == RSM_ST_VERSION ? status : RSM_ST_NO_CONTROLLER;
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.unit = unit}};
    snprintf(msg.u.controller.type, sizeof msg.u.controller.type, "%s", type);
    struct rsm_packet_fds fds = {.count = 0};
    status = rsmcore_link_call(link, &msg, NULL, &fds);
    about->peer_timeout_ms = rsmcore_link_timeout(link);
    about->node = rsmcore_link_node(link);
    rsmcore_link_release(link);
    if (status == RSM_ST_OK) {
        about->info = msg.u.controller_reply;
        take_lent_device(&fds);
    }
    return status == RSM_ST_OK || status == RSM_ST_NO_MEMORY ? status : RSM_ST_NO_CONTROLLER;
}

enum rsm_status rsmcore_controller_open(const char *type, unsigned unit,
                                        struct rsmcore_controller **controller)
{
    if (strlen(type) >= RSM_PROTO_NAME_MAX)
        return RSM_ST_NO_CONTROLLER;
    struct rsmcore_controller *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->lock, NULL);
    enum rsm_status status = ask_for(type, unit, made);
    if (status == RSM_ST_OK) {
        const struct rsm_import_ops *ops = rsmcore_transport_import(made->info.transport);
        struct rsm_port *port;
        status = ops == NULL ? RSM_ST_NO_CONTROLLER : rsmcore_controller_port(made, ops, &port);
    }
    if (status != RSM_ST_OK) {
        rsmcore_controller_close(made);
        return status;
    }
    *controller = made;
    return RSM_ST_OK;
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
        if (controller->ports[i].ops != NULL)
            rsmcore_port_close(controller->ports[i].port);
    pthread_mutex_destroy(&controller->lock);
    free(controller);
}

enum rsm_status rsmcore_controller_port(struct rsmcore_controller *controller,
                                        const struct rsm_import_ops *ops, struct rsm_port **port)
{
    enum rsm_status status = RSM_ST_NO_RESOURCES;
    pthread_mutex_lock(&controller->lock);
    for (int i = 0; i < PORT_SLOTS; i++) {
        struct port_slot *slot = &controller->ports[i];
        if (slot->ops == NULL) {
            struct rsm_controller_info info = {.name = controller->info.name,
                                               .device = controller->info.device,
                                               .options = controller->info.options,
                                               .peer_timeout_ms = controller->peer_timeout_ms,
                                               .node = controller->node};
            status = rsmcore_port_open(ops, &info, &slot->port);
            if (status == RSM_ST_OK)
                slot->ops = ops;
        } else if (slot->ops == ops) {
            status = RSM_ST_OK;
        } else {
            continue;
        }
        if (status == RSM_ST_OK)
            *port = slot->port;
        break;
    }
    pthread_mutex_unlock(&controller->lock);
    return status;
}

const struct rsm_port_attr *rsmcore_controller_attr(const struct rsmcore_controller *controller)
{
    return &controller->info.attr;
}

const char *rsmcore_controller_name(const struct rsmcore_controller *controller)
{
    return controller->info.name;
}

const struct softmap_settings *
rsmcore_controller_map_settings(const struct rsmcore_controller *controller)
{
    return &controller->info.map;
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
    const struct rsm_softmap_ops *engine = atomic_load(&rsmcore_mapping_engine);
    /* What an adapter finds there is not what a load would see. */
    if ((own->port->caps & RSM_CAP_LOCAL_MEMORY) == 0 ||
        (engine != NULL && engine->shows(address, length))) {
        *cookie = NULL;
        return RSM_ST_OK;
    }
    return own->ops->register_memory(own->port, address, length, cookie);
}

void rsmcore_controller_unregister(struct rsmcore_controller *controller, void *cookie)
{
    struct port_slot *own = &controller->ports[0];
    if (cookie != NULL)
        own->ops->unregister_memory(own->port, cookie);
}

enum rsm_status rsmcore_local_node(uint32_t *node)
{
    struct rsmcore_link *link;
    enum rsm_status status = rsmcore_link_own(&link);
    if (status != RSM_ST_OK)
        return status;
    *node = rsmcore_link_node(link);
    rsmcore_link_release(link);
    return RSM_ST_OK;
}
