/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/connection.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/call.h"
#include "base/clock.h"
#include "node/refusals.h"
#include "node/clients.h"
#include "node/unfinished.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static const int64_t slice_ns = 1000000; /* for unfinished work */

/* ------------------------------------------------------------------ packets */

static bool send_reply(struct rsmd_connection *connection, const struct rsm_msg *reply,
                       const struct rsm_packet_fds *fds)
{
    struct rsmd_server *server = connection->server;
    rsmd_refusal_note(server->node, &connection->client, reply);
    size_t length = rsm_msg_encode(reply, server->outgoing, sizeof server->outgoing);
    int error = length > 0 ? rsm_packet_send(connection->socket, server->outgoing, length, fds, 0)
                           : -EMSGSIZE;
    if (error != 0) {
        errno = -error;
        rsmd_log_of_user(server->node, connection->client.peer.uid,
                         "dropping process %d: cannot send it a reply: %m",
                         (int)connection->client.peer.pid);
    }
    if (error == 0 && fds != NULL)
        rsmd_unread_sent(connection, fds->count);
    return error == 0;
}

/* Refuse a packet that cannot be decoded or was truncated, if its header can be read. */
static void refuse(struct rsmd_connection *connection, size_t length, enum rsm_status status)
{
    struct rsmd_server *server = connection->server;
    uint32_t type, sequence;
    if (!rsm_msg_peek(server->incoming, length, &type, &sequence))
        return;
    rsm_msg_begin(&server->reply, type | RSM_MSG_REPLY);
    server->reply.sequence = sequence;
    server->reply.status = status;
    send_reply(connection, &server->reply, NULL);
}

/* Identify the sender of this packet. The packet's credentials count. Without any, those of the
 * connection's peer do, and its supplementary groups, which belong only to that user. A sender
 * without a pid, in a container outside this daemon's, still is a process of its user. */
static struct rsmd_identity sender_of(const struct rsmd_connection *connection,
                                      const struct rsm_packet_sender *sender)
{
    struct rsmd_identity who = connection->client.peer;
    if (!sender->known)
        return who;
    if (sender->uid != who.uid)
        who.group_count = 0;
    who.pid = sender->pid;
    who.uid = sender->uid;
    who.gid = sender->gid;
    return who;
}

/* Serve one packet. False: the connection has to end. */
static bool serve(struct rsmd_connection *connection, size_t length,
                  const struct rsm_packet_sender *sender)
{
    struct rsmd_server *server = connection->server;
    enum rsm_status decoded = rsm_msg_decode(&server->request, server->incoming, length);
    if (decoded != RSM_ST_OK) {
        if (decoded == RSM_ST_VERSION)
            rsmd_log_of_user(
                server->node, connection->client.peer.uid,
                "process %d speaks version %u of the protocol, this rsmd only version %u",
                (int)connection->client.peer.pid,
                (unsigned)rsm_msg_version(server->incoming, length), RSM_PROTO_VERSION);
        refuse(connection, length, decoded);
        return false;
    }
    struct rsmd_call call = {.node = server->node,
                             .client = &connection->client,
                             .who = sender_of(connection, sender),
                             .request = &server->request,
                             .reply = &server->reply};
    bool greeted = connection->client.greeted;
    rsmd_dispatch(&call);
    if (!greeted && connection->client.greeted) {
        rsmd_greeting_done(connection);
        rsmd_server_greeted(server, 1);
    }
    if (call.later)
        return true;
    bool sent = send_reply(connection, &server->reply, &call.attached);
    if (call.close_attached)
        rsm_packet_fds_close(&call.attached);
    /* End a connection that breaks the protocol once. */
    return sent && server->reply.status != RSM_ST_PROTOCOL;
}

/* Do not receive descriptors that a client sends: closing one can take as long as the client likes.
 * They stay in the queue, and are closed with the socket. */
static bool brings_descriptors(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    bool brings = false;
    if (!connection->may_bring_fds)
        return false;
    ssize_t length =
        rsm_packet_peek(connection->socket, server->incoming, RSM_PROTO_HEADER, &brings);
    if (!brings)
        return false;
    rsmd_log_of_user(server->node, connection->client.peer.uid,
                     "dropping process %d: it sends descriptors", (int)connection->client.peer.pid);
    refuse(connection, (size_t)length, RSM_ST_PROTOCOL);
    return true;
}

/* Whether the client has the maximum of forwarded requests, so that its next ones wait. */
static bool is_busy(const struct rsmd_connection *connection)
{
    return connection->client.forward_count >= RSMD_FORWARDS_PER_CLIENT_MAX;
}

static bool is_closed(const struct rsmd_connection *connection);
static bool take_in(struct rsmd_connection *connection);

/* Receive and serve one packet. */
static enum rsmd_served serve_next(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    struct rsm_packet_sender sender;
    if (connection->dead ||
        (!connection->taken_in && (is_closed(connection) || !take_in(connection))))
        return RSMD_SERVED_LAST;
    if (rsmd_unfinished_is(&connection->client)) {
        rsmd_unfinished_go_on(server->node, &connection->client, rsm_clock_ns() + slice_ns);
        return RSMD_SERVED_ONE;
    }
    if (is_busy(connection) || rsmd_unread_holds(connection))
        return RSMD_SERVED_NOTHING;
    if (brings_descriptors(connection))
        return RSMD_SERVED_LAST;
    memset(server->incoming, 0, RSM_PROTO_HEADER);
    ssize_t length = rsm_packet_receive(connection->socket, server->incoming,
                                        sizeof server->incoming, NULL, &sender);
    if (length == -EAGAIN)
        return RSMD_SERVED_NOTHING;
    if (length == -EMSGSIZE)
        refuse(connection, RSM_PROTO_HEADER, RSM_ST_PROTOCOL);
    if (length <= 0)
        return RSMD_SERVED_LAST;
    return serve(connection, (size_t)length, &sender) ? RSMD_SERVED_ONE : RSMD_SERVED_LAST;
}

static enum rsmd_served serve_seat(struct rsmd_seat *seat)
{
    struct rsmd_connection *connection =
        (struct rsmd_connection *)(void *)((char *)seat - offsetof(struct rsmd_connection, seat));
    enum rsmd_served served = serve_next(connection);
    if (served == RSMD_SERVED_LAST)
        rsmd_connection_end(connection);
    return served;
}

bool rsmd_connections_init(struct rsmd_server *server)
{
    return rsmd_turns_init(&server->turns, server->base, serve_seat);
}

/* ------------------------------------------------------------------ events */

/* Edge-triggered: the client has turns until nothing is left to read. */
static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_connection *connection = argument;
    rsmd_turns_ready(&connection->server->turns, &connection->seat);
}

struct rsmd_connection *rsmd_connection_of(struct rsmd_client *client)
{
    return (struct rsmd_connection *)(void *)((char *)client -
                                              offsetof(struct rsmd_connection, client));
}

/* Send the reply to a request that had to wait. */
static void answer_later(struct rsmd_client *client, const struct rsm_msg *reply,
                         const struct rsm_packet_fds *fds)
{
    struct rsmd_connection *connection = rsmd_connection_of(client);
    /* The loop ends the connection: the caller may be walking along what that frees. */
    if (!send_reply(connection, reply, fds))
        shutdown(connection->socket, SHUT_RDWR);
    rsmd_turns_wait(&connection->server->turns, &connection->seat);
}

/* The process has ended while another process holds its inherited socket. A user can end thousands
 * at once, so their ends take turns, too. */
static void on_death(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_connection *connection = argument;
    connection->dead = true;
    rsmd_turns_wait(&connection->server->turns, &connection->seat);
}

/* ------------------------------------------------------------------ begin and end */

static bool read_groups(struct rsmd_connection *connection)
{
    socklen_t size = 0;
    if (getsockopt(connection->socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0)
        return true;
    if (errno != ERANGE || size > RSMD_GROUPS_MAX * sizeof(gid_t))
        return false;
    connection->groups = malloc(size);
    if (connection->groups == NULL ||
        getsockopt(connection->socket, SOL_SOCKET, SO_PEERGROUPS, connection->groups, &size) < 0)
        return false;
    connection->client.peer.groups = connection->groups;
    connection->client.peer.group_count = size / sizeof(gid_t);
    return true;
}

/* A pidfd of the peer, or -1 with errno. */
static int peer_pidfd(const struct rsmd_connection *connection)
{
    int fd = -1;
    socklen_t size = sizeof fd;
    if (getsockopt(connection->socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
        return fd;
    if (errno != ENOPROTOOPT || connection->client.peer.pid == 0)
        return -1;
    /* Before Linux 6.5 */
    return (int)syscall(SYS_pidfd_open, connection->client.peer.pid, 0);
}

/* Watch the peer's process. False: it has ended already. */
static bool watch_process(struct rsmd_connection *connection)
{
    if (connection->process < 0)
        connection->process = peer_pidfd(connection);
    if (connection->process < 0 && errno == EMFILE && rsmd_server_use_spare(connection->server))
        connection->process = peer_pidfd(connection);
    if (connection->process >= 0)
        return true;
    /* For other reasons the process cannot be watched: the end of the connection has to do.
     */
    return errno != ESRCH && errno != EINVAL && errno != EMFILE && errno != ENFILE &&
           errno != ENOMEM;
}

/* Identify the client. */
static bool identify(struct rsmd_connection *connection)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int on = 1;
    if (setsockopt(connection->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        getsockopt(connection->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    connection->client.peer =
        (struct rsmd_identity){.pid = peer.pid, .uid = peer.uid, .gid = peer.gid};
    return true;
}

/* Whether this daemon serves the user. A process that changes its user later is still served: each
 * request is decided for its sender. */
static bool is_served(const struct rsmd_server *server, const struct rsmd_identity *peer)
{
    struct rsmd_node *node = server->node;
    if (!node->one_user || rsmd_access_service(node->owner, peer->uid) != RSMD_SERVICE_NONE)
        return true;
    rsmd_log_of_user(node, peer->uid,
                     "turning away process %d of user %u: this daemon serves user %u alone",
                     (int)peer->pid, (unsigned)peer->uid, (unsigned)node->owner);
    return false;
}

/* Find the user's account. The connection is charged at its HELLO. */
static bool open_account(struct rsmd_connection *connection)
{
    struct rsmd_client *client = &connection->client;
    client->account =
        rsmd_account_of_connection(&connection->server->node->shares, client->peer.uid);
    return client->account != NULL &&
           rsmd_turns_join(&connection->server->turns, &connection->seat, client->peer.uid);
}

static bool listen_to(struct rsmd_connection *connection)
{
    struct event_base *base = connection->server->base;
    connection->readable =
        event_new(base, connection->socket, EV_READ | EV_PERSIST | EV_ET, on_readable, connection);
    if (connection->readable == NULL || event_add(connection->readable, NULL) < 0)
        return false;
    if (connection->process < 0)
        return true;
    connection->died = event_new(base, connection->process, EV_READ, on_death, connection);
    return connection->died != NULL && event_add(connection->died, NULL) == 0;
}

/* Acquire what a connection needs beyond its socket and its place in the tables. False: not
 * possible, or the peer's process has ended. */
static bool take_in(struct rsmd_connection *connection)
{
    if (!read_groups(connection) || !watch_process(connection))
        return false;
    connection->client.own_descriptors = connection->process >= 0 ? 2 : 1;
    connection->taken_in = listen_to(connection);
    return connection->taken_in;
}

/* Whether the peer has closed its end without sending anything. */
static bool is_closed(const struct rsmd_connection *connection)
{
    struct pollfd end = {.fd = connection->socket, .events = POLLIN | POLLRDHUP};
    char byte;
    return poll(&end, 1, 0) == 1 && (end.revents & (POLLRDHUP | POLLHUP)) != 0 &&
           recv(connection->socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static void free_event(struct event **event)
{
    if (*event != NULL)
        event_free(*event);
    *event = NULL;
}

/* Remove it from the loop. Only the socket is left to close. */
static void detach(struct rsmd_connection *connection)
{
    rsmd_unread_leave(connection);
    rsmd_turns_leave(&connection->server->turns, &connection->seat);
    free_event(&connection->readable);
    free_event(&connection->died);
    if (connection->process >= 0)
        close(connection->process);
    connection->process = -1;
}

/* Drop a connection that was not taken in. Nothing was read from its socket, which may hold
 * descriptors. */
static void turn_away(struct rsmd_connection *connection)
{
    detach(connection);
    rsmd_ending_begin(connection);
}

void rsmd_connection_begin(struct rsmd_server *server, int socket)
{
    struct rsmd_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        close(socket);
        return;
    }
    connection->server = server;
    connection->socket = socket;
    connection->process = -1;
    connection->client.answer = answer_later;
    connection->may_bring_fds = !rsm_packet_refuse_fds(socket);
    if (!identify(connection) || !is_served(server, &connection->client.peer) ||
        !open_account(connection)) {
        turn_away(connection);
        return;
    }
    DL_APPEND(server->connections, connection);
    rsmd_greeting_await(connection);
    rsmd_turns_wait(&server->turns, &connection->seat);
}

struct rsmd_connection *rsmd_connection_resume(struct rsmd_server *server, int socket, int process,
                                               uint32_t node, bool may_bring_fds)
{
    struct rsmd_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        close(socket);
        if (process >= 0)
            close(process);
        return NULL;
    }
    connection->server = server;
    connection->socket = socket;
    connection->process = process;
    connection->client.answer = answer_later;
    connection->may_bring_fds = !rsm_packet_refuse_fds(socket) || may_bring_fds;
    if (!identify(connection) || !is_served(server, &connection->client.peer) ||
        !open_account(connection) || !take_in(connection)) {
        turn_away(connection);
        return NULL;
    }
    DL_APPEND(server->connections, connection);
    connection->client.greeted = true;
    connection->client.node = node;
    rsmd_client_resume(&connection->client);
    rsmd_unread_resume(connection);
    rsmd_server_greeted(server, 1);
    return connection;
}

void rsmd_connection_last_look(struct rsmd_connection *connection)
{
    if (serve_next(connection) == RSMD_SERVED_LAST || !connection->client.greeted)
        rsmd_connection_end(connection);
}

void rsmd_connection_end(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    DL_DELETE(server->connections, connection);
    if (connection->client.greeted)
        rsmd_server_greeted(server, -1);
    else
        rsmd_greeting_done(connection);
    detach(connection);
    rsmd_ending_begin(connection);
}

void rsmd_connection_free(struct rsmd_connection *connection)
{
    if (connection->client.greeted)
        rsmd_client_dismiss(&connection->client);
    rsmd_account_drop(connection->client.account);
    free(connection->groups);
    free(connection);
}
