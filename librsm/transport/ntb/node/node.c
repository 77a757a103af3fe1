/* SPDX-License-Identifier: BSD-3-Clause */
/* ntb, node half: rsmd owns the bridge's port, the pool, and what processes of this host import. */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/entry.h"
#include "transport/ntb/common/ports.h"
#include "transport/ntb/node/window.h"

/* The number of the port that a controller's device names; -1, and the log says why. */
static int port_of_controller(const struct rsm_controller_info *info)
{
    for (unsigned i = 0; i < ntb_port_kind_count; i++)
        if (strncmp(info->device, ntb_port_kinds[i].prefix, strlen(ntb_port_kinds[i].prefix)) == 0)
            return (int)i;
    rsm_log_error("ntb: controller %s: expected device = %s, not \"%s\"", info->name,
                  ntb_port_kinds[0].device, info->device);
    return -1;
}

static bool options_of(const struct rsm_controller_info *info, struct ntb_options *options)
{
    char why[256];
    if (ntb_options_parse(info->options, options, why, sizeof why))
        return true;
    rsm_log_error("ntb: controller %s: %s", info->name, why);
    return false;
}

static enum rsm_status node_check(const struct rsm_controller_info *info)
{
    struct ntb_options options;
    int number = options_of(info, &options) ? port_of_controller(info) : -1;
    return number < 0 ? RSM_ST_INVALID : ntb_port_kinds[number].node->check(info, &options);
}

static enum rsm_status node_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **made)
{
    struct ntb_options options;
    struct ntb_port *port;
    int number = options_of(info, &options) ? port_of_controller(info) : -1;
    if (number < 0)
        return RSM_ST_INVALID;
    enum rsm_status status = ntb_port_kinds[number].node->open(info, &options, &port);
    if (status != RSM_ST_OK)
        return status;
    struct ntb_window *window = ntb_window_begin(port, info->node, &options);
    if (window == NULL) {
        port->ops->close(port);
        return RSM_ST_NO_MEMORY;
    }
    window->port_number = (uint32_t)number;
    window->base.caps = RSM_NODE_REACHES_HOSTS | RSM_NODE_ANY_THREAD | RSM_NODE_REPORTS_NODES;
    if (window->pins)
        window->base.caps |= RSM_NODE_EXTENTS_PINNED;
    *made = &window->base;
    return RSM_ST_OK;
}

static void node_close(struct rsm_node_port *port)
{
    ntb_window_end(ntb_window_of(port));
}

static void node_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    enum { WIDTHS = 1 | 2 | 4 | 8 };
    const struct ntb_window *window = ntb_window_of(port);
    uint64_t pool = window->allocator.end - window->allocator.first;
    uint64_t pinned = window->pins ? window->in_place.end - window->in_place.first : 0;
    uint64_t one = pool > pinned ? pool : pinned;
    *attr = (struct rsm_port_attr){.size = attr->size,
                                   .access_sizes = WIDTHS,
                                   .atomic_sizes = WIDTHS,
                                   .page_size = window->limits.granule,
                                   .max_segment_size = one,
                                   .total_segment_size = pool + pinned,
                                   .max_segments = window->limits.extents_max,
                                   .max_map_size = one,
                                   .total_map_size = UINT64_MAX,
                                   .max_imports = window->limits.extents_max};
}

static void node_trouble(struct rsm_node_port *port, char *text, size_t size)
{
    const struct ntb_window *window = ntb_window_of(port);
    window->port->ops->trouble(window->port, text, size);
}

static int node_event_fd(struct rsm_node_port *port)
{
    const struct ntb_window *window = ntb_window_of(port);
    return window->port->ops->fd(window->port);
}

static void node_dispatch(struct rsm_node_port *port, const struct rsm_node_upcalls *up,
                          void *context)
{
    struct ntb_window *window = ntb_window_of(port);
    window->port->ops->service(window->port);
    ntb_window_pump(window);
    ntb_posts_report(window, up, context);
    ntb_window_report(window, up, context);
}

MODULE_SYMBOL const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = "ntb",
    .open = node_open,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = ntb_extent_make,
    .extent_free = ntb_extent_free,
    .offer = ntb_offer_make,
    .revoke = ntb_offer_revoke,
    .event_fd = node_event_fd,
    .dispatch = node_dispatch,
    .extent_make_now = ntb_extent_make_now,
    .extent_make_not_pinned = ntb_extent_make_not_pinned,
    .signals = &ntb_node_signal_ops,
    .imports = &ntb_node_import_ops,
    .check = node_check,
    .trouble = node_trouble,
    .limit_users = ntb_window_limit_users,
    .extent_make_for = ntb_extent_make_for,
};
