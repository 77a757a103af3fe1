/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs, node half: rsmd owns the port, the registered memory and the listener. An importer's reads
 * and writes are executed by the device; the daemon sees the connection come and go, and the
 * signals. */
#include "transport/verbs/node/node.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_limit.h"
#include "transport/entry.h"

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
static bool furnish(struct verbs_node_port *port)
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

static void strip(struct verbs_node_port *port)
{
    verbs_deferred_disconnects_end(port);
    verbs_listen_end(port);
    verbs_send_buffers_end(port);
    if (port->pool != NULL)
        verbs_pool_close(port->pool);
    if (port->pd != NULL)
        ibv_dealloc_pd(port->pd);
    verbs_device_close(&port->device);
    pthread_mutex_destroy(&port->send_buffers_lock);
    free(port);
}

static enum rsm_status node_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    struct verbs_node_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS |
                      RSM_NODE_EXTENTS_PINNED | RSM_NODE_ANY_THREAD;
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->epoll = made->again = -1;
    made->send_buffers_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    enum rsm_status status = verbs_device_open_for(info, &made->options, &made->device);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->path = verbs_path_of(&made->options, &made->device,
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    if (!furnish(made) || !verbs_listen(made)) {
        strip(made);
        return RSM_ST_NO_RESOURCES;
    }
    *port = &made->base;
    return RSM_ST_OK;
}

/* Without memory, threads and a listener: those another daemon may have. */
static enum rsm_status node_check(const struct rsm_controller_info *info)
{
    struct verbs_options options;
    struct verbs_device device = {.context = NULL};
    enum rsm_status status = verbs_device_open_for(info, &options, &device);
    if (status == RSM_ST_OK)
        verbs_device_close(&device);
    return status;
}

static void node_close(struct rsm_node_port *base)
{
    struct verbs_node_port *port = verbs_node_port_of(base);
    struct verbs_pool_counts counts;
    verbs_pool_count(port->pool, &counts);
    rsm_log_debug("verbs: pool: %llu extents were ready, %llu were not, %llu were adopted",
                  (unsigned long long)counts.served, (unsigned long long)counts.missed,
                  (unsigned long long)counts.adopted);
    while (port->offers != NULL)
        verbs_offer_revoke(port, port->offers);
    strip(port);
}

static void node_attributes(struct rsm_node_port *base, struct rsm_port_attr *attr)
{
    const struct verbs_node_port *port = verbs_node_port_of(base);
    uint64_t memory = rsmcore_memory_size();
    const struct ibv_device_attr *device = &port->device.attr;
    uint64_t largest = device->max_mr_size < memory ? device->max_mr_size : memory;
    *attr = (struct rsm_port_attr){
        .size = attr->size,
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

typedef enum rsm_status get_extent(struct verbs_pool *pool, uint64_t length,
                                   struct verbs_extent **extent);

static enum rsm_status get_by(get_extent *get, struct rsm_node_port *base, uint64_t length,
                              struct rsm_extent **extent)
{
    const struct verbs_node_port *port = verbs_node_port_of(base);
    struct verbs_extent *made;
    if (length == 0 || length > INT64_MAX || length % port->page != 0)
        return RSM_ST_INVALID;
    enum rsm_status status = get(port->pool, length, &made);
    if (status == RSM_ST_OK)
        *extent = &made->base;
    return status;
}

static enum rsm_status node_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                            struct rsm_extent **extent)
{
    return get_by(verbs_pool_get_ready, port, length, extent);
}

static enum rsm_status node_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **extent)
{
    return get_by(verbs_pool_get, port, length, extent);
}

static enum rsm_status node_extent_adopt(struct rsm_node_port *base, int fd, uint64_t length,
                                         struct rsm_extent **extent)
{
    const struct verbs_node_port *port = verbs_node_port_of(base);
    struct verbs_extent *made;
    if (length == 0 || length > INT64_MAX || length % port->page != 0)
        return RSM_ST_INVALID;
    enum rsm_status status = verbs_pool_adopt(port->pool, fd, length, &made);
    if (status == RSM_ST_OK)
        *extent = &made->base;
    return status;
}

static void node_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    verbs_pool_put(verbs_node_port_of(port)->pool, verbs_extent_of(extent));
}

static void node_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    verbs_offer_revoke(verbs_node_port_of(port), verbs_node_offer_of(made));
}

MODULE_SYMBOL const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = "verbs",
    .open = node_open,
    .check = node_check,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = node_extent_make,
    .extent_free = node_extent_free,
    .offer = verbs_offer_make,
    .revoke = node_revoke,
    .event_fd = verbs_event_fd,
    .dispatch = verbs_dispatch,
    .extent_adopt = node_extent_adopt,
    .extent_make_now = node_extent_make_now,
    .signals = &verbs_node_signal_ops,
};
