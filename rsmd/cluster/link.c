/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "cluster/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

/* ------------------------------------------------------------------ failures */

static void log_failure(struct rsmd_link *link, const char *why)
{
    unsigned dropped;
    if (rsmd_complaint_is_new(&link->complaints, why, rsm_clock_ms()) &&
        rsmd_bucket_take(&link->log, rsm_clock_ms(), &dropped))
        rsm_log_warning("link to node %u at %s: %s", (unsigned)link->node->id, link->node->address,
                        why);
}

void rsmd_link_remember(struct rsmd_link *link, const char *why)
{
    snprintf(link->text, sizeof link->text, "%s", why);
    rsmd_text_clean(link->text); /* also text of MUNGE and of resolvers */
    link->failed_at = rsm_clock_ms();
}

void rsmd_link_note(struct rsmd_link *link, const char *why)
{
    rsmd_link_remember(link, why);
    log_failure(link, why);
}

/* ------------------------------------------------------------------ whose address it is */

static void on_known(void *context, const struct rsmd_addresses *found, const char *why)
{
    struct rsmd_link *link = context;
    link->asked = NULL;
    if (why != NULL)
        return;
    if (link->known == NULL)
        link->known = malloc(sizeof *link->known);
    if (link->known != NULL)
        *link->known = *found;
}

bool rsmd_link_has_address(struct rsmd_link *link, const struct rsmd_address *address)
{
    int64_t now = rsm_clock_ms();
    if (link->asked == NULL &&
        (link->asked_at == 0 || now - link->asked_at >= RSMD_ADDRESSES_KEPT_MS)) {
        link->asked_at = now;
        link->asked = rsmd_resolve(link->cluster, link->node, on_known, link);
    }
    return link->known != NULL && rsmd_addresses_have(link->known, address);
}

void rsmd_link_moved(struct rsmd_link *link)
{
    rsmd_resolve_cancel(link->asked);
    link->asked = NULL;
    link->asked_at = 0;
    free(link->known);
    link->known = NULL;
    link->address = 0;
}

/* ------------------------------------------------------------------ the next attempt */

/* Milliseconds to the next attempt. Jitter spreads the attempts of nodes that lost their links at
 * once. */
static uint32_t retry_delay(unsigned failures)
{
    uint32_t ms = RSMD_RETRY_MAX_MS, noise = 0;
    if (failures < 8 && (uint32_t)RSMD_RETRY_MIN_MS << failures < ms)
        ms = (uint32_t)RSMD_RETRY_MIN_MS << failures;
    if (getrandom(&noise, sizeof noise, GRND_NONBLOCK) < 0)
        noise = (uint32_t)rsm_clock_ms();
    return ms - ms / 4 + noise % (ms / 2);
}

static void retry_later(struct rsmd_link *link)
{
    uint32_t ms = retry_delay(link->failures);
    struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    if (link->failures < 100)
        link->failures++;
    evtimer_add(link->retry, &delay);
}

/* There is no connection, or an attempt to make one has failed. */
static void try_again(struct rsmd_link *link)
{
    if (link->up == NULL && rsmd_link_is_due(link))
        retry_later(link);
}

static void attempt_failed(struct rsmd_link *link, const char *why)
{
    rsmd_link_note(link, why);
    rsmd_demand_failed(link);
    try_again(link);
}

/* ------------------------------------------------------------------ calling */

static void on_own_resolved(void *context, const struct rsmd_addresses *found, const char *why)
{
    struct rsmd_cluster *cluster = context;
    cluster->own_resolution = NULL;
    if (why == NULL)
        cluster->own = *found;
}

/* Get the addresses to call from: for this attempt, or, if a name has to be looked up, for later
 * ones. */
static void learn_own_address(struct rsmd_cluster *cluster)
{
    const struct rsmd_conf *conf = cluster->self.conf;
    if (conf->auth != RSMD_AUTH_NONE && cluster->own_resolution == NULL)
        cluster->own_resolution = rsmd_resolve(cluster, rsmd_conf_node(conf, cluster->self.node),
                                               on_own_resolved, cluster);
}

/* @p bound: call from the local node's address, which the peer compares with its configuration. */
static void call_address(struct rsmd_link *link, const struct rsmd_address *to, bool bound)
{
    int fd = socket(to->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        attempt_failed(link, strerror(errno));
        return;
    }
    if (bound)
        rsmd_addresses_bind(&link->cluster->own, fd, to);
    if (connect(fd, (const struct sockaddr *)&to->socket, to->length) < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        attempt_failed(link, strerror(error));
        return;
    }
    link->calling = rsmd_tcp_called(link, fd, to);
    if (link->calling == NULL)
        attempt_failed(link, "out of memory");
}

static void on_resolved(void *context, const struct rsmd_addresses *found, const char *why)
{
    struct rsmd_link *link = context;
    link->resolution = NULL;
    if (why != NULL) {
        attempt_failed(link, why);
        return;
    }
    link->addresses = found->count;
    /* In every second round over the peer's addresses the kernel chooses the local one, in case the
     * network drops packets from the configured one. */
    call_address(link, &found->list[link->address++ % found->count],
                 link->failures / found->count % 2 == 0);
}

static void call(struct rsmd_link *link)
{
    struct rsmd_cluster *cluster = link->cluster;
    if (link->up != NULL || link->calling != NULL || link->resolution != NULL ||
        !rsmd_link_is_due(link))
        return;
    link->neighbour = cluster->is_neighbour != NULL &&
                      cluster->is_neighbour(cluster->neighbour_context, link->node->id);
    if (link->neighbour) {
        link->text[0] = '\0';
        rsmd_demand_failed(link);
        try_again(link);
        return;
    }
    learn_own_address(cluster);
    link->resolution = rsmd_resolve(cluster, link->node, on_resolved, link);
}

static void on_retry(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    call(argument);
}

/* ------------------------------------------------------------------ up and down */

/* A second connection has authenticated as a node that has a link. Either the node was restarted
 * and the end of its former daemon was not noticed, or both ends have called at once, or there are
 * two daemons. If the former connection answers, it stays. If it has ended, the new one waits only
 * until nothing of that is left. A node that calls as the lower one has lost the former. */
static void examine_rival(struct rsmd_link *link)
{
    bool same = link->up->theirs.incarnation == link->rival->theirs.incarnation;
    if (same && link->node->id < link->cluster->self.node)
        rsmd_tcp_end(link->up, "the peer has made a new connection");
    else if (rsmd_tcp_ping(link->up))
        link->up->probe = link->up->ping;
}

static void promote(struct rsmd_link *link, struct rsmd_tcp *conn)
{
    struct rsmd_cluster *cluster = link->cluster;
    unsigned dropped;
    if (link->calling == conn)
        link->calling = NULL;
    else if (link->calling != NULL)
        rsmd_tcp_end(link->calling, NULL); /* the other end's call counts */
    if (link->rival == conn)
        link->rival = NULL;
    link->up = conn;
    evtimer_del(link->retry);
    rsmd_complaints_forget(&link->complaints);
    rsmd_tcp_begin(conn);
    if (conn->phase != RSMD_PHASE_UP)
        return;
    if (rsmd_bucket_take(&link->log, rsm_clock_ms(), &dropped))
        rsm_log_info("link to node %u at %s is up", (unsigned)link->node->id, conn->there_text);
    link->neighbour = false;
    link->up_reported = true;
    if (cluster->user.up != NULL)
        cluster->user.up(cluster->user.context, link->node->id);
    rsmd_demand_up(link);
    if (link->rival != NULL && link->rival->phase == RSMD_PHASE_RIVAL)
        examine_rival(link);
}

static bool is_busy(const struct rsmd_link *link)
{
    const struct rsmd_cluster_user *user = &link->cluster->user;
    return user->busy != NULL && user->busy(user->context, link->node->id);
}

/* Whether an authenticated connection has to wait: for the end of the former link's connections,
 * or, at the lower node, for its own call. */
static bool has_to_wait(const struct rsmd_link *link, const struct rsmd_tcp *conn)
{
    return is_busy(link) ||
           (!conn->caller && link->calling != NULL && link->cluster->self.node < link->node->id);
}

void rsmd_link_proceed(struct rsmd_link *link)
{
    if (link->up == NULL && link->rival != NULL && link->rival->phase == RSMD_PHASE_RIVAL &&
        !has_to_wait(link, link->rival))
        promote(link, link->rival);
}

static void wait_as_rival(struct rsmd_link *link, struct rsmd_tcp *conn)
{
    if (link->rival != NULL) {
        rsmd_tcp_refuse(conn, RSM_ST_BUSY, "others wait for this link already");
        return;
    }
    link->rival = conn;
    conn->phase = RSMD_PHASE_RIVAL;
    rsmd_stream_pause(conn->stream);
    if (link->up != NULL && link->up->phase != RSMD_PHASE_OVER)
        examine_rival(link);
}

void rsmd_link_adopt(struct rsmd_link *link, struct rsmd_tcp *conn)
{
    if (link->up == NULL && !has_to_wait(link, conn))
        promote(link, conn);
    else
        wait_as_rival(link, conn);
}

bool rsmd_link_has_other(const struct rsmd_link *link, const struct rsmd_tcp *conn)
{
    const struct rsmd_tcp *others[] = {link->up, link->calling};
    for (unsigned i = 0; i < 2 && conn->theirs.incarnation != 0; i++)
        if (others[i] != NULL && others[i] != conn && others[i]->phase != RSMD_PHASE_OVER &&
            others[i]->theirs.incarnation == conn->theirs.incarnation)
            return true;
    return false;
}

void rsmd_link_answered(struct rsmd_link *link)
{
    char why[RSM_CLUSTER_TEXT_MAX];
    if (link->rival == NULL || link->up->probe == 0 || link->up->answered < link->up->probe)
        return;
    if (link->up->theirs.incarnation == link->rival->theirs.incarnation) {
        rsmd_tcp_end(link->rival, NULL); /* both ends called at once, and this call was first */
        return;
    }
    snprintf(why, sizeof why, "two daemons have the id %u: one at %s, one at %s",
             (unsigned)link->node->id, link->up->there_text, link->rival->there_text);
    rsmd_tcp_refuse(link->rival, RSM_ST_BUSY, why);
}

void rsmd_link_set_silent(struct rsmd_link *link, bool silent)
{
    const struct rsmd_cluster_user *user = &link->cluster->user;
    if (link->silent == silent || !link->up_reported)
        return;
    link->silent = silent;
    if (user->silent != NULL)
        user->silent(user->context, link->node->id, silent);
}

void rsmd_link_lost(struct rsmd_link *link, struct rsmd_tcp *conn)
{
    struct rsmd_cluster *cluster = link->cluster;
    unsigned dropped;
    if (link->rival == conn)
        link->rival = NULL;
    if (link->calling == conn) {
        link->calling = NULL;
        if (link->up == NULL)
            rsmd_demand_failed(link);
        rsmd_link_proceed(link); /* the other end's call may have waited */
        try_again(link);
    }
    if (link->up != conn)
        return;
    link->up = NULL;
    struct rsmd_stream_bytes bytes = rsmd_stream_bytes(conn->stream);
    link->before.sent += bytes.sent;
    link->before.received += bytes.received;
    if (rsm_clock_ms() - conn->up_since >= RSMD_STEADY_MS)
        link->failures = 0;
    if (link->up_reported) {
        link->up_reported = link->silent = false;
        if (rsmd_bucket_take(&link->log, rsm_clock_ms(), &dropped))
            rsm_log_info("link to node %u is %s", (unsigned)link->node->id,
                         conn->unused ? "closed: it was not in use" : "down");
        if (cluster->user.down != NULL)
            cluster->user.down(cluster->user.context, link->node->id);
    }
    rsmd_link_proceed(link);
    if (conn->unused)
        rsmd_demand_closed(link);
    else
        try_again(link);
}

void rsmd_link_tick(struct rsmd_link *link, int64_t now, int64_t deaf)
{
    struct rsmd_tcp *conn = link->up;
    int64_t timeout = link->cluster->self.conf->peer_timeout_ms;
    int64_t pause = timeout / RSMD_PINGS_PER_TIMEOUT;
    char why[RSM_CLUSTER_TEXT_MAX];
    if (conn == NULL || conn->phase != RSMD_PHASE_UP)
        return;
    if (deaf > 0 && link->rival != NULL && link->rival->phase == RSMD_PHASE_RIVAL)
        rsmd_tcp_restart_timer(link->rival); /* it waits for the connection that is up */
    conn->answered_at = now - conn->answered_at > deaf ? conn->answered_at + deaf : now;
    /* Three quarters, so that a failure is noticed within the time-out. */
    if (now - conn->answered_at >= timeout - timeout / 4) {
        snprintf(why, sizeof why, "node %u has not answered node %u for %u ms",
                 (unsigned)link->node->id, (unsigned)link->cluster->self.node,
                 (unsigned)(timeout - timeout / 4));
        rsmd_tcp_refuse(conn, RSM_ST_TIMEOUT, why);
    } else if (now - conn->pinged_at >= pause &&
               /* The caller's PINGs serve both ends, unless they fail to come. */
               (conn->caller || now - conn->answered_at >= 2 * pause)) {
        rsmd_tcp_ping(conn);
    }
    if (conn->phase != RSMD_PHASE_UP)
        return;
    if (now - conn->answered_at >= timeout / 2)
        rsmd_link_set_silent(link, true);
    rsmd_demand_tick(link, now);
}

/* ------------------------------------------------------------------ begin and end */

struct rsmd_link *rsmd_link_new(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node)
{
    struct rsmd_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    const struct timeval at_once = {.tv_sec = 0};
    link->cluster = cluster;
    link->node = node;
    link->retry = evtimer_new(cluster->base, on_retry, link);
    bool calls = !cluster->self.on_demand && cluster->self.node < node->id;
    if (link->retry != NULL && (!calls || evtimer_add(link->retry, &at_once) == 0))
        return link;
    rsmd_link_free(link);
    return NULL;
}

void rsmd_link_free(struct rsmd_link *link)
{
    if (link == NULL)
        return;
    rsmd_resolve_cancel(link->resolution);
    rsmd_resolve_cancel(link->asked);
    free(link->known);
    if (link->up != NULL)
        rsmd_tcp_free(link->up);
    if (link->calling != NULL)
        rsmd_tcp_free(link->calling);
    if (link->rival != NULL)
        rsmd_tcp_free(link->rival);
    if (link->retry != NULL)
        event_free(link->retry);
    free(link);
}
