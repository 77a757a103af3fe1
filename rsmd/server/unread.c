/* SPDX-License-Identifier: BSD-3-Clause */

#include <event2/event.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "node/refusals.h"
#include "server/connection.h"

/* At once: all connections that there can be, in less than a millisecond. So two looks at most show
 * that a client has read its replies, however many strangers leave theirs unread. */
enum { LOOKS = 4096 };
static const struct timeval between_looks = {.tv_usec = 10000};

/* ------------------------------------------------------------------ one connection */

/* Whether anything that was sent is still in the client's queue. */
static bool has_unread(const struct rsmd_connection *connection)
{
    int bytes = 0;
    return ioctl(connection->socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static void look_later(struct rsmd_server *server)
{
    if (!evtimer_pending(server->unread_timer, NULL))
        evtimer_add(server->unread_timer, &between_looks);
}

void rsmd_unread_sent(struct rsmd_connection *connection, unsigned descriptors)
{
    if (descriptors == 0)
        return;
    if (connection->unread == 0)
        DL_APPEND2(connection->server->unread, connection, unread_prev, unread_next);
    connection->unread += descriptors;
    connection->server->unread_count += descriptors;
    rsmd_user_of(connection)->unread += descriptors;
    look_later(connection->server);
}

void rsmd_unread_resume(struct rsmd_connection *connection)
{
    if (has_unread(connection))
        rsmd_unread_sent(connection, RSM_PACKET_FDS_MAX);
}

/* All has been read, or counts no more. */
static void discharge(struct rsmd_connection *connection)
{
    unsigned descriptors = connection->unread;
    DL_DELETE2(connection->server->unread, connection, unread_prev, unread_next);
    connection->unread = 0;
    connection->server->unread_count -= descriptors;
    rsmd_user_of(connection)->unread -= descriptors;
    void (*close_socket)(struct rsmd_connection *) = connection->close_when_read;
    if (close_socket != NULL)
        close_socket(connection);
}

/* Those that are still unread go to the end, behind those that this look did not get to. */
static void look(struct rsmd_server *server)
{
    bool more = server->unread != NULL;
    const struct rsmd_connection *last = more ? server->unread->unread_prev : NULL;
    for (unsigned i = 0; i < LOOKS && more; i++) {
        struct rsmd_connection *each = server->unread;
        more = each != last;
        if (has_unread(each)) {
            DL_DELETE2(server->unread, each, unread_prev, unread_next);
            DL_APPEND2(server->unread, each, unread_prev, unread_next);
        } else {
            discharge(each);
        }
    }
}

/* ------------------------------------------------------------------ those who wait */

/* Whether one more reply fits, whatever it brings. */
static bool has_room(const struct rsmd_server *server, const struct rsmd_account *user)
{
    const struct rsmd_quota *quota = &user->shares->quota[RSMD_DESCRIPTORS];
    uint64_t one = user->privileged ? quota->total : quota->one;
    uint64_t all = user->privileged ? quota->total : quota->users;
    return user->unread + RSM_PACKET_FDS_MAX <= one &&
           server->unread_count + RSM_PACKET_FDS_MAX <= all;
}

bool rsmd_unread_holds(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    const struct rsmd_account *user = rsmd_user_of(connection);
    if (user->unread == 0 || !connection->client.greeted || has_room(server, user))
        return false;
    if (connection->held)
        return true;
    rsmd_log_of_user(server->node, user->key.uid,
                     "the requests of user %u wait: %" PRIu64
                     " descriptors in replies have not been read",
                     (unsigned)user->key.uid, user->unread);
    DL_APPEND2(server->held, connection, held_prev, held_next);
    connection->held = true;
    return true;
}

void rsmd_unread_leave(struct rsmd_connection *connection)
{
    if (connection->held)
        DL_DELETE2(connection->server->held, connection, held_prev, held_next);
    connection->held = false;
}

static void let_held_ask(struct rsmd_server *server)
{
    for (struct rsmd_connection *each; (each = server->held) != NULL;) {
        rsmd_unread_leave(each);
        rsmd_turns_wait(&server->turns, &each->seat);
    }
}

static void on_time(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_server *server = argument;
    look(server);
    let_held_ask(server);
    if (server->unread != NULL)
        look_later(server);
}

bool rsmd_unread_init(struct rsmd_server *server, struct event_base *base)
{
    server->unread_timer = evtimer_new(base, on_time, server);
    return server->unread_timer != NULL;
}

/* ------------------------------------------------------------------ ends */

bool rsmd_unread_keeps(struct rsmd_connection *connection,
                       void (*close_socket)(struct rsmd_connection *connection))
{
    if (connection->unread == 0)
        return false;
    if (!has_unread(connection)) {
        discharge(connection);
        return false;
    }
    connection->close_when_read = close_socket;
    return true;
}

void rsmd_unread_finish(struct rsmd_server *server)
{
    struct rsmd_connection *each, *next;
    for (each = server->unread; each != NULL; each = next) {
        next = each->unread_next;
        if (each->close_when_read != NULL)
            discharge(each);
    }
}
