/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/descriptor.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/connection.h"
#include "base/log.h"
#include "node/refusals.h"
#include "node/fabric.h"
#include "node/revokes.h"
#include "remote/remote.h"
#include "node/saved.h"
#include "node/unfinished.h"
#include "cluster/cluster.h"

static const int64_t accept_ns = 1000000; /* then the loop checks other events */

enum {
    THREADS_MAX = 64, /* for long jobs, see worker.h */
    THREADS_PER_USER = 2,
    SETTLE_TIMEOUT_MS = 3000, /* for these threads when it is replaced */
    END_TIMEOUT_MS = 1000,    /* for these threads when the daemon ends */
    ACCEPT_PAUSE_MS = 100,
    FIRST_CLIENT_MS = 10000, /* an embedded node without any client ends after this */
};

static struct timeval milliseconds(int ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* The signals that the loop handles. */
static sigset_t handled_signals(bool reloads)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (reloads) {
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGUSR2);
    }
    return set;
}

void rsmd_server_hold_signals(bool reloads)
{
    sigset_t set = handled_signals(reloads);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void end_loop(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_server *server = argument;
    event_base_loopbreak(server->base); /* event_base_loopexit() needs memory, which may be out */
}

static void on_signal(evutil_socket_t fd, short what, void *argument)
{
    struct rsmd_server *server = argument;
    struct signalfd_siginfo signal;
    while (read(fd, &signal, sizeof signal) == (ssize_t)sizeof signal) {
        int number = (int)signal.ssi_signo;
        if (number == SIGHUP) {
            if (server->reload != NULL)
                server->reload(server->reload_context);
        } else if (number != SIGUSR2) {
            server->stored = number == SIGTERM && server->keeps_state;
            end_loop(fd, what, server);
        } else if (server->may_be_replaced) {
            server->replaced = true;
            end_loop(fd, what, server);
            return; /* a later SIGTERM is the successor's */
        }
    }
}

static bool have_spare(struct rsmd_server *server)
{
    if (server->spare < 0)
        server->spare = rsmcore_fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return server->spare >= 0;
}

bool rsmd_server_use_spare(struct rsmd_server *server)
{
    if (server->spare < 0)
        return false;
    close(server->spare);
    server->spare = -1;
    return true;
}

/* Without free descriptors, pause: a connection in the backlog would wake the loop for ever. */
static void pause_accepting(struct rsmd_server *server)
{
    struct timeval pause = milliseconds(ACCEPT_PAUSE_MS);
    event_del(server->accepting);
    event_add(server->accept_again, &pause);
}

static void accept_again(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_server *server = argument;
    if (have_spare(server))
        event_add(server->accepting, NULL);
    else
        pause_accepting(server);
}

static void accept_clients(evutil_socket_t listener, short what, void *argument)
{
    (void)what;
    struct rsmd_server *server = argument;
    for (int64_t end = rsm_clock_ns() + accept_ns; rsm_clock_ns() < end;) {
        bool spare = have_spare(server);
        int fd = spare ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        if (fd >= 0) {
            rsmd_connection_begin(server, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            rsmd_log_of_node(server->node, server->node->id, "cannot accept a client now: %m");
            pause_accepting(server);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

void rsmd_server_greeted(struct rsmd_server *server, int change)
{
    server->greeted_count += (uint32_t)change;
    server->node->client_count = server->greeted_count;
    if (server->linger_ms < 0)
        return;
    struct timeval linger = milliseconds(server->linger_ms);
    if (server->greeted_count == 0)
        event_add(server->unused, &linger);
    else
        event_del(server->unused);
}

static bool make_events(struct rsmd_server *server)
{
    struct event_config *config = event_config_new();
    if (config == NULL)
        return false;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_require_features(config, EV_FEATURE_ET);
    server->base = event_base_new_with_config(config);
    event_config_free(config);
    if (server->base == NULL)
        return false;
    server->accepting =
        event_new(server->base, server->listener, EV_READ | EV_PERSIST, accept_clients, server);
    server->accept_again = evtimer_new(server->base, accept_again, server);
    server->unused = evtimer_new(server->base, end_loop, server);
    server->signalled =
        event_new(server->base, server->signals, EV_READ | EV_PERSIST, on_signal, server);
    server->greeting_over = rsmd_greeting_timer(server);
    server->fabric = rsmd_fabric_start(server->base, server->node);
    server->node->worker =
        rsmd_worker_new(server->base, &(struct rsmd_worker_limits){.threads = THREADS_MAX,
                                                                   .per_owner = THREADS_PER_USER});
    return rsmd_revokes_init(server->node, server->base) && rsmd_connections_init(server) &&
           rsmd_endings_init(server, server->base) && rsmd_unread_init(server, server->base) &&
           server->node->worker != NULL && server->fabric != NULL && server->accepting != NULL &&
           server->accept_again != NULL && server->unused != NULL &&
           server->greeting_over != NULL && server->signalled != NULL;
}

static void free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

static void free_events(struct rsmd_server *server)
{
    free_event(server->accepting);
    free_event(server->accept_again);
    free_event(server->unused);
    free_event(server->greeting_over);
    free_event(server->signalled);
    free_event(server->ending_goes_on);
    free_event(server->unread_timer);
    rsmd_turns_end(&server->turns);
    rsmd_worker_end(server->node->worker);
    server->node->worker = NULL;
    rsmd_revokes_stop(server->node);
    rsmd_fabric_stop(server->fabric);
    if (server->base != NULL)
        event_base_free(server->base);
    if (server->signals >= 0)
        close(server->signals);
    libevent_global_shutdown();
}

bool rsmd_server_init(struct rsmd_server *server, struct rsmd_node *node, int listener,
                      int linger_ms)
{
    memset(server, 0, sizeof *server);
    server->node = node;
    server->listener = listener;
    server->spare = -1;
    node->has_turns = true;
    server->linger_ms = linger_ms;
    sigset_t handled = handled_signals(linger_ms < 0);
    server->signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    /* Set on the listener, so that packets sent before the accept carry their sender, too. */
    int on = 1;
    rsm_packet_refuse_fds(listener);
    bool made = server->signals >= 0 &&
                setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
                make_events(server) && event_add(server->accepting, NULL) == 0 &&
                event_add(server->signalled, NULL) == 0;
    struct timeval first = milliseconds(FIRST_CLIENT_MS);
    if (made && linger_ms >= 0)
        made = event_add(server->unused, &first) == 0;
    if (!made) {
        free_events(server);
        close(listener);
    }
    return made;
}

void rsmd_server_run(struct rsmd_server *server)
{
    struct rsmd_steps *steps = &server->node->steps;
    rsmd_steps_begin(steps);
    while (event_base_loop(server->base, EVLOOP_ONCE) == 0 && !event_base_got_break(server->base))
        rsmd_steps_next(steps);
}

void rsmd_server_settle(struct rsmd_server *server)
{
    struct rsmd_connection *connection, *next;
    event_del(server->accepting);
    rsmd_remote_stop(server->node);
    rsmd_cluster_stop(server->node->cluster);
    server->node->cluster = NULL;
    rsmd_endings_finish(server, SETTLE_TIMEOUT_MS);
    DL_FOREACH(server->connections, connection)
    if (rsmd_unfinished_is(&connection->client))
        rsmd_unfinished_go_on(server->node, &connection->client, INT64_MAX);
    rsmd_revokes_finish(server->node);
    DL_FOREACH_SAFE(server->connections, connection, next)
    {
        if (rsmd_saved_all_of(&connection->client))
            continue;
        rsm_log_warning("process %d cannot be handed over to the next rsmd, and loses what it has",
                        (int)connection->client.peer.pid);
        rsmd_connection_end(connection);
    }
    rsmd_endings_finish(server, END_TIMEOUT_MS);
}

bool rsmd_server_end(struct rsmd_server *server, struct rsmd_instance *instance)
{
    rsmd_instance_unlink(instance);
    event_del(server->accepting);
    close(server->listener);
    while (server->connections != NULL)
        rsmd_connection_end(server->connections);
    rsmd_server_use_spare(server);
    rsmd_remote_stop(server->node);
    bool all = rsmd_endings_finish(server, END_TIMEOUT_MS);
    rsmd_cluster_stop(server->node->cluster);
    server->node->cluster = NULL;
    free_events(server);
    return all;
}
