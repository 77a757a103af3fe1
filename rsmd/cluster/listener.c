/* SPDX-License-Identifier: BSD-3-Clause */
/* The listening socket, which the nodes with lower ids call. Connections are strangers until they
 * are authenticated. The number of strangers is bounded. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/internal.h"

enum {
    ACCEPTS_PER_TURN = 16,
    BACKLOG_SPARE = 128, /* beyond one of each node that calls */
    PAUSE_MS = 200,      /* out of descriptors */
    TRY_AGAIN_MS = 2000, /* the address cannot be used now */
};

static void again_after(struct rsmd_listener *listener, int ms)
{
    struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    evtimer_add(listener->again, &delay);
}

/* ------------------------------------------------------------------ strangers */

/* The nodes that may call this one. */
static unsigned count_callers(const struct rsmd_cluster *cluster)
{
    unsigned count = 0;
    if (cluster->self.on_demand)
        return cluster->link_count;
    while (count < cluster->link_count && cluster->links[count]->node->id < cluster->self.node)
        count++;
    return count;
}

static struct rsmd_caller_host *need_host(struct rsmd_listener *listener, const char *text)
{
    struct rsmd_caller_host *host;
    HASH_FIND_STR(listener->hosts, text, host);
    if (host != NULL)
        return host;
    host = calloc(1, sizeof *host);
    if (host == NULL)
        return NULL;
    snprintf(host->text, sizeof host->text, "%s", text);
    HASH_ADD_STR(listener->hosts, text, host);
    if (host->hh.tbl != NULL)
        return host;
    free(host);
    return NULL;
}

bool rsmd_listener_keep(struct rsmd_tcp *conn)
{
    struct rsmd_listener *listener = &conn->cluster->listener;
    conn->host = need_host(listener, conn->there_text);
    if (conn->host == NULL)
        return false;
    conn->host->count++;
    DL_APPEND(listener->strangers, conn);
    listener->stranger_count++;
    return true;
}

void rsmd_listener_release(struct rsmd_tcp *conn)
{
    struct rsmd_listener *listener = &conn->cluster->listener;
    struct rsmd_caller_host *host = conn->host;
    DL_DELETE(listener->strangers, conn);
    listener->stranger_count--;
    conn->host = NULL;
    if (--host->count > 0)
        return;
    HASH_DEL(listener->hosts, host);
    free(host);
}

/* The oldest connection of the host that has most: a host that takes all places can only evict its
 * own. */
static struct rsmd_tcp *eviction_victim(const struct rsmd_listener *listener)
{
    struct rsmd_tcp *conn, *worst = NULL;
    DL_FOREACH(listener->strangers, conn)
    {
        if (conn->phase != RSMD_PHASE_OVER &&
            (worst == NULL || conn->host->count > worst->host->count))
            worst = conn;
    }
    return worst;
}

static void admit(struct rsmd_cluster *cluster, int fd, const struct rsmd_address *from)
{
    struct rsmd_listener *listener = &cluster->listener;
    struct rsmd_tcp *conn = rsmd_tcp_accepted(cluster, fd, from);
    if (conn == NULL)
        return;
    if (!rsmd_listener_keep(conn)) {
        rsmd_tcp_free(conn);
        return;
    }
    rsmd_tcp_welcome(conn);
    if (listener->stranger_count <= listener->strangers_max)
        return;
    struct rsmd_tcp *worst = eviction_victim(listener);
    if (worst != NULL)
        rsmd_tcp_end(worst, "too many connections that do not finish the handshake");
}

static void on_caller(evutil_socket_t socket, short what, void *argument)
{
    (void)what;
    struct rsmd_cluster *cluster = argument;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct rsmd_address from = {.length = sizeof from.socket};
        int fd = accept4(socket, (struct sockaddr *)&from.socket, &from.length,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            admit(cluster, fd, &from);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            /* The connection stays in the backlog, and would wake the loop for ever. */
            event_del(cluster->listener.accepting);
            again_after(&cluster->listener, PAUSE_MS);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ------------------------------------------------------------------ the socket */

static bool try_bind(int fd, const struct rsmd_address *at)
{
    int on = 1;
    if (bind(fd, (const struct sockaddr *)&at->socket, at->length) == 0)
        return true;
    /* An address that this host does not have yet takes effect when the host gets it. */
    return errno == EADDRNOTAVAIL && setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof on) == 0 &&
           bind(fd, (const struct sockaddr *)&at->socket, at->length) == 0;
}

/* A listening socket, or -1 with errno. */
static int open_socket(const struct rsmd_address *at, unsigned callers)
{
    int on = 1;
    int fd = socket(at->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->socket.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (try_bind(fd, at) && listen(fd, (int)(callers + BACKLOG_SPARE)) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static bool is_ours(const struct rsmd_address *at)
{
    int fd = socket(at->socket.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    struct rsmd_address any_port = *at;
    if (at->socket.ss_family == AF_INET)
        ((struct sockaddr_in *)&any_port.socket)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&any_port.socket)->sin6_port = 0;
    bool ours = bind(fd, (const struct sockaddr *)&any_port.socket, any_port.length) == 0 ||
                errno != EADDRNOTAVAIL;
    close(fd);
    return ours;
}

static void complain(struct rsmd_cluster *cluster, const char *why)
{
    struct rsmd_listener *listener = &cluster->listener;
    const struct rsmd_conf_node *own = rsmd_conf_node(cluster->self.conf, cluster->self.node);
    snprintf(listener->text, sizeof listener->text, "cannot listen: %s", why);
    if (rsmd_complaint_is_new(&listener->complaints, listener->text, rsm_clock_ms()))
        rsm_log_error("cannot listen for other nodes at %s, port %u: %s", own->address,
                      (unsigned)own->port, why);
    again_after(listener, TRY_AGAIN_MS);
}

static void on_resolved(void *context, const struct rsmd_addresses *found, const char *why)
{
    struct rsmd_cluster *cluster = context;
    struct rsmd_listener *listener = &cluster->listener;
    char text[RSMD_ADDRESS_TEXT_BYTES];
    listener->resolution = NULL;
    if (why != NULL) {
        complain(cluster, why);
        return;
    }
    listener->socket = open_socket(&found->list[0], count_callers(cluster));
    if (listener->socket < 0) {
        complain(cluster, strerror(errno));
        return;
    }
    listener->accepting =
        event_new(cluster->base, listener->socket, EV_READ | EV_PERSIST, on_caller, cluster);
    if (listener->accepting == NULL || event_add(listener->accepting, NULL) < 0) {
        close(listener->socket);
        listener->socket = -1;
        complain(cluster, "out of memory");
        return;
    }
    rsmd_address_text(&found->list[0], true, text);
    listener->text[0] = '\0';
    rsm_log_info("node %u listens for other nodes at %s", (unsigned)cluster->self.node, text);
    if (!is_ours(&found->list[0])) {
        snprintf(listener->text, sizeof listener->text, "this host does not have the address");
        rsm_log_warning("this host does not have the address %s of node %u, or not yet", text,
                        (unsigned)cluster->self.node);
    }
}

static void on_again(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_cluster *cluster = argument;
    if (cluster->listener.accepting != NULL)
        event_add(cluster->listener.accepting, NULL);
    else
        cluster->listener.resolution = rsmd_resolve(
            cluster, rsmd_conf_node(cluster->self.conf, cluster->self.node), on_resolved, cluster);
}

bool rsmd_listener_start(struct rsmd_cluster *cluster)
{
    struct rsmd_listener *listener = &cluster->listener;
    listener->socket = -1;
    /* When a node starts, all that may call it do so at once. */
    listener->strangers_max = count_callers(cluster) + RSMD_STRANGERS_SPARE;
    listener->again = evtimer_new(cluster->base, on_again, cluster);
    if (listener->again == NULL)
        return false;
    on_again(-1, 0, cluster);
    return true;
}

bool rsmd_listener_widen(struct rsmd_cluster *cluster)
{
    if (cluster->listener.again == NULL)
        return rsmd_listener_start(cluster);
    cluster->listener.strangers_max = count_callers(cluster) + RSMD_STRANGERS_SPARE;
    return true;
}

void rsmd_listener_stop(struct rsmd_cluster *cluster)
{
    struct rsmd_listener *listener = &cluster->listener;
    rsmd_resolve_cancel(listener->resolution);
    if (listener->again != NULL)
        event_free(listener->again);
    if (listener->accepting != NULL) {
        event_free(listener->accepting);
        close(listener->socket);
    }
    while (listener->strangers != NULL) {
        struct rsmd_tcp *conn = listener->strangers;
        rsmd_listener_release(conn);
        rsmd_tcp_free(conn);
    }
}
