/* SPDX-License-Identifier: BSD-3-Clause */
/* The process rsm-tcpd: found beside the module, watched, and started again when it has ended. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/tcp/node/port.h"

enum { PAUSE_MS = 1000 /* from one start to the next */ };

/* ------------------------------------------------------------------ the program */

static bool find_beside_module(char path[PATH_MAX])
{
    char module[PATH_MAX];
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&tcp_helper_start, &info) == 0 ||
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

/* ------------------------------------------------------------------ start and end */

static bool watch(struct tcp_node_port *port)
{
    struct epoll_event control = {.events = EPOLLIN, .data.fd = port->helper.control};
    struct epoll_event process = {.events = EPOLLIN, .data.fd = port->helper.process};
    struct tcp_control listen_at = {.type = TCP_CONTROL_LISTEN,
                                    .timeout_ms = port->options.timeout_ms,
                                    .spin_us = port->options.serve_spin_us};
    const struct rsm_packet_fds listener = {.count = 1, .fds = {port->listener}};
    return epoll_ctl(port->events, EPOLL_CTL_ADD, port->helper.control, &control) == 0 &&
           epoll_ctl(port->events, EPOLL_CTL_ADD, port->helper.process, &process) == 0 &&
           tcp_control_send(port->helper.control, &listen_at, &listener) == 0;
}

bool tcp_helper_start(struct tcp_node_port *port)
{
    char path[PATH_MAX];
    if (!find_program(port, path))
        return false;
    port->started_ns = rsm_clock_ns();
    int error =
        rsm_helper_start(&port->helper, path, port->options.tls ? TCP_SERVER_ENCRYPTS : NULL);
    if (error == 0 && watch(port))
        return true;
    rsm_log_error("tcp: %s: %s", path, strerror(error != 0 ? error : errno));
    tcp_helper_end(port);
    return false;
}

void tcp_helper_end(struct tcp_node_port *port)
{
    if (port->helper.pid != 0 && !rsm_helper_end(&port->helper, true))
        rsm_log_error("tcp: rsm-tcpd does not end: it may go on serving its importers");
}

void tcp_helper_lost(struct tcp_node_port *port)
{
    struct tcp_node_offer *offer, *next;
    tcp_helper_end(port);
    port->full = false;
    HASH_ITER(hh, port->offers, offer, next)
    {
        offer->lost |= offer->state == TCP_OFFER_OPEN && !offer->ending;
        offer->state = TCP_OFFER_ENDED;
        offer->listens = offer->under_way = offer->unsent = false;
    }
    tcp_report_later(port);
    int64_t left = port->started_ns + PAUSE_MS * RSM_NS_PER_MS - rsm_clock_ns();
    const struct itimerspec when = {.it_value = rsm_timespec(left > 0 ? left : 1)};
    (void)timerfd_settime(port->restart, 0, &when, NULL);
    rsm_log_error("tcp: rsm-tcpd has ended: its connections are aborted, and it is started again");
}

void tcp_helper_restart(struct tcp_node_port *port)
{
    uint64_t count;
    const struct itimerspec when = {.it_value = rsm_timespec(PAUSE_MS * RSM_NS_PER_MS)};
    ssize_t ignored = read(port->restart, &count, sizeof count);
    (void)ignored;
    if (port->helper.pid == 0 && !tcp_helper_start(port))
        (void)timerfd_settime(port->restart, 0, &when, NULL);
}
