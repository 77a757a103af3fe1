/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bridge made of an ivshmem server: two halves of shared memory, one for each host's pool.
 * There is no driver below that could take a mapping from a process, or hold a session, so both
 * is done here: the session by session.c, which acknowledges no new one while an import of an
 * older one is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <poll.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extent_memfd.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/ntb/common/status.h"

#include "port.h"

enum { RESERVED_GENERATION = 0, MEET_MS = 2, BEATS = 6, BEAT_MOST_MS = 100 };

struct settings {
    char socket[108];
    unsigned timeout_ms, heartbeat_ms, wait_ms;
};

/* Make the descriptor readable. */
void ivshmem_wake(const struct ivshmem_port *port)
{
    static const uint64_t one = 1;
    if (write(port->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        rsm_log_error("ntb: ivshmem: eventfd: %s", strerror(errno));
}

/* Lock held. An event that finds no memory is as good as lost, and the queue says so. */
void ivshmem_tell(struct ivshmem_port *port, enum ntb_port_event_type type, uint64_t id)
{
    struct ivshmem_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        rsm_log_error("ntb: ivshmem: no memory for an event");
        port->lost = true;
        ivshmem_wake(port);
        return;
    }
    event->what = (struct ntb_port_event){.type = type, .epoch = port->session.epoch, .id = id};
    DL_APPEND(port->events, event);
    ivshmem_wake(port);
}

/* ------------------------------------------------------------------ session */

static void on_begun(struct ivshmem_port *port)
{
    struct ivshmem_extent *extent, *next;
    const struct ivshmem_import *import;
    port->up = true;
    port->wary = false;
    for (extent = port->extents; extent != NULL; extent = next) {
        next = extent->hh.next;
        /* The other host has ended all that it had in the session before. */
        if (extent->closed)
            ivshmem_end_extent(port, extent);
        else
            extent->exposed = true;
    }
    for (import = port->imports; import != NULL; import = import->hh.next)
        ntb_store32(&import->status->epoch, port->session.epoch);
    ivshmem_tell(port, NTB_PORT_UP, 0);
    ivshmem_tell(port, NTB_PORT_PEER, port->session.peer_node);
}

static void on_ended(struct ivshmem_port *port)
{
    const struct ivshmem_import *import;
    port->up = false;
    port->link_seq++;
    port->old_imports = HASH_COUNT(port->imports);
    for (import = port->imports; import != NULL; import = import->hh.next) {
        ntb_store32(&import->status->epoch, 0);
        ntb_store32(&import->status->link_seq, port->link_seq);
    }
    ivshmem_tell(port, NTB_PORT_DOWN, 0);
}

static void step(struct ivshmem_port *port)
{
    struct ntb_session *session = &port->session;
    pthread_mutex_lock(&port->lock);
    session->held = port->old_imports != 0;
    port->wary = port->wary && (port->ivshmem.bells == 0 || port->ivshmem.peer);
    enum ntb_session_news news =
        port->ivshmem.peer ? ntb_session_step(session, rsm_clock_ms()) : ntb_session_end(session);
    if (!port->ivshmem.peer)
        session->heard = session->looked = false; /* a new one has to be heard anew */
    if (news == NTB_SESSION_BEGUN)
        on_begun(port);
    else if (news == NTB_SESSION_ENDED)
        on_ended(port);
    bool ring = session->tell;
    session->tell = false;
    pthread_mutex_unlock(&port->lock);
    if (ring)
        ivshmem_ring(&port->ivshmem);
}

static bool watch(const struct ivshmem_port *port, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(port->epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

/* Those that came with the last look are new. */
static void watch_bells(const struct ivshmem_port *port)
{
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    for (unsigned i = 0; i < port->ivshmem.bells; i++) {
        if (i != IVSHMEM_POST_BELL)
            watch(port, port->ivshmem.bell[i]);
        else
            (void)epoll_ctl(port->posted, EPOLL_CTL_ADD, port->ivshmem.bell[i], &edge);
    }
    (void)epoll_wait(port->posted, &edge, 1, 0); /* before the counters are read */
}

static void service(struct ntb_port *base)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    uint64_t count;
    bool had_peer = port->ivshmem.peer;
    uint32_t former = port->ivshmem.peer_id;
    while (read(port->timer, &count, sizeof count) > 0 ||
           read(port->wake, &count, sizeof count) > 0)
        ;
    if (port->ivshmem.socket >= 0 && !ivshmem_service(&port->ivshmem)) {
        rsm_log_error("ntb: ivshmem: the server has gone: the other host is out of reach until "
                      "rsmd is restarted");
        pthread_mutex_lock(&port->lock);
        ivshmem_tell(port, NTB_PORT_GONE, 0);
        pthread_mutex_unlock(&port->lock);
    }
    watch_bells(port);
    ivshmem_take_bells(&port->ivshmem);
    if (had_peer && port->ivshmem.peer && port->ivshmem.peer_id != former) {
        pthread_mutex_lock(&port->lock); /* another one, and the end of the first was not seen */
        if (ntb_session_end(&port->session) == NTB_SESSION_ENDED)
            on_ended(port);
        port->session.heard = port->session.looked = false;
        pthread_mutex_unlock(&port->lock);
    }
    step(port);
}

static bool next_event(struct ntb_port *base, struct ntb_port_event *event)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    struct ivshmem_event *first = port->events;
    if (first != NULL) {
        *event = first->what;
        DL_DELETE(port->events, first);
    }
    bool lost = first == NULL && port->lost;
    if (lost) {
        *event = (struct ntb_port_event){.type = NTB_PORT_LOST, .epoch = port->session.epoch};
        port->lost = false;
    }
    pthread_mutex_unlock(&port->lock);
    free(first);
    return first != NULL || lost;
}

/* ------------------------------------------------------------------ port */

static int port_fd(struct ntb_port *port)
{
    return ivshmem_port_of(port)->epoll;
}

static bool start_timer(const struct ivshmem_port *port, uint32_t ms)
{
    struct timespec interval = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    struct itimerspec time = {.it_interval = interval, .it_value = interval};
    return timerfd_settime(port->timer, 0, &time, NULL) == 0;
}

static bool make_descriptors(struct ivshmem_port *port, uint32_t heartbeat_ms)
{
    port->epoll = rsmcore_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    port->timer =
        rsmcore_fd_above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    port->wake = rsmcore_fd_above_stdio(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    port->posted = rsmcore_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    return port->epoll >= 0 && port->timer >= 0 && port->wake >= 0 && port->posted >= 0 &&
           watch(port, port->timer) && watch(port, port->wake) && watch(port, port->posted) &&
           watch(port, port->ivshmem.socket) && start_timer(port, heartbeat_ms);
}

/* What processes have imported is over, as they see on its status page. */
static void free_all(struct ivshmem_port *port)
{
    struct ivshmem_import *import = port->imports, *next_import;
    struct ivshmem_extent *extent = port->extents, *next_extent;
    HASH_CLEAR(hh, port->imports);
    for (; import != NULL; import = next_import) {
        next_import = import->hh.next;
        ntb_store32(&import->status->revoked, 1);
        ivshmem_free_import(import);
    }
    HASH_CLEAR(hh, port->extents);
    for (; extent != NULL; extent = next_extent) {
        next_extent = extent->hh.next;
        free(extent);
    }
}

static void port_close(struct ntb_port *base)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    struct ntb_port_event event;
    free_all(port);
    while (next_event(base, &event))
        ;
    if (port->ivshmem.base != NULL && port->session.own != NULL) {
        ntb_session_leave(&port->session);
        ivshmem_ring(&port->ivshmem);
    }
    const int fds[] = {port->epoll, port->timer, port->wake, port->posted};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    ivshmem_close(&port->ivshmem);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

/* Let the other host, if it is there, learn of this one before anybody exports: what it may still
 * have of this one's predecessor it gives up before it agrees on a session. */
static void meet(struct ivshmem_port *port, uint32_t wait_ms)
{
    int64_t end = rsm_deadline(wait_ms);
    struct pollfd readable = {.fd = port->epoll, .events = POLLIN};
    port->wary = true;
    service(&port->base);
    /* The server tells of the other host before it gives the own bells. */
    while ((port->ivshmem.bells == 0 || (port->ivshmem.peer && !port->up)) &&
           !rsm_deadline_has_passed(end)) {
        /* Each ring makes the other host look, and its heart beat. */
        (void)poll(&readable, 1, MEET_MS);
        ivshmem_ring(&port->ivshmem);
        service(&port->base);
    }
}

/* What the name of the device says; 0: not at all. */
static unsigned number_in(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
}

static void read_settings(const struct rsm_controller_info *info, struct settings *settings)
{
    const char *socket = info->device + strlen(IVSHMEM_PREFIX), *more = strchr(socket, ',');
    const char *text = more != NULL ? more : "";
    unsigned timeout = number_in(text, ",timeout="), beat = number_in(text, ",heartbeat=");
    snprintf(settings->socket, sizeof settings->socket, "%.*s", (int)strcspn(socket, ","), socket);
    timeout = timeout != 0 ? timeout : info->peer_timeout_ms != 0 ? info->peer_timeout_ms : 3000;
    settings->timeout_ms = timeout;
    settings->heartbeat_ms = beat != 0                        ? beat
                             : timeout / BEATS > BEAT_MOST_MS ? BEAT_MOST_MS
                                                              : timeout / BEATS;
    settings->wait_ms = strstr(text, ",wait=") != NULL ? number_in(text, ",wait=") : 500;
}

static bool set_up(struct ivshmem_port *port, const struct settings *settings,
                   const struct ntb_options *options)
{
    uint32_t generation = RESERVED_GENERATION;
    struct ntb_session *session = &port->session;
    port->half = port->ivshmem.size / 2 / IVSHMEM_GRANULE * IVSHMEM_GRANULE;
    if (port->half <= NTB_CONTROL_BYTES) {
        rsm_log_error("ntb: ivshmem: the shared memory is too small: it needs more than %u KiB",
                      2 * (unsigned)NTB_CONTROL_BYTES / 1024);
        return false;
    }
    while (generation == 0 || generation == UINT32_MAX)
        if (getrandom(&generation, sizeof generation, 0) != sizeof generation)
            return false;
    port->own = (port->ivshmem.id & 1) * port->half;
    port->peer = port->half - port->own;
    *session = (struct ntb_session){.own = port->ivshmem.base + port->own,
                                    .peer = port->ivshmem.base + port->peer,
                                    .own_size = port->half,
                                    .window_size = port->half,
                                    .posts = options->doorbell};
    ntb_session_begin(session, generation, port->node, settings->timeout_ms);
    return make_descriptors(port, settings->heartbeat_ms);
}

/* The server may be started later than this is asked. */
static enum rsm_status port_check(const struct rsm_controller_info *info,
                                  const struct ntb_options *options)
{
    (void)info, (void)options;
    return RSM_ST_OK;
}

static enum rsm_status port_open(const struct rsm_controller_info *info,
                                 const struct ntb_options *options, struct ntb_port **made)
{
    struct settings settings;
    struct ivshmem_port *port = calloc(1, sizeof *port);
    if (port == NULL)
        return RSM_ST_NO_MEMORY;
    port->base.ops = &ntb_port_ivshmem;
    port->node = info->node;
    port->epoll = port->timer = port->wake = port->posted = -1;
    port->ivshmem = (struct ivshmem){.socket = -1, .memory = -1};
    pthread_mutex_init(&port->lock, NULL);
    read_settings(info, &settings);
    if (!ivshmem_open(&port->ivshmem, settings.socket) || !set_up(port, &settings, options)) {
        port_close(&port->base);
        return RSM_ST_NO_CONTROLLER;
    }
    meet(port, settings.wait_ms);
    *made = &port->base;
    return RSM_ST_OK;
}

static void port_info(struct ntb_port *base, struct ntb_port_info *info)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    const struct ntb_session *session = &port->session;
    *info = (struct ntb_port_info){.pool_size = port->half,
                                   .pool_first = NTB_CONTROL_BYTES,
                                   .granule = IVSHMEM_GRANULE,
                                   .extents_max = IVSHMEM_EXTENTS_MAX,
                                   .generation = session->generation,
                                   .sequence = session->sequence,
                                   .posts = session->posts};
    if (session->up) {
        info->window_size = session->peer_pool;
        info->epoch = session->epoch;
        info->peer_generation = session->peer_generation;
        info->peer_sequence = session->peer_sequence;
        info->peer_node = session->peer_node;
        info->peer_posts = session->peer_posts;
    }
    pthread_mutex_unlock(&port->lock);
}

static void port_trouble(struct ntb_port *port, char *text, size_t size)
{
    (void)port, (void)size;
    text[0] = '\0';
}

const struct ntb_port_ops ntb_port_ivshmem = {
    .open = port_open,
    .check = port_check,
    .trouble = port_trouble,
    .close = port_close,
    .info = port_info,
    .fd = port_fd,
    .service = service,
    .next = next_event,
    .extents = ivshmem_extents,
    .extent_make = ivshmem_extent_make,
    .extent_close = ivshmem_extent_close,
    .extent_release = ivshmem_extent_release,
    .extent_share = ivshmem_extent_share,
    .import_make = ivshmem_import_make,
    .import_revoke = ivshmem_import_revoke,
    .import_close = ivshmem_import_close,
    .posts = ivshmem_posts,
};
