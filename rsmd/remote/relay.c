/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "protocol/event_counter.h"
#include "base/status.h"
#include "node/counters.h"
#include "remote/internal.h"
#include "node/slice.h"

enum {
    QUEUED_MAX = 65536, /* bytes on the way to a node, beyond which events wait */
    QUEUED_PAUSE_MS = 5,
};

struct rsmd_relay {
    struct rsmd_node *node;
    struct rsmd_relay_target target;
    struct rsmd_events events; /* the counter for posters; has no doorbell */
    bool waits;                /* the link did not keep up, or the counter could not be mapped */
    struct rsm_signals left;   /* taken from the counter and not sent */
    bool under_way;            /* `sent` went over the fabric and has not been taken */
    struct rsm_signals sent;
    struct rsmd_relay *prev, *next; /* in `relays`, while it waits */
};

/* ------------------------------------------------------------------ sending on */

static bool is_something(const struct rsm_signals *signals)
{
    return signals->count > 0 || signals->coalesced;
}

static void send_by_link(const struct rsmd_relay *relay, const struct rsm_signals *signals)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_EVENT,
                                  .u.event = {.import = relay->target.id,
                                              .end = relay->target.end,
                                              .count = signals->count,
                                              .coalesced = signals->coalesced}};
    relay->node->events += signals->count + (signals->coalesced ? 1 : 0);
    rsmd_remote_send(relay->node, relay->target.remote, &msg);
}

/* Send to an importer whose transport carries signals. In the other direction the importing process
 * itself posts to its connection. */
static bool send_by_fabric(struct rsmd_relay *relay, const struct rsm_signals *signals)
{
    const struct rsmd_grant *grant = relay->target.grant;
    if (grant == NULL ||
        grant->by->ops->signals->send(grant->by->port, grant->made, signals) != RSM_ST_OK)
        return false;
    relay->under_way = true;
    relay->sent = *signals;
    relay->node->events += signals->count + (signals->coalesced ? 1 : 0);
    return true;
}

/* Take the events in the counter. While events wait a coalesced one does not count. False: the
 * counter cannot be mapped now. */
static bool collect(struct rsmd_relay *relay)
{
    struct rsm_signals *left = &relay->left;
    struct rsm_event_counter *counter = rsmd_events_map(&relay->events);
    if (counter == NULL)
        return false;
    struct rsm_signals more = rsm_event_counter_take(counter);
    rsmd_events_unmap(&relay->events, counter);
    uint32_t room = RSM_SIGNALS_MAX - left->count;
    left->coalesced = is_something(left) ? left->coalesced : more.coalesced;
    left->count += more.count < room ? more.count : room;
    return true;
}

/* All wait for one timer, which handles them in slices: there can be as many as connections. */
static void wait_in(const struct rsmd_remotes *hosts, int ms)
{
    const struct timeval pause = {.tv_usec = ms * 1000};
    if (!evtimer_pending(hosts->relays_go_on, NULL))
        evtimer_add(hosts->relays_go_on, &pause);
}

static void try_later(struct rsmd_relay *relay)
{
    struct rsmd_remotes *hosts = relay->node->hosts;
    if (!relay->waits) {
        relay->waits = true;
        DL_APPEND(hosts->relays, relay);
        hosts->relay_count++;
    }
    wait_in(hosts, QUEUED_PAUSE_MS);
}

static void wait_no_more(struct rsmd_relay *relay)
{
    struct rsmd_remotes *hosts = relay->node->hosts;
    if (!relay->waits)
        return;
    relay->waits = false;
    DL_DELETE(hosts->relays, relay);
    hosts->relay_count--;
}

static void send_on_or_wait(struct rsmd_relay *relay)
{
    const struct rsmd_remote_ops *carrier = &relay->node->hosts->carrier;
    if (relay->under_way) /* the importer has not taken the last ones */
        return;
    if (!collect(relay))
        try_later(relay);
    if (!is_something(&relay->left))
        return;
    if (!send_by_fabric(relay, &relay->left)) {
        if (carrier->queued(carrier->context, relay->target.remote->node) > QUEUED_MAX) {
            try_later(relay);
            return;
        }
        send_by_link(relay, &relay->left);
    }
    relay->left = (struct rsm_signals){.count = 0};
}

bool rsmd_relay_rung(struct rsmd_relay *relay)
{
    if (relay != NULL)
        send_on_or_wait(relay);
    return relay != NULL;
}

/* Try each waiting relay once. One that still has to wait comes last. */
static void on_pause_over(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    const struct rsmd_node *node = argument;
    struct rsmd_remotes *hosts = node->hosts;
    unsigned left = hosts->relay_count;
    int64_t until = rsmd_slice_end(node);
    for (; left > 0 && !rsmd_slice_is_over(until); left--) {
        struct rsmd_relay *relay = hosts->relays;
        wait_no_more(relay);
        send_on_or_wait(relay);
    }
    if (left == 0)
        return;
    evtimer_del(hosts->relays_go_on);
    wait_in(hosts, 0);
}

bool rsmd_relays_init(struct rsmd_node *node)
{
    node->hosts->relays_go_on = evtimer_new(node->hosts->base, on_pause_over, node);
    return node->hosts->relays_go_on != NULL;
}

void rsmd_relay_taken(struct rsmd_relay *relay)
{
    if (relay == NULL || !relay->under_way)
        return;
    relay->under_way = false;
    send_on_or_wait(relay);
}

void rsmd_relay_leave_fabric(struct rsmd_relay *relay)
{
    if (relay == NULL)
        return;
    const struct rsmd_grant *grant = relay->target.grant;
    relay->target.grant = NULL;
    if (relay->under_way && !grant->by->ops->signals->arrived(grant->by->port, grant->made))
        send_by_link(relay, &relay->sent);
    relay->under_way = false;
}

void rsmd_relay_flush(struct rsmd_relay *relay)
{
    if (relay == NULL)
        return;
    (void)collect(relay);
    if (is_something(&relay->left))
        send_by_link(relay, &relay->left);
}

/* ------------------------------------------------------------------ making */

static enum rsm_status make(struct rsmd_relay *relay)
{
    struct rsmd_account *account = relay->target.account;
    enum rsm_status status = rsmd_events_need_counter(account, &relay->events);
    if (status != RSM_ST_OK)
        return status;
    struct rsm_event_counter *counter = rsmd_events_map(&relay->events);
    if (counter == NULL)
        return rsmcore_status_from_errno(errno);
    counter->relay = 1;
    atomic_store(&counter->armed, 1);
    rsmd_events_unmap(&relay->events, counter);
    return RSM_ST_OK;
}

static void end(struct rsmd_relay *relay)
{
    wait_no_more(relay);
    rsmd_events_close(relay->target.account, &relay->events);
    free(relay);
}

enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_relay **relay,
                                const struct rsmd_relay_target *target,
                                const struct rsmd_events **events)
{
    if (*relay == NULL) {
        struct rsmd_relay *made = calloc(1, sizeof *made);
        if (made == NULL)
            return RSM_ST_NO_MEMORY;
        made->node = node;
        made->target = *target;
        rsmd_events_init(&made->events);
        enum rsm_status status = make(made);
        if (status != RSM_ST_OK) {
            end(made);
            return status;
        }
        *relay = made;
    }
    *events = &(*relay)->events;
    return RSM_ST_OK;
}

void rsmd_relay_free(struct rsmd_relay **relay)
{
    if (*relay == NULL)
        return;
    end(*relay);
    *relay = NULL;
}
