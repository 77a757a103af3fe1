/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/instance.h"

#include <unistd.h>

#include "base/log.h"

enum {
    KNOWN_CAPS = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS | RSM_NODE_EXTENTS_PINNED |
                 RSM_NODE_ANY_THREAD | RSM_NODE_REPORTS_NODES
};

/* Reports come by dispatch(), which a port without a descriptor is never called for. */
static const char *caps_flaw(const struct rsm_node_ops *ops, struct rsm_node_port *port)
{
    if ((port->caps & RSM_NODE_REPORTS_NODES) != 0 && ops->event_fd(port) < 0)
        return "RSM_NODE_REPORTS_NODES needs event_fd and dispatch";
    if ((port->caps & RSM_NODE_ANY_THREAD) == 0 && ops->extent_make_now != ops->extent_make)
        return "extent_make_now needs RSM_NODE_ANY_THREAD";
    return NULL;
}

enum rsm_status rsmcore_node_port_open(const struct rsm_node_ops *ops,
                                       const struct rsm_controller_info *info,
                                       struct rsm_node_port **port)
{
    struct rsm_controller_info sized = *info;
    struct rsm_node_port *made;
    sized.size = sizeof sized;
    enum rsm_status status = ops->open(&sized, &made);
    if (status != RSM_ST_OK)
        return status;
    const char *flaw = caps_flaw(ops, made);
    if (flaw != NULL) {
        rsm_log_error("transport %s: %s", ops->name, flaw);
        ops->close(made);
        return RSM_ST_INVALID;
    }
    made->ops = ops;
    made->caps &= KNOWN_CAPS;
    *port = made;
    return RSM_ST_OK;
}

const char *rsmcore_extent_flaw(const struct rsm_node_port *port, const struct rsm_extent *extent,
                                uint64_t length)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (extent->fd < 0)
        return "it has no descriptor";
    if (extent->length < length || extent->length > INT64_MAX)
        return "it is shorter than was asked for, or too long";
    if (extent->offset % page != 0 || extent->offset > INT64_MAX - extent->length)
        return "it begins at an impossible offset";
    if (extent->kind == RSM_EXTENT_MEMFD)
        return extent->offset == 0 ? NULL : "it is a memfd that does not begin at 0";
    if (extent->kind != RSM_EXTENT_DEVICE)
        return "it is of an unknown kind";
    return (port->caps & RSM_NODE_EXTENTS_SHAREABLE) == 0 ? NULL : "it is shareable and no memfd";
}
