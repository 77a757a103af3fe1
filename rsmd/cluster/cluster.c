/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "cluster/cluster.h"

#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "cluster/internal.h"

enum { JOBS_PER_NODE = 3 }; /* of the resolver: to call it, to check it, and to identify a caller */

/* ------------------------------------------------------------------ links */

struct rsmd_link *rsmd_link_to(const struct rsmd_cluster *cluster, uint32_t node)
{
    uint32_t low = 0, high = cluster != NULL ? cluster->link_count : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cluster->links[middle]->node->id == node)
            return cluster->links[middle];
        if (cluster->links[middle]->node->id < node)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ------------------------------------------------------------------ events */

/* How long this daemon was not scheduled. On a busy or suspended host that can exceed the time that
 * other daemons wait. Less than the time between two PINGs does not matter. */
static int64_t time_without_turn(const struct rsmd_cluster *cluster, int64_t now)
{
    int64_t timeout = cluster->self.conf->peer_timeout_ms;
    int64_t since = now - cluster->ticked_at;
    return since > timeout / RSMD_PINGS_PER_TIMEOUT ? since - timeout / RSMD_TICKS_PER_TIMEOUT : 0;
}

static void on_tick(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_cluster *cluster = argument;
    int64_t now = rsm_clock_ms();
    int64_t deaf = time_without_turn(cluster, now);
    for (uint32_t i = 0; i < cluster->link_count; i++)
        rsmd_link_tick(cluster->links[i], now, deaf);
    if (cluster->tls != NULL)
        rsmd_tls_remind(cluster->tls, now);
    cluster->ticked_at = now;
}

static void reap(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_cluster *cluster = argument;
    while (cluster->over != NULL) {
        struct rsmd_tcp *conn = cluster->over;
        cluster->over = conn->over_next;
        if (conn->link != NULL) {
            rsmd_link_lost(conn->link, conn);
        } else {
            rsmd_listener_release(conn);
        }
        rsmd_tcp_free(conn);
    }
}

/* ------------------------------------------------------------------ start and stop */

/* Whether other nodes call this one. */
static bool is_called(const struct rsmd_cluster *cluster)
{
    return cluster->link_count > 0 &&
           (cluster->self.on_demand || cluster->links[0]->node->id < cluster->self.node);
}

static bool is_linked(const struct rsmd_cluster *cluster, const struct rsmd_conf_node *node)
{
    return node->id != cluster->self.node && node->address[0] != '\0';
}

static bool make_links(struct rsmd_cluster *cluster)
{
    const struct rsmd_conf *conf = cluster->self.conf;
    cluster->links = calloc(conf->node_count, sizeof(struct rsmd_link *));
    if (cluster->links == NULL)
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < conf->node_count; i++)
        count += is_linked(cluster, conf->nodes[i]);
    cluster->self.on_demand = count >= conf->permanent_links;
    for (uint32_t i = 0; i < conf->node_count; i++) {
        if (!is_linked(cluster, conf->nodes[i]))
            continue;
        struct rsmd_link *link = rsmd_link_new(cluster, conf->nodes[i]);
        if (link == NULL)
            return false;
        cluster->links[cluster->link_count++] = link;
    }
    return true;
}

static bool make_events(struct rsmd_cluster *cluster)
{
    int ms = (int)(cluster->self.conf->peer_timeout_ms / RSMD_TICKS_PER_TIMEOUT);
    struct rsmd_worker_limits limits = rsmd_worker_single;
    limits.waiting += JOBS_PER_NODE * cluster->self.conf->node_count;
    struct timeval tick = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    cluster->tick = event_new(cluster->base, -1, EV_PERSIST, on_tick, cluster);
    cluster->ticked_at = rsm_clock_ms();
    cluster->reaper = evtimer_new(cluster->base, reap, cluster);
    cluster->resolver = rsmd_worker_new(cluster->base, &limits);
    return cluster->tick != NULL && cluster->reaper != NULL && cluster->resolver != NULL &&
           event_add(cluster->tick, &tick) == 0;
}

static bool start(struct rsmd_cluster *cluster, const char *library, char *why, size_t why_size)
{
    snprintf(why, why_size, "cannot start the links to other nodes: out of memory");
    if (getrandom(&cluster->self.incarnation, sizeof cluster->self.incarnation, 0) < 0) {
        snprintf(why, why_size, "there are no random numbers");
        return false;
    }
    cluster->auth = rsmd_auth_start(cluster->base, cluster->self.conf, library, why, why_size);
    if (cluster->auth == NULL)
        return false;
    snprintf(why, why_size, "cannot start the links to other nodes: out of memory");
    if (cluster->self.conf->auth == RSMD_AUTH_TLS &&
        (cluster->tls = rsmd_tls_start(cluster)) == NULL)
        return false;
    return make_events(cluster) && make_links(cluster) &&
           (!is_called(cluster) || rsmd_listener_start(cluster));
}

struct rsmd_cluster *rsmd_cluster_start(struct event_base *base, const struct rsmd_conf *conf,
                                        uint32_t own, const struct rsmd_cluster_user *user,
                                        const char *library, char *why, size_t why_size)
{
    struct rsmd_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    const struct rsmd_conf_node *self = rsmd_conf_node(conf, own);
    cluster->base = base;
    cluster->self = (struct rsmd_self){.node = own, .conf = conf};
    cluster->user = *user;
    cluster->listener.socket = -1;
    if (!rsmd_conf_has_address(conf))
        return cluster;
    if (self == NULL || self->address[0] == '\0') {
        rsm_log_warning("node %u has no address in the configuration: it has no links to others",
                        (unsigned)own);
        return cluster;
    }
    if (start(cluster, library, why, why_size))
        return cluster;
    rsmd_cluster_stop(cluster);
    return NULL;
}

void rsmd_cluster_set_same_host(struct rsmd_cluster *cluster,
                                rsmd_cluster_is_same_host *is_neighbour, void *context)
{
    cluster->is_neighbour = is_neighbour;
    cluster->neighbour_context = context;
}

/* The links are in ascending order. */
static bool insert(struct rsmd_cluster *cluster, struct rsmd_link *link)
{
    uint32_t at = cluster->link_count;
    struct rsmd_link **grown =
        realloc(cluster->links, ((size_t)cluster->link_count + 1) * sizeof(struct rsmd_link *));
    if (grown == NULL)
        return false;
    cluster->links = grown;
    for (; at > 0 && grown[at - 1]->node->id > link->node->id; at--)
        grown[at] = grown[at - 1];
    grown[at] = link;
    cluster->link_count++;
    return true;
}

bool rsmd_cluster_add(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node)
{
    if (cluster == NULL || cluster->auth == NULL)
        return false;
    struct rsmd_link *link = rsmd_link_new(cluster, node);
    if (link == NULL)
        return false;
    if (!insert(cluster, link)) {
        rsmd_link_free(link);
        return false;
    }
    rsmd_worker_widen(cluster->resolver, JOBS_PER_NODE);
    rsmd_auth_widen(cluster->auth);
    rsmd_demand_decide(cluster);
    if (!is_called(cluster) || rsmd_listener_widen(cluster))
        return true;
    rsm_log_error("cannot listen for other nodes: out of memory");
    return true; /* the link itself exists */
}

void rsmd_cluster_moved(struct rsmd_cluster *cluster, uint32_t node)
{
    struct rsmd_link *link = rsmd_link_to(cluster, node);
    if (link != NULL)
        rsmd_link_moved(link);
}

void rsmd_cluster_reload(struct rsmd_cluster *cluster)
{
    if (cluster == NULL || cluster->auth == NULL)
        return;
    if (cluster->tls != NULL)
        rsmd_tls_reload(cluster->tls);
    rsmd_demand_decide(cluster);
    if (is_called(cluster) && !rsmd_listener_widen(cluster))
        rsm_log_error("cannot listen for other nodes: out of memory");
}

void rsmd_cluster_count(const struct rsmd_cluster *cluster, uint32_t *wanted, uint32_t *up)
{
    *wanted = cluster != NULL ? cluster->link_count : 0;
    *up = 0;
    for (uint32_t i = 0; i < *wanted; i++)
        *up += rsmd_link_is_up(cluster->links[i]) || cluster->links[i]->neighbour;
}

/* The peer notices the end at once anyway; this informs it that nothing is wrong. */
static void announce_end(const struct rsmd_cluster *cluster)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_REFUSE,
                                  .u.refuse.status = RSM_ST_UNREACHABLE};
    snprintf(msg.u.refuse.text, sizeof msg.u.refuse.text, "the daemon of node %u ends",
             (unsigned)cluster->self.node);
    for (uint32_t i = 0; i < cluster->link_count; i++)
        if (rsmd_link_is_up(cluster->links[i]))
            rsmd_stream_send(cluster->links[i]->up->stream, &msg);
}

/* Free the connections that wait for the reaper, without callbacks. */
static void free_over(struct rsmd_cluster *cluster)
{
    while (cluster->over != NULL) {
        struct rsmd_tcp *conn = cluster->over;
        struct rsmd_link *link = conn->link;
        cluster->over = conn->over_next;
        if (link == NULL)
            rsmd_listener_release(conn);
        else if (link->up == conn)
            link->up = NULL;
        else if (link->calling == conn)
            link->calling = NULL;
        else if (link->rival == conn)
            link->rival = NULL;
        rsmd_tcp_free(conn);
    }
}

void rsmd_cluster_stop(struct rsmd_cluster *cluster)
{
    if (cluster == NULL)
        return;
    announce_end(cluster);
    free_over(cluster);
    rsmd_listener_stop(cluster);
    while (cluster->link_count > 0)
        rsmd_link_free(cluster->links[--cluster->link_count]);
    free(cluster->links);
    rsmd_resolve_cancel(cluster->own_resolution);
    if (cluster->tls != NULL)
        rsmd_tls_end(cluster->tls);
    rsmd_auth_end(cluster->auth);
    rsmd_worker_end(cluster->resolver);
    if (cluster->tick != NULL)
        event_free(cluster->tick);
    if (cluster->reaper != NULL)
        event_free(cluster->reaper);
    free(cluster);
}

/* ------------------------------------------------------------------ use */

bool rsmd_cluster_send(struct rsmd_cluster *cluster, uint32_t node,
                       const struct rsm_cluster_msg *msg)
{
    struct rsmd_link *link = rsmd_link_to(cluster, node);
    if (link == NULL || !rsmd_link_is_up(link))
        return false;
    int error = rsmd_stream_send(link->up->stream, msg);
    if (error == -ENOBUFS)
        rsmd_tcp_end(link->up, "it takes nothing any more: too much waits to be sent");
    return error == 0;
}

void rsmd_cluster_proceed(struct rsmd_cluster *cluster, uint32_t node)
{
    struct rsmd_link *link = cluster != NULL ? rsmd_link_to(cluster, node) : NULL;
    if (link != NULL)
        rsmd_link_proceed(link);
}

size_t rsmd_cluster_queued(const struct rsmd_cluster *cluster, uint32_t node)
{
    const struct rsmd_link *link = rsmd_link_to(cluster, node);
    return link != NULL && rsmd_link_is_up(link) ? rsmd_stream_queued(link->up->stream) : 0;
}

enum rsmd_link_state rsmd_cluster_state(const struct rsmd_cluster *cluster, uint32_t node,
                                        const char **text)
{
    const struct rsmd_link *link = rsmd_link_to(cluster, node);
    if (text != NULL)
        *text = link != NULL ? link->text : "";
    if (link == NULL)
        return RSMD_LINK_NONE;
    if (rsmd_link_is_up(link))
        return RSMD_LINK_UP;
    bool starting = link->calling != NULL && link->calling->phase > RSMD_PHASE_CONNECTING &&
                    link->calling->phase < RSMD_PHASE_OVER;
    if (starting)
        return RSMD_LINK_STARTING;
    bool idle = cluster->self.on_demand && !link->wanted && !rsmd_link_has_failed(link);
    return idle ? RSMD_LINK_IDLE : RSMD_LINK_DOWN;
}

/* At least 1: 0 stands for "never". */
static uint64_t age_of(int64_t then)
{
    int64_t age = rsm_clock_ms() - then;
    return age > 0 ? (uint64_t)age : 1;
}

static void fill_history(const struct rsmd_link *link, struct rsmd_link_about *about)
{
    struct rsmd_stream_bytes bytes = {0, 0};
    if (link->up != NULL)
        bytes = rsmd_stream_bytes(link->up->stream);
    about->sent_bytes = link->before.sent + bytes.sent;
    about->received_bytes = link->before.received + bytes.received;
    if (link->text[0] != '\0')
        about->failure_ms = age_of(link->failed_at);
}

bool rsmd_cluster_about(const struct rsmd_cluster *cluster, uint32_t node,
                        struct rsmd_link_about *about)
{
    const struct rsmd_link *link = rsmd_link_to(cluster, node);
    *about = (struct rsmd_link_about){.text = ""};
    if (cluster != NULL && node == cluster->self.node && cluster->auth != NULL) {
        about->state = RSM_LINK_SELF;
        about->text = cluster->listener.text;
        if (cluster->tls != NULL) {
            about->expires = rsmd_tls_expires(cluster->tls);
            if (about->text[0] == '\0')
                about->text = rsmd_tls_trouble(cluster->tls);
        }
        return true;
    }
    if (link == NULL)
        return false;
    fill_history(link, about);
    switch (rsmd_cluster_state(cluster, node, &about->text)) {
    case RSMD_LINK_UP:
        about->up_ms = age_of(link->up->up_since);
        about->state = RSM_LINK_UP;
        about->version = link->up->version;
        about->expires = link->up->tls_expires;
        return true;
    case RSMD_LINK_STARTING:
        about->state = RSM_LINK_STARTING;
        return true;
    case RSMD_LINK_IDLE:
        about->state = link->neighbour ? RSM_LINK_NEIGHBOUR : RSM_LINK_IDLE;
        return true;
    default:
        about->state = link->neighbour ? RSM_LINK_NEIGHBOUR : RSM_LINK_DOWN;
        return true;
    }
}
