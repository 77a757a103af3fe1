/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs, node half: rsmd owns the port, the registered memory and the listener. An importer's
 * reads and writes are executed by the device; the daemon sees the connection come and go, and the
 * signals.
 */
#include "transport/verbs/node/node.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "transport/verbs/common/module.h"

/* Linux's soft-RoCE (seen with 6.1) holds an access by a window against the bounds of the
 * registration behind it instead of those of the window. */
enum { SOFT_ROCE_VENDOR = 0xffffff };

static bool device_binds(const struct ibv_device_attr *attr)
{
    return (attr->device_cap_flags &
            (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0 &&
           attr->max_mw > 0;
}

/* The device's own memory and threads behind an open device. */
static bool furnish(struct rsm_node_port *port)
{
    port->pd = ibv_alloc_pd(port->device.context);
    if (port->pd == NULL) {
        verbs_explain(&port->device, "cannot make a protection domain", errno);
        return false;
    }
    port->windows = port->options.windows && device_binds(&port->device.attr);
    port->windows_leak = port->device.attr.vendor_id == SOFT_ROCE_VENDOR;
    if (!port->windows)
        rsm_log_info("verbs: no type-2 memory windows in use: each import registers its pieces");
    unsigned access = IBV_ACCESS_LOCAL_WRITE;
    if (port->windows)
        access |= IBV_ACCESS_MW_BIND;
    port->pool = verbs_pool_open(&port->device, port->pd, access, port->options.pool);
    if (port->pool == NULL)
        rsm_log_error("verbs: cannot start the thread of the pool");
    return port->pool != NULL;
}

static void strip(struct rsm_node_port *port)
{
    verbs_farewells_end(port);
    verbs_listen_end(port);
    verbs_slots_end(port);
    if (port->pool != NULL)
        verbs_pool_close(port->pool);
    if (port->pd != NULL)
        ibv_dealloc_pd(port->pd);
    verbs_device_close(&port->device);
    free(port);
}

static enum rsm_status node_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    char why[256];
    struct rsm_node_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->epoll = made->again = -1;
    if (!verbs_options_parse(info->options, info->peer_timeout_ms, &made->options, why,
                             sizeof why)) {
        rsm_log_error("verbs: controller %s: %s", info->name, why);
        free(made);
        return RSM_ST_INVALID;
    }
    if (!verbs_device_open(info->device, &made->options, &made->device)) {
        free(made);
        return RSM_ST_NO_CONTROLLER;
    }
    made->path = verbs_path_of(&made->options, &made->device,
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    if (!furnish(made) || !verbs_listen(made)) {
        strip(made);
        return RSM_ST_NO_RESOURCES;
    }
    *port = made;
    return RSM_ST_OK;
}

static void node_close(struct rsm_node_port *port)
{
    struct verbs_pool_counts counts;
    verbs_pool_count(port->pool, &counts);
    rsm_log_debug("verbs: pool: %llu extents were ready, %llu were not, %llu were adopted",
                  (unsigned long long)counts.served, (unsigned long long)counts.missed,
                  (unsigned long long)counts.adopted);
    while (port->offers != NULL)
        verbs_offer_revoke(port, port->offers);
    strip(port);
}

static void node_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * port->page;
    const struct ibv_device_attr *device = &port->device.attr;
    uint64_t largest = device->max_mr_size < memory ? device->max_mr_size : memory;
    *attr = (struct rsm_port_attr){
        .access_sizes = 1 | 2 | 4 | 8,
        .atomic_sizes = 1 | 2 | 4 | 8,
        .page_size = port->page,
        .max_segment_size = largest / port->page * port->page,
        .total_segment_size = memory,
        .max_segments = (uint64_t)device->max_mr,
        .max_map_size = largest,
        .total_map_size = memory,
        .max_imports = (uint64_t)device->max_qp,
        .hardware_address = 0, /* the node's number, by which every node knows every other */
    };
}

/* ------------------------------------------------------------------ extents */

static enum rsm_status node_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                            struct rsm_extent **extent, int *fd)
{
    if (length == 0 || length > INT64_MAX || length % port->page != 0)
        return RSM_ST_INVALID;
    enum rsm_status status = verbs_pool_get_ready(port->pool, length, extent);
    if (status == RSM_ST_OK)
        *fd = (*extent)->fd;
    return status;
}

static enum rsm_status node_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **extent, int *fd)
{
    if (length == 0 || length > INT64_MAX || length % port->page != 0)
        return RSM_ST_INVALID;
    enum rsm_status status = verbs_pool_get(port->pool, length, extent);
    if (status == RSM_ST_OK)
        *fd = (*extent)->fd;
    return status;
}

static enum rsm_status node_extent_adopt(struct rsm_node_port *port, int fd, uint64_t length,
                                         struct rsm_extent **extent)
{
    if (length == 0 || length > INT64_MAX || length % port->page != 0)
        return RSM_ST_INVALID;
    return verbs_pool_adopt(port->pool, fd, length, extent);
}

static void node_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    verbs_pool_put(port->pool, extent);
}

VERBS_TABLE const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    .abi_version = RSM_TRANSPORT_ABI,
    .size = sizeof(struct rsm_node_ops),
    .name = "verbs",
    .open = node_open,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = node_extent_make,
    .extent_free = node_extent_free,
    .offer = verbs_offer_make,
    .revoke = verbs_offer_revoke,
    .event_fd = verbs_event_fd,
    .dispatch = verbs_dispatch,
    .node_caps = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS | RSM_NODE_EXTENTS_PINNED |
                 RSM_NODE_ANY_THREAD,
    .extent_adopt = node_extent_adopt,
    .signal_importer = verbs_signal_importer,
    .signals_arrived = verbs_signals_arrived,
    .extent_make_now = node_extent_make_now,
};
