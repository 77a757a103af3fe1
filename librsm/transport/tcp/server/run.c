/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop of rsm-tcpd. */
#include <sched.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "transport/tcp/server/server.h"

/* Those whose turn has ended, one turn each. */
static void serve_busy(struct tcp_server *server)
{
    struct tcp_link *link;
    unsigned count;
    DL_COUNT2(server->busy, link, count, busy_next);
    for (; count > 0 && server->busy != NULL; count--) {
        link = server->busy;
        DL_DELETE2(server->busy, link, busy_prev, busy_next); /* it goes to the end */
        link->busy = false;
        tcp_link_serve(server, link);
    }
}

/* Whether the loop looks for what comes behind the latest event. A processor that others want is
 * theirs first. */
static bool looks_for_more(struct tcp_server *server)
{
    if (!server->looking)
        return false;
    server->looking = rsm_clock_ns() - server->latest_ns < server->spin_ns;
    if (server->looking)
        sched_yield();
    else
        rsm_looks_missed(&server->looks);
    return server->looking;
}

static int wait_time(struct tcp_server *server)
{
    int until_expiry = tcp_server_expire(server);
    return server->busy != NULL || looks_for_more(server) ? 0 : until_expiry;
}

/* Events have been served. Behind a signal it is the turn of rsmd and its client. */
static void begin_to_look(struct tcp_server *server)
{
    if (server->looking)
        rsm_looks_found(&server->looks);
    server->looking = server->spin_ns > 0 && !server->reported && rsm_looks_pay(&server->looks);
    server->latest_ns = server->looking ? rsm_clock_ns() : 0;
}

/* Whether one connection has something to do, and nothing else. */
static bool has_one(const struct tcp_server *server)
{
    const void *only = server->busy;
    if (server->busy != NULL && server->busy->busy_next != NULL)
        return false;
    for (int i = 0; i < server->event_count; i++) {
        const void *of = server->events[i].data.ptr;
        if (of == &server->control || of == &server->listener || (only != NULL && of != only))
            return false;
        only = of;
    }
    return true;
}

/* False: rsmd has gone. What it says comes first, so that a grant is known before its importer. */
static bool serve_events(struct tcp_server *server)
{
    for (int i = 0; i < server->event_count; i++)
        if (server->events[i].data.ptr == &server->control && !tcp_server_take_messages(server))
            return false;
    for (int i = 0; i < server->event_count; i++) {
        void *of = server->events[i].data.ptr;
        if (of == &server->listener)
            tcp_server_accept(server);
        else if (of != NULL && of != &server->control && !((struct tcp_link *)of)->busy)
            tcp_link_serve(server, of); /* the busy ones follow, one turn each */
    }
    return true;
}

bool tcp_server_turn(struct tcp_server *server, bool waits)
{
    server->event_count = 0; /* none of links that end meanwhile */
    int wait_ms = wait_time(server);
    int count = epoll_wait(server->epoll, server->events, TCP_EVENTS, waits ? wait_ms : 0);
    server->event_count = count > 0 ? count : 0;
    server->turn_bytes = has_one(server) ? TCP_TURN_ALONE : TCP_TURN_BYTES;
    if (!serve_events(server))
        return false;
    server->event_count = 0;
    serve_busy(server);
    tcp_server_report(server);
    if (count > 0)
        begin_to_look(server);
    server->reported = false;
    return true;
}

void tcp_server_run(struct tcp_server *server)
{
    while (tcp_server_turn(server, true))
        continue;
}
