/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/node/window.h"

#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log.h"

/* Ranges behind the pool: also if nothing new is to be made there, an earlier daemon may have. */
static void begin_in_place(struct ntb_window *window, const struct ntb_options *options)
{
    const struct ntb_port_info *limits = &window->limits;
    uint64_t first = limits->pool_size, room = limits->pin_size;
    if (options->pin != 0 && options->pin < room)
        room = options->pin;
    ntb_allocator_begin_beside(&window->in_place, first, first + room, &window->allocator);
    window->pins = options->pin != 0 && window->in_place.end > window->in_place.first;
    window->pin_from = options->pin_from;
}

static void begin_shares(struct ntb_window *window)
{
    struct ntb_shares *shares = &window->shares;
    ntb_shares_begin(shares);
    shares->total[NTB_POOL] = window->allocator.end - window->allocator.first;
    shares->total[NTB_IN_PLACE] = window->in_place.end - window->in_place.first;
    shares->total[NTB_RANGES] = window->limits.extents_max;
    shares->total[NTB_COUNTERS] = NTB_CONNECTIONS;
}

void ntb_window_limit_users(struct rsm_node_port *port, const struct rsm_user_share *share)
{
    struct ntb_window *window = ntb_window_of(port);
    pthread_mutex_lock(&window->lock);
    window->shares.share = *share;
    pthread_mutex_unlock(&window->lock);
}

struct ntb_window *ntb_window_begin(struct ntb_port *port, uint32_t node,
                                    const struct ntb_options *options)
{
    struct ntb_window *window = calloc(1, sizeof *window);
    if (window == NULL)
        return NULL;
    struct ntb_port_info *limits = &window->limits;
    port->ops->info(port, limits);
    window->port = port;
    window->node = node;
    uint64_t end = limits->pool_size;
    if (options->pool != 0 && options->pool < end - limits->pool_first)
        end = limits->pool_first + options->pool;
    ntb_allocator_begin(&window->allocator, limits->pool_first, end, limits->granule,
                        limits->extents_max);
    begin_in_place(window, options);
    begin_shares(window);
    pthread_mutex_init(&window->lock, NULL);
    window->changed = true;
    ntb_extents_inherit(window);
    return window;
}

void ntb_window_end(struct ntb_window *window)
{
    struct ntb_extent *extent, *next;
    while (window->offers != NULL) {
        struct ntb_offer *offer = window->offers;
        DL_DELETE(window->offers, offer);
        free(offer);
    }
    HASH_CLEAR(hh, window->by_id);
    DL_FOREACH_SAFE(window->extents, extent, next)
    {
        /* The port's close() ends what is pinned, the last descriptor the memory. */
        if (extent->in_place && !extent->given_up)
            close(extent->base.fd);
        free(extent);
    }
    ntb_allocator_end(&window->in_place);
    ntb_allocator_end(&window->allocator);
    ntb_shares_end(&window->shares);
    window->port->ops->close(window->port);
    pthread_mutex_destroy(&window->lock);
    free(window);
}

static void on_event(struct ntb_window *window, const struct ntb_port_event *event)
{
    switch (event->type) {
    case NTB_PORT_QUARANTINED:
    case NTB_PORT_FREE:
        ntb_extent_event(window, event);
        break;
    case NTB_PORT_GONE:
        window->gone = true;
        window->changed = true;
        break;
    case NTB_PORT_LOST:
        window->lost = true;
        window->ended = true;
        window->changed = true;
        break;
    case NTB_PORT_DOWN:
        window->ended = true;
        window->changed = true;
        break;
    default:
        window->changed = true;
    }
}

void ntb_window_pump(struct ntb_window *window)
{
    struct ntb_port_event event;
    pthread_mutex_lock(&window->lock);
    for (bool more = true; more;) {
        while (window->port->ops->next(window->port, &event))
            on_event(window, &event);
        if (window->lost)
            ntb_extents_resync(window);
        more = ntb_extents_settle(window);
    }
    pthread_mutex_unlock(&window->lock);
}

/* A number that two sessions never share, also when this daemon is another one. */
static uint64_t epoch_of(const struct ntb_port_info *info)
{
    return ((uint64_t)info->peer_generation << 32 | info->peer_sequence) ^
           ((uint64_t)info->sequence << 40) ^ ((uint64_t)info->epoch << 16);
}

void ntb_window_report(struct ntb_window *window, const struct rsm_node_upcalls *up, void *context)
{
    struct ntb_port_info info;
    pthread_mutex_lock(&window->lock);
    bool changed = window->changed, ended = window->ended, gone = window->gone;
    window->changed = window->ended = false;
    pthread_mutex_unlock(&window->lock);
    if (!changed)
        return;
    window->port->ops->info(window->port, &info);
    uint32_t node = info.epoch != 0 && !gone ? info.peer_node : 0;
    if (node == window->node && node != 0) {
        rsm_log_error("ntb: the other host has the node id of this one, %u: give each host its own",
                      (unsigned)node);
        node = 0;
    }
    uint64_t epoch = epoch_of(&info);
    bool other = node != window->reported_node || epoch != window->reported_epoch;
    if (window->reported_node != 0 && (ended || other))
        up->node_state(context, &window->base, window->reported_node, false, 0);
    window->reported_node = node;
    window->reported_epoch = epoch;
    if (node != 0 && (ended || other))
        up->node_state(context, &window->base, node, true, epoch);
}
