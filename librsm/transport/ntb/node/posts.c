/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals of importers of the other host. A connection has a counter in this host's pool, which the
 * importer's process (over a kernel module: the module there) writes before it rings. No daemon of
 * the other host has a part in that.
 *
 * A counter belongs to a connection from the offer until the other host has released it, so that no
 * process that is late writes into another connection's. What it has at the beginning was left by a
 * connection before and counts for nothing.
 */
#include <stdlib.h>

#include "base/log.h"
#include "transport/ntb/node/window.h"

/* Words that are read at once. */
enum { AT_ONCE = 256 };

static bool read_words(const struct ntb_window *window, uint32_t first, uint32_t count,
                       uint64_t *words)
{
    return window->port->ops->posts(window->port, first, count, words);
}

static bool take_share(struct ntb_window *window, const struct ntb_offer *offer)
{
    const struct ntb_user user = {.node = offer->node, .uid = offer->uid};
    pthread_mutex_lock(&window->lock);
    bool taken = ntb_share_take(&window->shares, user, NTB_COUNTERS, 1);
    pthread_mutex_unlock(&window->lock);
    return taken;
}

static void give_share(struct ntb_window *window, const struct ntb_offer *offer)
{
    const struct ntb_user user = {.node = offer->node, .uid = offer->uid};
    pthread_mutex_lock(&window->lock);
    ntb_share_give(&window->shares, user, NTB_COUNTERS, 1);
    pthread_mutex_unlock(&window->lock);
}

void ntb_posts_claim(struct ntb_window *window, struct ntb_offer *offer,
                     const struct ntb_port_info *info)
{
    uint32_t connection = window->connections_free;
    offer->connection = NTB_NO_CONNECTION;
    if (!info->posts || !info->peer_posts)
        return;
    while (connection < window->connections_end && window->connections[connection] != NULL)
        connection++;
    window->connections_free = connection;
    if (connection == NTB_CONNECTIONS || !read_words(window, connection, 1, &offer->counted) ||
        !take_share(window, offer))
        return;
    offer->connection = connection;
    window->connections[connection] = offer;
    window->connections_free++;
    if (connection == window->connections_end)
        window->connections_end++;
}

void ntb_posts_drop(struct ntb_window *window, struct ntb_offer *offer)
{
    if (offer->connection == NTB_NO_CONNECTION)
        return;
    give_share(window, offer);
    window->connections[offer->connection] = NULL;
    if (offer->connection < window->connections_free)
        window->connections_free = offer->connection;
    offer->connection = NTB_NO_CONNECTION;
    while (window->connections_end > 0 && window->connections[window->connections_end - 1] == NULL)
        window->connections_end--;
}

static struct rsm_signals take(struct ntb_offer *offer, uint64_t word)
{
    struct rsm_signals posted;
    if (!ntb_posts_between(offer->counted, word, &posted) && !offer->complained) {
        offer->complained = true;
        rsm_log_warning("ntb: node %u posts by a counter that goes backwards: its signals on this "
                        "connection are ignored until it counts on",
                        (unsigned)offer->node);
    }
    offer->counted = word;
    return posted;
}

/* The coalesced one came first; by the upcall the offer may have been revoked, but it stays in its
 * place until the other host has released it. */
static void report(struct ntb_offer *offer, const struct rsm_signals *posted,
                   const struct rsm_node_upcalls *up, void *context)
{
    if (posted->coalesced)
        up->signalled(context, &offer->base, 1, true);
    if (posted->count > 0 && !offer->revoked)
        up->signalled(context, &offer->base, posted->count, false);
}

void ntb_posts_report(struct ntb_window *window, const struct rsm_node_upcalls *up, void *context)
{
    uint64_t words[AT_ONCE];
    for (uint32_t first = 0; first < window->connections_end; first += AT_ONCE) {
        uint32_t left = window->connections_end - first;
        uint32_t count = left < AT_ONCE ? left : AT_ONCE;
        if (!read_words(window, first, count, words))
            return;
        for (uint32_t i = 0; i < count; i++) {
            struct ntb_offer *offer = window->connections[first + i];
            if (offer == NULL || offer->revoked || words[i] == offer->counted)
                continue;
            const struct rsm_signals posted = take(offer, words[i]);
            report(offer, &posted, up, context);
        }
    }
}

/* The other direction is for the daemons. */
static enum rsm_status send_signals(struct rsm_node_port *port, struct rsm_node_offer *made,
                                    const struct rsm_signals *signals)
{
    (void)port, (void)made, (void)signals;
    return RSM_ST_UNSUPPORTED;
}

static bool signals_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return false;
}

static void collect(struct rsm_node_port *port, struct rsm_node_offer *made,
                    struct rsm_signals *posted)
{
    const struct ntb_window *window = ntb_window_of(port);
    struct ntb_offer *offer = RSM_CONTAINER_OF(made, struct ntb_offer, base);
    uint64_t word;
    *posted = (struct rsm_signals){.count = 0};
    if (offer->connection != NTB_NO_CONNECTION && !offer->revoked &&
        read_words(window, offer->connection, 1, &word))
        *posted = take(offer, word);
}

const struct rsm_node_signal_ops ntb_node_signal_ops = {
    .size = sizeof(struct rsm_node_signal_ops),
    .send = send_signals,
    .arrived = signals_arrived,
    .collect = collect,
};
