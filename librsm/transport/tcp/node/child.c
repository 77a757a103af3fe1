/* SPDX-License-Identifier: BSD-3-Clause */
/* The process rsm-tcpd: found beside the module, watched, and started again when it has ended. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "transport/tcp/node/port.h"

enum { PAUSE_MS = 1000 /* from one start to the next */ };

/* ------------------------------------------------------------------ the program */

static bool find_beside_module(char path[PATH_MAX])
{
    char module[PATH_MAX];
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&tcp_child_start, &info) == 0 ||
        realpath(info.dli_fname, module) == NULL)
        return false;
    char *end = strrchr(module, '/');
    *end = '\0';
    return snprintf(path, PATH_MAX, "%s/rsm-tcpd", module) < PATH_MAX && access(path, X_OK) == 0;
}

static bool find_program(const struct tcp_node_port *port, char path[PATH_MAX])
{
    if (port->options.server[0] != '\0') {
        snprintf(path, PATH_MAX, "%s", port->options.server);
        return true;
    }
    if (find_beside_module(path))
        return true;
    rsm_log_error("tcp: the program rsm-tcpd is not installed");
    return false;
}

/* ------------------------------------------------------------------ start */

/* With the control socket as descriptor 3, no other descriptor but the standard ones, no signal
 * blocked or ignored, and no environment. */
static int spawn(const char *path, bool tls, int control, pid_t *child)
{
    char name[] = "rsm-tcpd", encrypts[] = TCP_SERVER_ENCRYPTS;
    char *const arguments[] = {name, tls ? encrypts : NULL, NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control, 3);
    posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(child, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static bool watch(struct tcp_node_port *port)
{
    struct epoll_event control = {.events = EPOLLIN, .data.fd = port->child.control};
    struct epoll_event process = {.events = EPOLLIN, .data.fd = port->child.process};
    struct tcp_control listen_at = {.type = TCP_CONTROL_LISTEN,
                                    .timeout_ms = port->options.timeout_ms,
                                    .spin_us = port->options.serve_spin_us};
    return epoll_ctl(port->events, EPOLL_CTL_ADD, port->child.control, &control) == 0 &&
           epoll_ctl(port->events, EPOLL_CTL_ADD, port->child.process, &process) == 0 &&
           tcp_control_send(port->child.control, &listen_at, &port->listener, 1) == 0;
}

bool tcp_child_start(struct tcp_node_port *port)
{
    char path[PATH_MAX];
    int sockets[2];
    struct tcp_child *child = &port->child;
    if (!find_program(port, path))
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        rsm_log_error("tcp: a socket for rsm-tcpd: %s", strerror(errno));
        return false;
    }
    child->started_ns = rsm_clock_ns();
    int error = spawn(path, port->options.tls, sockets[1], &child->pid);
    close(sockets[1]);
    if (error != 0) {
        rsm_log_error("tcp: %s: %s", path, strerror(error));
        close(sockets[0]);
        child->pid = 0;
        return false;
    }
    child->control = sockets[0];
    child->process = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->process >= 0 && watch(port))
        return true;
    rsm_log_error("tcp: rsm-tcpd cannot be watched: %s", strerror(errno));
    tcp_child_end(port);
    return false;
}

/* ------------------------------------------------------------------ end */

/* Where it runs as another user, rsmd may lack the privilege to kill it. It ends when the socket to
 * it is closed. */
void tcp_child_end(struct tcp_node_port *port)
{
    struct tcp_child *child = &port->child;
    if (child->pid == 0)
        return;
    kill(child->pid, SIGKILL);
    close(child->control);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (child->process >= 0)
        close(child->process);
    *child = (struct tcp_child){.control = -1, .process = -1, .started_ns = child->started_ns};
}

void tcp_child_lost(struct tcp_node_port *port)
{
    struct tcp_node_offer *offer, *next;
    tcp_child_end(port);
    port->full = false;
    HASH_ITER(hh, port->offers, offer, next)
    {
        offer->lost |= offer->state == TCP_OFFER_OPEN && !offer->ending;
        offer->state = TCP_OFFER_ENDED;
        offer->listens = offer->under_way = offer->unsent = false;
    }
    tcp_report_later(port);
    int64_t left = port->child.started_ns + PAUSE_MS * RSM_NS_PER_MS - rsm_clock_ns();
    const struct itimerspec when = {.it_value = rsm_timespec(left > 0 ? left : 1)};
    (void)timerfd_settime(port->restart, 0, &when, NULL);
    rsm_log_error("tcp: rsm-tcpd has ended: its connections are aborted, and it is started again");
}

void tcp_child_restart(struct tcp_node_port *port)
{
    uint64_t count;
    const struct itimerspec when = {.it_value = rsm_timespec(PAUSE_MS * RSM_NS_PER_MS)};
    ssize_t ignored = read(port->restart, &count, sizeof count);
    (void)ignored;
    if (port->child.pid == 0 && !tcp_child_start(port))
        (void)timerfd_settime(port->restart, 0, &when, NULL);
}
