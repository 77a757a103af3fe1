/* SPDX-License-Identifier: BSD-3-Clause */
/* tcp, node half: the port and its extents. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/extent_memfd.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/status.h"
#include "transport/entry.h"
#include "transport/tcp/common/socket.h"
#include "transport/tcp/node/port.h"

enum { BACKLOG = 4096 /* a caller that finds no room tries again a second later */ };

/* ------------------------------------------------------------------ port */

/* A node without an address is served on this host alone. */
static const char *host_of(const struct rsm_controller_info *info,
                           const struct tcp_options *options)
{
    if (options->address[0] != '\0')
        return options->address;
    return info->address != NULL && info->address[0] != '\0' ? info->address : "127.0.0.1";
}

static bool find_address(const struct rsm_controller_info *info, const struct tcp_options *options,
                         struct tcp_address *address)
{
    return tcp_address_find(host_of(info, options), (uint16_t)options->port, address);
}

/* A predecessor that hands over still has the port, so it can be shared by sockets of this user. */
static int listen_at(const struct tcp_address *address)
{
    const int on = 1;
    int fd = rsmcore_fd_above_stdio(
        socket(address->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (tcp_address_port(address) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, &address->u.any, address->length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static bool open_listener(struct tcp_node_port *port, const struct rsm_controller_info *info)
{
    struct tcp_address address;
    if (!find_address(info, &port->options, &address))
        return false;
    port->listener = listen_at(&address);
    address.length = sizeof address.u;
    if (port->listener < 0 || getsockname(port->listener, &address.u.any, &address.length) != 0) {
        rsm_log_error("tcp: %s: cannot listen at %s port %u: %s", info->name,
                      host_of(info, &port->options), port->options.port, strerror(errno));
        return false;
    }
    port->port = tcp_address_port(&address);
    return true;
}

static bool add(const struct tcp_node_port *port, int fd)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(port->events, EPOLL_CTL_ADD, fd, &readable) == 0;
}

static bool open_events(struct tcp_node_port *port)
{
    port->events = epoll_create1(EPOLL_CLOEXEC);
    port->restart = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    port->pending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (port->events >= 0 && add(port, port->restart) && add(port, port->pending))
        return true;
    rsm_log_error("tcp: %s", strerror(errno));
    return false;
}

static void node_close(struct rsm_node_port *base)
{
    struct tcp_node_port *port = tcp_node_port_of(base);
    const int fds[] = {port->listener, port->events, port->restart, port->pending};
    tcp_helper_end(port);
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(port);
}

/* The key exchange still keeps data from those who only listen. */
static void warn_of_links(const struct rsm_controller_info *info, const struct tcp_options *options)
{
    if (options->tls && !info->links_private)
        rsm_log_warning(
            "tcp: %s: the tokens of encrypt=tls travel by links that are not encrypted: "
            "who can change packets there can read and change data. Expected: "
            "auth = tls in [cluster]",
            info->name);
}

static enum rsm_status node_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **made)
{
    struct tcp_node_port *port = calloc(1, sizeof *port);
    if (port == NULL)
        return RSM_ST_NO_MEMORY;
    port->base.caps = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS | RSM_NODE_ANY_THREAD;
    port->page = (uint64_t)sysconf(_SC_PAGESIZE);
    port->listener = port->events = port->restart = port->pending = -1;
    port->helper = RSM_HELPER_NONE;
    enum rsm_status status = RSM_ST_INVALID;
    if (tcp_options_read(info, &port->options)) {
        status = RSM_ST_NO_RESOURCES;
        if (open_events(port) && open_listener(port, info) && tcp_helper_start(port))
            status = RSM_ST_OK;
    }
    if (status == RSM_ST_OK)
        warn_of_links(info, &port->options);
    if (status == RSM_ST_OK)
        *made = &port->base;
    else
        node_close(&port->base);
    return status;
}

static enum rsm_status node_check(const struct rsm_controller_info *info)
{
    struct tcp_options options;
    struct tcp_address address;
    if (!tcp_options_read(info, &options))
        return RSM_ST_INVALID;
    if (!find_address(info, &options, &address))
        return RSM_ST_NO_RESOURCES;
    warn_of_links(info, &options);
    return RSM_ST_OK;
}

static uint64_t max_descriptors(void)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : UINT32_MAX;
}

static void node_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    uint64_t memory = rsmcore_memory_size();
    *attr = (struct rsm_port_attr){
        .size = attr->size,
        .access_sizes = 1 | 2 | 4 | 8,
        .atomic_sizes = 1 | 2 | 4 | 8,
        .page_size = tcp_node_port_of(port)->page,
        .max_segment_size = memory,
        .total_segment_size = memory,
        .max_segments = max_descriptors(),
        .max_map_size = memory,
        .total_map_size = memory,
        .max_imports = UINT32_MAX,
        .hardware_address = 0,
    };
}

/* ------------------------------------------------------------------ extents */

static enum rsm_status node_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_make(tcp_node_port_of(port)->page, length, extent);
}

static enum rsm_status node_extent_adopt(struct rsm_node_port *port, int fd, uint64_t length,
                                         struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_adopt(tcp_node_port_of(port)->page, fd, length, extent);
}

/* By a predecessor, whose extents were made like these. */
static enum rsm_status node_extent_take(struct rsm_node_port *port, int fd, uint64_t length,
                                        struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_take(tcp_node_port_of(port)->page, fd, length, extent);
}

MODULE_SYMBOL const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = "tcp",
    .open = node_open,
    .check = node_check,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = node_extent_make,
    .extent_adopt = node_extent_adopt,
    .extent_take = node_extent_take,
    .extent_free = rsmcore_extent_memfd_free,
    .offer = tcp_node_offer,
    .offer_take = tcp_node_offer_take,
    .revoke = tcp_node_revoke,
    .event_fd = tcp_node_event_fd,
    .dispatch = tcp_node_dispatch,
    .signals = &tcp_node_signals,
    .revoke_begin = tcp_node_revoke_begin,
};
