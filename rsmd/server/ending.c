/* SPDX-License-Identifier: BSD-3-Clause */

#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/connection.h"
#include "base/log.h"
#include "remote/remote.h"
#include "node/clients.h"
#include "node/revokes.h"

static const int64_t slice_ns = 1000000; /* then others have their turn */

/* ------------------------------------------------------------------ sockets */

/* A socket whose queue holds descriptors. The thread that closes it closes those, too. */
struct closing {
    struct rsmd_job job;
    int socket;
    struct rsmd_client *client;
};

/* Empty the queue before closing: because of an unread packet the kernel would report a reset to
 * the peer, and hide the answer that was sent before. The socket has been shut down, so no further
 * packets come. Each packet has credentials, for which there is no room here; the end of the queue
 * has none. Descriptors are closed on the way. */
static void close_emptied(int socket)
{
    char byte;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr packet;
    ssize_t length;
    do {
        packet = (struct msghdr){.msg_iov = &data, .msg_iovlen = 1};
        length = recvmsg(socket, &packet, MSG_DONTWAIT);
    } while (length > 0 || (length == 0 && (packet.msg_flags & MSG_CTRUNC) != 0));
    close(socket);
}

static void run_close(struct rsmd_job *job)
{
    close_emptied(((struct closing *)job)->socket);
}

static void on_closed(struct rsmd_job *job)
{
    rsmd_client_job_over(((struct closing *)job)->client);
}

static void close_socket(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    struct closing *closing = NULL;
    if (connection->may_bring_fds && server->node->worker != NULL)
        closing = calloc(1, sizeof *closing);
    if (closing != NULL) {
        *closing = (struct closing){
            .job = {.run = run_close, .done = on_closed, .owner = connection->client.peer.uid},
            .socket = connection->socket,
            .client = &connection->client};
        if (rsmd_worker_submit(server->node->worker, &closing->job)) {
            connection->client.jobs++;
            return;
        }
        free(closing);
    }
    close_emptied(connection->socket);
}

/* The client has read what was kept for it. */
static void close_kept(struct rsmd_connection *connection)
{
    close_socket(connection);
    rsmd_client_job_over(&connection->client);
}

static void end_socket(struct rsmd_connection *connection)
{
    /* The peer has to see the end now, not when the socket is closed. */
    shutdown(connection->socket, SHUT_RDWR);
    if (rsmd_unread_keeps(connection, close_kept))
        connection->client.jobs++;
    else
        close_socket(connection);
}

/* ------------------------------------------------------------------ what the client had */

/* Free it if nothing of its client is left. One that only has jobs waits for them outside of the
 * list. */
static void free_if_over(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    if (!rsmd_client_is_clear(&connection->client))
        return;
    if (!connection->cleared)
        DL_DELETE(server->ending, connection);
    connection->cleared = true;
    if (connection->client.jobs == 0)
        rsmd_connection_free(connection);
}

static void on_settled(struct rsmd_client *client)
{
    free_if_over(rsmd_connection_of(client));
}

/* One slice. True: there is more to do at once. */
static bool clear_some(struct rsmd_server *server, int64_t until)
{
    struct rsmd_connection *connection, *next;
    DL_FOREACH_SAFE(server->ending, connection, next)
    {
        bool clear = rsmd_client_clear_until(server->node, &connection->client, until);
        if (!clear)
            return true;
        free_if_over(connection);
    }
    return false;
}

static void go_on_later(struct rsmd_server *server)
{
    const struct timeval now = {0};
    if (!evtimer_pending(server->ending_goes_on, NULL))
        evtimer_add(server->ending_goes_on, &now);
}

static void on_turn(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_server *server = argument;
    if (clear_some(server, rsm_clock_ns() + slice_ns))
        go_on_later(server);
}

bool rsmd_endings_init(struct rsmd_server *server, struct event_base *base)
{
    server->ending_goes_on = evtimer_new(base, on_turn, server);
    return server->ending_goes_on != NULL;
}

void rsmd_ending_begin(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    connection->client.ending = true;
    rsmd_remote_abandon(&connection->client);
    connection->client.settled = on_settled;
    DL_APPEND(server->ending, connection);
    end_socket(connection);
    /* Earlier ones go first, and have the slice. What a client with little had goes before the next
     * client is served, so that its ids are free. */
    if (!evtimer_pending(server->ending_goes_on, NULL) &&
        clear_some(server, rsm_clock_ns() + slice_ns))
        go_on_later(server);
}

bool rsmd_endings_finish(struct rsmd_server *server, unsigned max_ms)
{
    struct rsmd_worker *worker = server->node->worker;
    clear_some(server, INT64_MAX);
    rsmd_revokes_finish(server->node);
    rsmd_unread_finish(server);
    bool all = worker == NULL || rsmd_worker_drain(worker, max_ms);
    if (!all)
        rsm_log_warning("not waiting for what clients have left: it takes long to free");
    return all;
}
