/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "server/connection.h"

#include "base/log.h"

/* Start the timer for the oldest. One that runs for a connection that has gone since is not later.
 * It is not added again, because libevent would forget that it is due. */
static void set_timer(struct rsmd_server *server)
{
    const struct rsmd_connection *oldest = server->ungreeted;
    if (oldest == NULL || evtimer_pending(server->greeting_over, NULL))
        return;
    int64_t left = oldest->greeting_until - rsm_clock_ms();
    if (left < 0)
        left = 0;
    struct timeval wait = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    event_add(server->greeting_over, &wait);
}

/* All have the same time limit, so the oldest comes first. A daemon that was not scheduled may not
 * have read the greeting yet, hence the last look. */
static void on_time_over(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_server *server = argument;
    int64_t now = rsm_clock_ms();
    while (server->ungreeted != NULL && server->ungreeted->greeting_until <= now) {
        rsm_log_debug("process %d does not say what it wants",
                      (int)server->ungreeted->client.peer.pid);
        rsmd_connection_last_look(server->ungreeted);
    }
    set_timer(server);
}

struct event *rsmd_greeting_timer(struct rsmd_server *server)
{
    return evtimer_new(server->base, on_time_over, server);
}

/* The user with most silent connections; of several, the one with the oldest. */
static const struct rsmd_account *largest_user(const struct rsmd_server *server)
{
    const struct rsmd_account *largest = rsmd_user_of(server->ungreeted);
    const struct rsmd_connection *each;
    DL_FOREACH2(server->ungreeted, each, silent_next)
    if (rsmd_user_of(each)->ungreeted > largest->ungreeted)
        largest = rsmd_user_of(each);
    return largest;
}

static void push_out_oldest_of(struct rsmd_server *server, const struct rsmd_account *account)
{
    struct rsmd_connection *oldest;
    DL_FOREACH2(server->ungreeted, oldest, silent_next)
    if (rsmd_user_of(oldest) == account)
        break;
    rsmd_connection_last_look(oldest);
}

void rsmd_greeting_await(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    struct rsmd_account *account = rsmd_user_of(connection);
    const struct rsmd_shares *shares = account->shares;
    if (account->ungreeted >= shares->ungreeted_max_per_user)
        push_out_oldest_of(server, account);
    else if (server->ungreeted_count >= shares->ungreeted_max)
        push_out_oldest_of(server, largest_user(server));
    connection->greeting_until = rsm_clock_ms() + RSM_PROTO_GREETING_MS;
    DL_APPEND2(server->ungreeted, connection, silent_prev, silent_next);
    server->ungreeted_count++;
    account->ungreeted++;
    if (server->ungreeted == connection)
        set_timer(server);
}

void rsmd_greeting_done(struct rsmd_connection *connection)
{
    struct rsmd_server *server = connection->server;
    bool oldest = server->ungreeted == connection;
    DL_DELETE2(server->ungreeted, connection, silent_prev, silent_next);
    server->ungreeted_count--;
    rsmd_user_of(connection)->ungreeted--;
    if (oldest)
        set_timer(server);
}
