/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport `best`, node half: one port of each part. One of them, the maker, makes the
 * extents, and the others adopt them when they first offer them. An offer is its part's, which is
 * found by the offer's port. */
#include "transport/best.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/instance.h"
#include "transport/registry.h"

struct part {
    const struct rsm_node_ops *ops;
    struct rsm_node_port *port;
};

struct best_port {
    struct rsm_node_port base;
    unsigned count;
    struct part parts[RSMCORE_BEST_PARTS]; /* those that opened, in their order */
    unsigned maker;
    int events; /* an epoll instance of the parts' descriptors */
};

struct best_extent {
    struct rsm_extent base; /* as the maker's */
    struct rsm_extent *of_part[RSMCORE_BEST_PARTS];
};

static struct best_port *port_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct best_port, base);
}

static struct best_extent *extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct best_extent, base);
}

static const struct part *maker_of(struct rsm_node_port *base)
{
    const struct best_port *port = port_of(base);
    return &port->parts[port->maker];
}

/* ------------------------------------------------------------------ port */

static void close_port(struct rsm_node_port *base)
{
    struct best_port *port = port_of(base);
    while (port->count > 0) {
        const struct part *part = &port->parts[--port->count];
        part->ops->close(part->port);
    }
    if (port->events >= 0)
        close(port->events);
    free(port);
}

/* Whether a transport can be a part: it reaches other hosts by memory that others may adopt, and
 * its offers are what this version knows. */
static bool can_be_part(const struct rsm_node_ops *ops, const struct rsm_node_port *port)
{
    const uint32_t needed = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS;
    return (port->caps & needed) == needed && (port->caps & RSM_NODE_REPORTS_NODES) == 0 &&
           ops->imports == NULL && ops->offer_size >= sizeof(struct rsm_node_offer) &&
           ops->extent_size >= sizeof(struct rsm_extent);
}

static enum rsm_status open_part(const struct rsm_controller_info *info, struct part *part)
{
    enum rsm_status status = rsmcore_node_port_open(part->ops, info, &part->port);
    if (status != RSM_ST_OK || can_be_part(part->ops, part->port))
        return status;
    rsm_log_error("the transport %s cannot be part of the transport %s", part->ops->name,
                  RSMCORE_BEST_NAME);
    part->ops->close(part->port);
    return RSM_ST_UNSUPPORTED;
}

static bool watch(const struct best_port *port, const struct part *part)
{
    int fd = part->ops->event_fd(part->port);
    struct epoll_event event = {.events = EPOLLIN};
    return fd < 0 || epoll_ctl(port->events, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* The first part that pins memory makes the extents, because it would take long to adopt them. */
static void choose_maker(struct best_port *port)
{
    uint32_t of_all = RSM_NODE_ANY_THREAD, of_maker = 0;
    for (unsigned i = 0; i < port->count; i++) {
        const uint32_t caps = port->parts[i].port->caps;
        of_all &= caps;
        if (i > 0 && (of_maker & RSM_NODE_EXTENTS_PINNED) >= (caps & RSM_NODE_EXTENTS_PINNED))
            continue;
        port->maker = i;
        of_maker = caps;
    }
    port->base.caps = of_all | (of_maker & ~RSM_NODE_ANY_THREAD);
}

/* Open what can be opened. The status is that of the first part that could not, if there is none
 * that could. */
static enum rsm_status open_parts(struct best_port *port, const struct rsm_controller_info *info,
                                  const struct rsmcore_best_options *options)
{
    enum rsm_status first = RSM_ST_UNSUPPORTED;
    for (unsigned i = 0; i < options->count; i++) {
        const struct rsm_controller_info own = rsmcore_best_info(info, &options->parts[i]);
        struct part *part = &port->parts[port->count];
        part->ops = rsmcore_transport_node(options->parts[i].transport);
        enum rsm_status status = part->ops != NULL ? open_part(&own, part) : RSM_ST_UNSUPPORTED;
        if (status == RSM_ST_NO_MEMORY)
            return status;
        if (status != RSM_ST_OK) {
            first = i == 0 ? status : first;
            continue;
        }
        port->count++;
        if (!watch(port, part))
            return rsmcore_status_from_errno(errno);
        rsm_log_info("controller %s: transport %s is part of it", info->name, part->ops->name);
    }
    return port->count > 0 ? RSM_ST_OK : first;
}

static enum rsm_status open_port(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    struct rsmcore_best_options options;
    if (!rsmcore_best_read(info, &options))
        return RSM_ST_INVALID;
    struct best_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->events = rsmcore_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    enum rsm_status status =
        made->events >= 0 ? open_parts(made, info, &options) : rsmcore_status_from_errno(errno);
    if (status != RSM_ST_OK) {
        close_port(&made->base);
        return status;
    }
    choose_maker(made);
    *port = &made->base;
    return RSM_ST_OK;
}

/* Usable, if one part is: the others leave their lines in the log. */
static enum rsm_status check(const struct rsm_controller_info *info)
{
    struct rsmcore_best_options options;
    enum rsm_status result = RSM_ST_UNSUPPORTED;
    if (!rsmcore_best_read(info, &options))
        return RSM_ST_INVALID;
    for (unsigned i = 0; i < options.count; i++) {
        const struct rsm_controller_info own = rsmcore_best_info(info, &options.parts[i]);
        const struct rsm_node_ops *ops = rsmcore_transport_node(options.parts[i].transport);
        if (ops == NULL)
            continue;
        enum rsm_status status = ops->check != NULL ? ops->check(&own) : RSM_ST_OK;
        if (status == RSM_ST_INVALID)
            return status;
        if (status == RSM_ST_OK || result == RSM_ST_UNSUPPORTED)
            result = status;
    }
    return result;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What holds for all parts. */
static void attributes(struct rsm_node_port *base, struct rsm_port_attr *attr)
{
    const struct best_port *port = port_of(base);
    const struct part *first = &port->parts[0];
    first->ops->attributes(first->port, attr);
    for (unsigned i = 1; i < port->count; i++) {
        struct rsm_port_attr of_part = {.size = attr->size};
        port->parts[i].ops->attributes(port->parts[i].port, &of_part);
        attr->access_sizes &= of_part.access_sizes;
        attr->atomic_sizes &= of_part.atomic_sizes;
        if (of_part.page_size > attr->page_size)
            attr->page_size = of_part.page_size;
        attr->max_segment_size = smaller(attr->max_segment_size, of_part.max_segment_size);
        attr->total_segment_size = smaller(attr->total_segment_size, of_part.total_segment_size);
        attr->max_segments = smaller(attr->max_segments, of_part.max_segments);
        attr->max_map_size = smaller(attr->max_map_size, of_part.max_map_size);
        attr->total_map_size = smaller(attr->total_map_size, of_part.total_map_size);
        attr->max_imports = smaller(attr->max_imports, of_part.max_imports);
    }
    attr->hardware_address = 0; /* the node's number, which is the same on all fabrics */
}

static void limit_users(struct rsm_node_port *base, const struct rsm_user_share *share)
{
    const struct best_port *port = port_of(base);
    for (unsigned i = 0; i < port->count; i++)
        port->parts[i].ops->limit_users(port->parts[i].port, share);
}

/* ------------------------------------------------------------------ extents */

/* @p memory is the maker's, and is given up if there is no memory for this. */
static enum rsm_status enclose(struct rsm_node_port *base, struct rsm_extent *memory,
                               struct rsm_extent **extent)
{
    const struct part *maker = maker_of(base);
    struct best_extent *made = calloc(1, sizeof *made);
    if (made == NULL) {
        maker->ops->extent_free(maker->port, memory);
        return RSM_ST_NO_MEMORY;
    }
    made->base = *memory;
    made->of_part[port_of(base)->maker] = memory;
    *extent = &made->base;
    return RSM_ST_OK;
}

static enum rsm_status extent_make(struct rsm_node_port *base, uint64_t length,
                                   struct rsm_extent **extent)
{
    const struct part *maker = maker_of(base);
    struct rsm_extent *memory;
    enum rsm_status status = maker->ops->extent_make(maker->port, length, &memory);
    return status == RSM_ST_OK ? enclose(base, memory, extent) : status;
}

static enum rsm_status extent_make_for(struct rsm_node_port *base,
                                       const struct rsm_extent_request *request,
                                       struct rsm_extent **extent)
{
    const struct part *maker = maker_of(base);
    struct rsm_extent *memory;
    enum rsm_status status = maker->ops->extent_make_for(maker->port, request, &memory);
    return status == RSM_ST_OK ? enclose(base, memory, extent) : status;
}

/* The maker's goes last: its descriptor is that of the others. */
static void extent_free(struct rsm_node_port *base, struct rsm_extent *extent)
{
    const struct best_port *port = port_of(base);
    const struct part *maker = maker_of(base);
    struct best_extent *own = extent_of(extent);
    for (unsigned i = 0; i < port->count; i++)
        if (own->of_part[i] != NULL && i != port->maker)
            port->parts[i].ops->extent_free(port->parts[i].port, own->of_part[i]);
    maker->ops->extent_free(maker->port, own->of_part[port->maker]);
    free(own);
}

/* The pieces as a part knows them. */
static enum rsm_status pieces_of(const struct best_port *port, unsigned part,
                                 const struct rsm_extent_piece *pieces, unsigned count,
                                 struct rsm_extent_piece *own)
{
    for (unsigned i = 0; i < count; i++) {
        struct best_extent *extent = extent_of(pieces[i].extent);
        struct rsm_extent **memory = &extent->of_part[part];
        enum rsm_status status = RSM_ST_OK;
        if (*memory == NULL)
            status = port->parts[part].ops->extent_adopt(port->parts[part].port, extent->base.fd,
                                                         extent->base.length, memory);
        if (status != RSM_ST_OK)
            return status;
        own[i] = pieces[i];
        own[i].extent = *memory;
    }
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ offers */

/* The first part that the importer has, too. An importer on this host may name none. */
static bool choose(const struct best_port *port, const struct rsm_importer *importer,
                   unsigned *part, struct rsmcore_best_asked *asked)
{
    for (*part = 0; *part < port->count; ++*part)
        if (rsmcore_best_asked_find(importer->request, importer->request_len,
                                    port->parts[*part].ops->name, asked))
            return true;
    *part = 0;
    asked->length = 0;
    return importer->local;
}

static enum rsm_status offer(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                             unsigned count, uint32_t rights, const struct rsm_importer *importer,
                             struct rsm_offer *offered, struct rsm_node_offer **made)
{
    const struct best_port *port = port_of(base);
    struct rsm_extent_piece own[RSM_OFFER_MAX_FDS];
    struct rsmcore_best_asked asked;
    unsigned chosen;
    if (count > RSM_OFFER_MAX_FDS)
        return RSM_ST_INVALID;
    if (!choose(port, importer, &chosen, &asked))
        return RSM_ST_NO_ROUTE;
    const struct part *part = &port->parts[chosen];
    struct rsm_importer of_part = *importer;
    of_part.request_len = asked.length;
    of_part.request = asked.length > 0 ? asked.data : NULL;
    enum rsm_status status = pieces_of(port, chosen, pieces, count, own);
    if (status == RSM_ST_OK)
        status = part->ops->offer(part->port, own, count, rights, &of_part, offered, made);
    if (status != RSM_ST_OK || rsmcore_best_wrap(offered, part->ops->name))
        return status;
    part->ops->revoke(part->port, *made);
    return RSM_ST_NO_RESOURCES;
}

static void end_offer(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    (void)base;
    made->port->ops->revoke(made->port, made);
}

static bool revoke_begin(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    (void)base;
    const struct rsm_node_ops *ops = made->port->ops;
    if (ops->revoke_begin != NULL)
        return ops->revoke_begin(made->port, made);
    ops->revoke(made->port, made);
    return true;
}

/* ------------------------------------------------------------------ events */

static int event_fd(struct rsm_node_port *port)
{
    return port_of(port)->events;
}

/* A part whose link is down loses its own connections. It is still offered: an importer that cannot
 * connect by it asks for the others alone, see rsmcore_best_failed(). */
static void dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up, void *context)
{
    const struct best_port *port = port_of(base);
    for (unsigned i = 0; i < port->count; i++)
        if (port->parts[i].ops->event_fd(port->parts[i].port) >= 0)
            port->parts[i].ops->dispatch(port->parts[i].port, up, context);
}

static enum rsm_status send_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                                    const struct rsm_signals *signals)
{
    (void)base;
    const struct rsm_node_signal_ops *ops = made->port->ops->signals;
    return ops != NULL ? ops->send(made->port, made, signals) : RSM_ST_UNSUPPORTED;
}

static bool signals_arrived(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    (void)base;
    const struct rsm_node_signal_ops *ops = made->port->ops->signals;
    return ops != NULL && ops->arrived(made->port, made);
}

static void collect_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                            struct rsm_signals *posted)
{
    (void)base;
    const struct rsm_node_signal_ops *ops = made->port->ops->signals;
    *posted = (struct rsm_signals){0, false};
    if (ops != NULL)
        ops->collect(made->port, made, posted);
}

static const struct rsm_node_signal_ops signals = {
    .size = sizeof signals,
    .send = send_signals,
    .arrived = signals_arrived,
    .collect = collect_signals,
};

const struct rsm_node_ops rsmcore_best_node_ops = {
    RSM_NODE_OPS_HEAD,
    .name = RSMCORE_BEST_NAME,
    .open = open_port,
    .check = check,
    .close = close_port,
    .attributes = attributes,
    .extent_make = extent_make,
    .extent_make_for = extent_make_for,
    .limit_users = limit_users,
    .extent_free = extent_free,
    .offer = offer,
    .revoke = end_offer,
    .revoke_begin = revoke_begin,
    .event_fd = event_fd,
    .dispatch = dispatch,
    .signals = &signals,
};
