/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/remote/relay.h"
#include "base/descriptor.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/event_counter.h"
#include "base/status.h"
#include "node/events.h"
#include "node/remote/internal.h"

enum {
    RELAY_DESCRIPTORS = 3,
    QUEUED_MAX = 65536, /* bytes on the way to a node, beyond which events wait */
    QUEUED_PAUSE_MS = 5,
};

struct rsmd_relay {
    struct rsmd_node *node;
    struct rsmd_import *import;
    struct rsmd_events events; /* what posters get */
    struct rsm_event_counter *counter;
    int rung; /* read end of the pipe */
    struct event *readable;
    struct event *again;     /* timer: the link did not keep up */
    struct rsm_signals left; /* taken from the counter and not sent */
    bool under_way;          /* `sent` went by the fabric and has not been taken */
    struct rsm_signals sent;
};

/* ------------------------------------------------------------------ sending on */

static bool is_something(const struct rsm_signals *signals)
{
    return signals->count > 0 || signals->coalesced;
}

static void send_by_link(const struct rsmd_relay *relay, const struct rsm_signals *signals)
{
    const struct rsmd_import *import = relay->import;
    bool to_export = import->there.id != 0;
    struct rsm_cluster_msg msg = {
        .type = RSM_CLUSTER_EVENT,
        .u.event = {.import = to_export ? import->there.id : import->id,
                    .end = to_export ? RSM_EVENT_EXPORT : RSM_EVENT_IMPORT,
                    .count = signals->count,
                    .coalesced = signals->coalesced}};
    relay->node->events += signals->count + (signals->coalesced ? 1 : 0);
    rsmd_remote_send(relay->node, import->remote, &msg);
}

/* To an importer, where its transport carries signals. The other direction is for the importing
 * process itself, which posts to its own connection. */
static bool send_by_fabric(struct rsmd_relay *relay, const struct rsm_signals *signals)
{
    const struct rsmd_import *import = relay->import;
    const struct rsmd_controller *by = import->by;
    if (import->made == NULL ||
        by->ops->signals->send(by->port, import->made, signals) != RSM_ST_OK)
        return false;
    relay->under_way = true;
    relay->sent = *signals;
    relay->node->events += signals->count + (signals->coalesced ? 1 : 0);
    return true;
}

/* Behind events that wait a coalesced one never counts. */
static bool find_some(struct rsmd_relay *relay)
{
    struct rsm_signals *left = &relay->left;
    struct rsm_signals more = rsm_event_counter_take(relay->counter);
    uint32_t room = RSM_SIGNALS_MAX - left->count;
    left->coalesced = is_something(left) ? left->coalesced : more.coalesced;
    left->count += more.count < room ? more.count : room;
    return is_something(left);
}

static void send_on_or_wait(struct rsmd_relay *relay)
{
    const struct rsmd_remote_ops *carrier = &relay->node->hosts->carrier;
    const struct timeval pause = {.tv_usec = QUEUED_PAUSE_MS * 1000};
    if (relay->under_way || !find_some(relay)) /* the importer is not at it */
        return;
    if (!send_by_fabric(relay, &relay->left)) {
        if (carrier->queued(carrier->context, relay->import->remote->node) > QUEUED_MAX) {
            event_add(relay->again, &pause);
            return;
        }
        send_by_link(relay, &relay->left);
    }
    relay->left = (struct rsm_signals){.count = 0};
}

static void on_doorbell(evutil_socket_t fd, short what, void *argument)
{
    (void)what;
    char bytes[256];
    /* Before the counter is looked at, so that who posts afterwards kicks again. What a pipe full
     * of kicks leaves here brings us back. */
    ssize_t ignored = read(fd, bytes, sizeof bytes);
    (void)ignored;
    send_on_or_wait(argument);
}

static void on_pause_over(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    send_on_or_wait(argument);
}

void rsmd_relay_taken(struct rsmd_import *import)
{
    struct rsmd_relay *relay = import->relay;
    if (relay == NULL || !relay->under_way)
        return;
    relay->under_way = false;
    send_on_or_wait(relay);
}

void rsmd_relay_leave_fabric(struct rsmd_import *import)
{
    struct rsmd_relay *relay = import->relay;
    const struct rsmd_controller *by = import->by;
    if (relay == NULL || !relay->under_way)
        return;
    relay->under_way = false;
    if (!by->ops->signals->arrived(by->port, import->made))
        send_by_link(relay, &relay->sent);
}

void rsmd_relay_flush(struct rsmd_import *import)
{
    if (import->relay != NULL && find_some(import->relay))
        send_by_link(import->relay, &import->relay->left);
}

/* ------------------------------------------------------------------ making */

static enum rsm_status open_cell(struct rsmd_relay *relay)
{
    enum rsm_status status = rsmd_event_counter_create(&relay->events.counter);
    if (status != RSM_ST_OK)
        return status;
    relay->counter = rsm_event_counter_map(relay->events.counter);
    if (relay->counter == NULL)
        return rsmcore_status_from_errno(errno);
    relay->counter->relay = 1;
    atomic_store(&relay->counter->armed, 1);
    return RSM_ST_OK;
}

static enum rsm_status open_pipe(struct rsmd_relay *relay)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return rsmcore_status_from_errno(errno);
    relay->rung = rsmcore_fd_above_stdio(ends[0]);
    relay->events.pipe = rsmcore_fd_above_stdio(ends[1]);
    return relay->rung >= 0 && relay->events.pipe >= 0 ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

static enum rsm_status watch(struct rsmd_relay *relay)
{
    struct event_base *base = relay->node->hosts->base;
    relay->readable = event_new(base, relay->rung, EV_READ | EV_PERSIST, on_doorbell, relay);
    relay->again = evtimer_new(base, on_pause_over, relay);
    bool watched =
        relay->readable != NULL && relay->again != NULL && event_add(relay->readable, NULL) == 0;
    return watched ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void end(struct rsmd_relay *relay)
{
    if (relay->readable != NULL)
        event_free(relay->readable);
    if (relay->again != NULL)
        event_free(relay->again);
    if (relay->counter != NULL)
        rsm_event_counter_unmap(relay->counter);
    close_fd(relay->events.counter);
    close_fd(relay->events.pipe);
    close_fd(relay->rung);
    rsmd_share_give(relay->import->account, RSMD_DESCRIPTORS, RELAY_DESCRIPTORS);
    free(relay);
}

enum rsm_status rsmd_relay_need(struct rsmd_node *node, struct rsmd_import *import)
{
    if (import->relay != NULL)
        return RSM_ST_OK;
    if (!rsmd_share_take(import->account, RSMD_DESCRIPTORS, RELAY_DESCRIPTORS))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL) {
        rsmd_share_give(import->account, RSMD_DESCRIPTORS, RELAY_DESCRIPTORS);
        return RSM_ST_NO_MEMORY;
    }
    relay->node = node;
    relay->import = import;
    relay->rung = -1;
    rsmd_events_init(&relay->events);
    enum rsm_status status = open_cell(relay);
    if (status == RSM_ST_OK)
        status = open_pipe(relay);
    if (status == RSM_ST_OK)
        status = watch(relay);
    if (status != RSM_ST_OK) {
        end(relay);
        return status;
    }
    import->relay = relay;
    return RSM_ST_OK;
}

const struct rsmd_events *rsmd_relay_events(const struct rsmd_import *import)
{
    return &import->relay->events;
}

void rsmd_relay_free(struct rsmd_import *import)
{
    if (import->relay == NULL)
        return;
    end(import->relay);
    import->relay = NULL;
}
