/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "cluster/internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

/* ------------------------------------------------------------------ the end */

/* Whether an accepted connection can be attributed to the node whose id it gives, by its credential
 * or its address. Nodes without authentication are all on this machine. */
static bool is_evidence(const struct rsmd_tcp *conn, struct rsmd_link *link)
{
    return conn->proved || conn->cluster->self.conf->auth == RSMD_AUTH_NONE ||
           rsmd_link_has_address(link, &conn->there);
}

/* Note the end of an unauthenticated connection. Whatever node it claims to be, it cannot disturb a
 * link that is up, nor fill the log, and a call from another address does not change a link's
 * state. */
static void note_stranger(struct rsmd_tcp *conn, const char *why)
{
    struct rsmd_cluster *cluster = conn->cluster;
    struct rsmd_link *link =
        conn->theirs.from != 0 ? rsmd_link_to(cluster, conn->theirs.from) : NULL;
    char text[RSM_CLUSTER_TEXT_MAX + RSMD_ADDRESS_TEXT_BYTES + 32];
    unsigned dropped;
    int64_t now = rsm_clock_ms();
    snprintf(text, sizeof text, "connection from %s: %s", conn->there_text, why);
    if (link != NULL && !is_evidence(conn, link))
        link = NULL;
    if (link != NULL && rsmd_link_has_other(link, conn))
        return; /* both ends have called at once */
    /* Do not quote the caller, which has not proved that it is that node's daemon. */
    if (link != NULL && link->up == NULL)
        rsmd_link_remember(link,
                           conn->quotes ? "its daemon breaks off: the log there says why" : why);
    struct rsmd_complaints *complaints =
        link != NULL ? &link->complaints : &cluster->listener.complaints;
    if (!rsmd_complaint_is_new(complaints, text, now) ||
        !rsmd_bucket_take(&cluster->strangers_log, now, &dropped))
        return;
    rsm_log_warning("%s", text);
    if (dropped > 0)
        rsm_log_warning("%u other complaints about connections are not shown", dropped);
}

void rsmd_tcp_end(struct rsmd_tcp *conn, const char *why)
{
    if (conn->phase == RSMD_PHASE_OVER)
        return;
    bool counts =
        conn->link != NULL && (conn == conn->link->up || !rsmd_link_has_other(conn->link, conn));
    if (why != NULL && counts)
        rsmd_link_note(conn->link, why);
    else if (why != NULL && conn->link == NULL)
        note_stranger(conn, why);
    conn->phase = RSMD_PHASE_OVER;
    rsmd_stream_pause(conn->stream);
    evtimer_del(conn->deadline);
    rsmd_auth_cancel(conn->job);
    conn->job = NULL;
    rsmd_resolve_cancel(conn->resolution);
    conn->resolution = NULL;
    conn->over_next = conn->cluster->over;
    conn->cluster->over = conn;
    event_active(conn->cluster->reaper, EV_TIMEOUT, 0);
}

void rsmd_tcp_refuse(struct rsmd_tcp *conn, enum rsm_status status, const char *why)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_REFUSE, .u.refuse.status = status};
    snprintf(msg.u.refuse.text, sizeof msg.u.refuse.text, "%s", why);
    if (conn->phase != RSMD_PHASE_OVER && conn->phase != RSMD_PHASE_CONNECTING)
        rsmd_stream_send(conn->stream, &msg);
    rsmd_tcp_end(conn, why);
}

bool rsmd_tcp_send(struct rsmd_tcp *conn, const struct rsm_cluster_msg *msg)
{
    if (rsmd_stream_send(conn->stream, msg) == 0)
        return true;
    rsmd_tcp_end(conn, "it takes nothing any more");
    return false;
}

static bool send_pong(struct rsmd_tcp *conn)
{
    struct rsm_cluster_msg msg;
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_PONG);
    msg.u.pong.number = conn->last_ping;
    return rsmd_tcp_send(conn, &msg);
}

void rsmd_tcp_out_of_turn(struct rsmd_tcp *conn)
{
    rsmd_tcp_end(conn, "it sent a message out of turn");
}

static void on_deadline(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_tcp *conn = argument;
    char why[RSM_CLUSTER_TEXT_MAX];
    unsigned own = conn->cluster->self.node;
    switch (conn->phase) {
    case RSMD_PHASE_CONNECTING:
        rsmd_tcp_end(conn, "no connection in time");
        return;
    case RSMD_PHASE_ENCRYPTING:
        rsmd_tcp_end(conn, "connected, but it does not finish the TLS handshake");
        return;
    case RSMD_PHASE_HELLO:
        rsmd_tcp_end(conn, "connected, but it says nothing");
        return;
    case RSMD_PHASE_MAKING:
    case RSMD_PHASE_CHECKING:
        snprintf(why, sizeof why, "munged on the host of node %u does not answer", own);
        rsmd_tcp_refuse(conn, RSM_ST_TIMEOUT, why);
        return;
    case RSMD_PHASE_LOOKING_UP:
        snprintf(why, sizeof why, "node %u does not find out the address of node %u in time", own,
                 (unsigned)conn->theirs.from);
        rsmd_tcp_refuse(conn, RSM_ST_TIMEOUT, why);
        return;
    case RSMD_PHASE_RIVAL:
        snprintf(why, sizeof why, "node %u has a link already, and waits for its end", own);
        rsmd_tcp_refuse(conn, RSM_ST_BUSY, why);
        return;
    default:
        rsmd_tcp_refuse(conn, RSM_ST_TIMEOUT, "connected, but it does not finish the handshake");
    }
}

/* Work at this end has two thirds of the limit, so that the peer, which waits meanwhile, gets its
 * result or the reason of a failure before it times out. */
bool rsmd_tcp_enter(struct rsmd_tcp *conn, enum rsmd_phase phase)
{
    uint32_t ms = conn->cluster->self.conf->peer_timeout_ms;
    if (ms < RSMD_HANDSHAKE_MS)
        ms = RSMD_HANDSHAKE_MS;
    if (phase == RSMD_PHASE_MAKING || phase == RSMD_PHASE_CHECKING ||
        phase == RSMD_PHASE_LOOKING_UP)
        ms = ms / 3 * 2;
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    conn->phase = phase;
    return evtimer_add(conn->deadline, &limit) == 0;
}

void rsmd_tcp_restart_timer(struct rsmd_tcp *conn)
{
    rsmd_tcp_enter(conn, conn->phase);
}

/* ------------------------------------------------------------------ up */

bool rsmd_tcp_ping(struct rsmd_tcp *conn)
{
    struct rsm_cluster_msg msg;
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_PING);
    msg.u.ping = (struct rsm_cluster_ping){.number = ++conn->ping, .answered = conn->answered};
    conn->pinged_at = rsm_clock_ms();
    return rsmd_tcp_send(conn, &msg);
}

void rsmd_tcp_begin(struct rsmd_tcp *conn)
{
    conn->phase = RSMD_PHASE_UP;
    conn->up_since = conn->answered_at = rsm_clock_ms();
    evtimer_del(conn->deadline);
    if (!conn->caller && !send_pong(conn))
        return;
    rsmd_stream_resume(conn->stream);
}

static void answered(struct rsmd_tcp *conn)
{
    conn->answered_at = rsm_clock_ms();
    rsmd_link_set_silent(conn->link, false);
}

/* A PING whose sender has got the last PONG is as good as a PONG: both directions work. */
static void take_ping(struct rsmd_tcp *conn, const struct rsm_cluster_ping *ping)
{
    if (ping->answered != 0 && ping->answered == conn->last_ping)
        answered(conn);
    conn->last_ping = ping->number;
    send_pong(conn);
}

static void take_pong(struct rsmd_tcp *conn, uint64_t number)
{
    if (number > conn->ping || number < conn->answered) {
        rsmd_tcp_out_of_turn(conn);
        return;
    }
    conn->answered = number;
    answered(conn);
    rsmd_link_answered(conn->link);
}

static void take_when_up(struct rsmd_tcp *conn, const struct rsm_cluster_msg *msg)
{
    const struct rsmd_cluster *cluster = conn->cluster;
    switch ((enum rsm_cluster_msg_type)msg->type) {
    case RSM_CLUSTER_PING:
        take_ping(conn, &msg->u.ping);
        return;
    case RSM_CLUSTER_PONG:
        take_pong(conn, msg->u.pong.number);
        return;
    case RSM_CLUSTER_IDLE:
        rsmd_demand_take(conn->link, &msg->u.idle);
        return;
#define LINK(NAME, number, name, body)
#define NODE(NAME, number, name, body) case RSM_CLUSTER_##NAME:
#include "cluster/messages.def"
        if (cluster->user.message != NULL)
            cluster->user.message(cluster->user.context, conn->link->node->id, msg);
        return;
    default:
        rsmd_tcp_out_of_turn(conn);
    }
}

/* ------------------------------------------------------------------ the stream's callbacks */

static void take_refusal(struct rsmd_tcp *conn, const struct rsm_cluster_refuse *refusal)
{
    char text[RSM_CLUSTER_TEXT_MAX], why[RSM_CLUSTER_TEXT_MAX];
    memcpy(text, refusal->text, sizeof text);
    rsmd_text_clean(text);
    conn->quotes = true;
    snprintf(why, sizeof why, "it says: %.*s", (int)sizeof why - 16, text);
    rsmd_tcp_end(conn, why);
}

static void on_message(void *context, const struct rsm_cluster_msg *msg)
{
    struct rsmd_tcp *conn = context;
    if (conn->phase == RSMD_PHASE_OVER)
        return;
    if (msg->type == RSM_CLUSTER_REFUSE)
        take_refusal(conn, &msg->u.refuse);
    else if (conn->phase == RSMD_PHASE_HELLO && msg->type == RSM_CLUSTER_HELLO)
        rsmd_tcp_take_hello(conn, &msg->u.hello);
    else if (conn->phase == RSMD_PHASE_PROOF && msg->type == RSM_CLUSTER_PROOF)
        rsmd_tcp_take_proof(conn, &msg->u.proof);
    else if (conn->phase == RSMD_PHASE_CONFIRM)
        rsmd_tcp_take_confirmation(conn, msg);
    else if (conn->phase == RSMD_PHASE_UP)
        take_when_up(conn, msg);
    else
        rsmd_tcp_out_of_turn(conn);
}

/* Errors are harmless: the link's heartbeat decides. */
static void tune(const struct rsmd_cluster *cluster, int socket)
{
    int on = 1;
    unsigned ms = cluster->self.conf->peer_timeout_ms;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    /* What is lost in a short cut is sent again every 200 ms, not after 200, 600, 1400 and 3000.
     * The kernel does so where it knows that slow start is over, which BBR never says. */
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    setsockopt(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
}

/* Get both addresses of an established connection, and set its options. */
static bool prepare(struct rsmd_tcp *conn, int socket)
{
    tune(conn->cluster, socket);
    conn->here.length = sizeof conn->here.socket;
    conn->there.length = sizeof conn->there.socket;
    return getsockname(socket, (struct sockaddr *)&conn->here.socket, &conn->here.length) == 0 &&
           getpeername(socket, (struct sockaddr *)&conn->there.socket, &conn->there.length) == 0;
}

/* ------------------------------------------------------------------ TLS */

/* Pass the connection on to rsm-tlsd. Nothing was read of it. */
static void encrypt(struct rsmd_tcp *conn)
{
    char why[RSM_CLUSTER_TEXT_MAX];
    int socket = rsmd_stream_socket(conn->stream);
    int plain = rsmd_tls_encrypt(conn->cluster->tls, conn, socket, why, sizeof why);
    if (plain < 0)
        rsmd_tcp_end(conn, why);
    else if (!rsmd_stream_exchange(conn->stream, plain))
        rsmd_tcp_end(conn, "out of memory");
    else
        rsmd_tcp_enter(conn, RSMD_PHASE_ENCRYPTING);
}

static void begin_hello(struct rsmd_tcp *conn)
{
    rsmd_tcp_enter(conn, RSMD_PHASE_HELLO);
    if (conn->caller)
        rsmd_tcp_send_hello(conn, conn->link->node->id);
}

void rsmd_tcp_encrypted(struct rsmd_tcp *conn, uint32_t node, uint64_t expires)
{
    char why[RSM_CLUSTER_TEXT_MAX];
    if (conn->phase != RSMD_PHASE_ENCRYPTING)
        return;
    conn->tls_node = conn->theirs.from = node;
    conn->tls_expires = expires;
    conn->proved = true;
    rsmd_stream_resume(conn->stream);
    if (!conn->caller || node == conn->link->node->id) {
        begin_hello(conn);
        return;
    }
    snprintf(why, sizeof why, "the certificate at the address of node %u is that of node %u",
             (unsigned)conn->link->node->id, (unsigned)node);
    rsmd_tcp_refuse(conn, RSM_ST_DENIED, why);
}

/* The one node that has the caller's address in the configuration, not by a name; 0: none, or
 * several. */
static uint32_t node_at(const struct rsmd_tcp *conn)
{
    const struct rsmd_cluster *cluster = conn->cluster;
    uint32_t node = 0;
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct rsmd_conf_node *one = cluster->links[i]->node;
        struct rsmd_addresses found;
        if (!rsmd_address_literal(one->address, one->port, &found) ||
            !rsmd_addresses_have(&found, &conn->there))
            continue;
        if (node != 0)
            return 0;
        node = one->id;
    }
    return node;
}

void rsmd_tcp_not_encrypted(struct rsmd_tcp *conn, uint32_t node, const char *why)
{
    if (conn->phase == RSMD_PHASE_ENCRYPTING)
        conn->theirs.from = node != 0 ? node : node_at(conn); /* only the address speaks for it */
    rsmd_tcp_end(conn, why);
}

/* ------------------------------------------------------------------ the start of a connection */

static void on_connected(void *context)
{
    struct rsmd_tcp *conn = context;
    if (conn->phase != RSMD_PHASE_CONNECTING)
        return;
    if (!prepare(conn, rsmd_stream_socket(conn->stream))) {
        rsmd_tcp_end(conn, strerror(errno));
        return;
    }
    if (conn->cluster->tls != NULL)
        encrypt(conn);
    else
        begin_hello(conn);
}

static void on_ended(void *context, const char *why)
{
    struct rsmd_tcp *conn = context;
    if (conn->tls_id != 0)
        rsmd_tls_take(conn->cluster->tls); /* which may know better */
    rsmd_tcp_end(conn, why);
}

/* ------------------------------------------------------------------ begin and end */

static struct rsmd_tcp *make(struct rsmd_cluster *cluster, int socket, bool caller)
{
    struct rsmd_tcp *conn = calloc(1, sizeof *conn);
    struct rsmd_stream_user user = {conn, on_connected, on_message, on_ended};
    if (conn == NULL) {
        close(socket);
        return NULL;
    }
    conn->cluster = cluster;
    conn->caller = caller;
    conn->stream = rsmd_stream_new(cluster->base, socket, caller, &user);
    conn->deadline = evtimer_new(cluster->base, on_deadline, conn);
    if (conn->stream != NULL && conn->deadline != NULL &&
        rsmd_tcp_enter(conn, caller ? RSMD_PHASE_CONNECTING : RSMD_PHASE_HELLO))
        return conn;
    rsmd_tcp_free(conn);
    return NULL;
}

struct rsmd_tcp *rsmd_tcp_called(struct rsmd_link *link, int socket, const struct rsmd_address *to)
{
    struct rsmd_tcp *conn = make(link->cluster, socket, true);
    if (conn == NULL)
        return NULL;
    conn->link = link;
    rsmd_address_text(to, true, conn->there_text);
    return conn;
}

struct rsmd_tcp *rsmd_tcp_accepted(struct rsmd_cluster *cluster, int socket,
                                   const struct rsmd_address *from)
{
    struct rsmd_tcp *conn = make(cluster, socket, false);
    if (conn == NULL)
        return NULL;
    rsmd_address_text(from, false, conn->there_text);
    if (prepare(conn, socket))
        return conn;
    rsmd_tcp_free(conn); /* it has ended already */
    return NULL;
}

void rsmd_tcp_welcome(struct rsmd_tcp *conn)
{
    if (conn->cluster->tls != NULL)
        encrypt(conn);
}

void rsmd_tcp_free(struct rsmd_tcp *conn)
{
    if (conn->cluster->tls != NULL)
        rsmd_tls_forget(conn->cluster->tls, conn);
    rsmd_auth_cancel(conn->job);
    rsmd_resolve_cancel(conn->resolution);
    if (conn->stream != NULL)
        rsmd_stream_free(conn->stream);
    if (conn->deadline != NULL)
        event_free(conn->deadline);
    free(conn);
}
