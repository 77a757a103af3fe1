/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bridge made of an ivshmem server: two halves of shared memory, one for each host's pool. There is
 * no driver below that could take a mapping from a process, or hold a session, so both is done here:
 * the session by session.c, which acknowledges no new one while an import of an older one is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <poll.h>

/* A table that cannot grow must not end the daemon: whoever adds looks at hh.tbl. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extent_memfd.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/ntb/common/status.h"
#include "transport/ntb/node/ivshmem.h"
#include "transport/ntb/node/port.h"
#include "transport/ntb/node/session.h"

enum { GRANULE = 4096, RESERVED_GENERATION = 0, MEET_MS = 2 };

struct extent {
    uint64_t id, offset, length;
    bool exposed; /* it was there during a session */
    bool closed;
    UT_hash_handle hh; /* by id */
};

struct import {
    uint64_t id;
    uint32_t epoch;
    int page; /* memfd of the status page */
    struct ntb_status *status;
    UT_hash_handle hh; /* by id */
};

struct event {
    struct ntb_port_event what;
    struct event *prev, *next;
};

struct port {
    struct ntb_port base;
    struct ivshmem ivshmem;
    struct ntb_session session;
    uint32_t node;
    uint64_t half;      /* bytes */
    uint64_t own, peer; /* where the pools begin in the shared memory */
    uint32_t link_seq;
    bool wary;    /* nothing is made before there was a session: see open */
    bool watched; /* the own bells are in the set */
    int epoll, timer, wake;
    pthread_mutex_t lock; /* of what follows */
    bool up;
    uint64_t last_id;
    struct extent *extents; /* in the order in which they were made, as the next ones */
    struct import *imports;
    unsigned old_imports; /* of a session that is over, and whose memory processes may still have */
    struct event *events;
    bool lost; /* there was no memory for an event */
};

static struct port *port_of(struct ntb_port *port)
{
    return RSM_CONTAINER_OF(port, struct port, base);
}

/* Make the descriptor readable. */
static void wake(const struct port *port)
{
    static const uint64_t one = 1;
    if (write(port->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        rsm_log_error("ntb: ivshmem: eventfd: %s", strerror(errno));
}

/* Lock held. An event that finds no memory is as good as lost, and the queue says so. */
static void tell(struct port *port, enum ntb_port_event_type type, uint64_t id)
{
    struct event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        rsm_log_error("ntb: ivshmem: no memory for an event");
        port->lost = true;
        wake(port);
        return;
    }
    event->what = (struct ntb_port_event){.type = type, .epoch = port->session.epoch, .id = id};
    DL_APPEND(port->events, event);
    wake(port);
}

/* ------------------------------------------------------------------ session */

static void end_extent(struct port *port, struct extent *extent)
{
    tell(port, NTB_PORT_FREE, extent->id);
    HASH_DEL(port->extents, extent);
    free(extent);
}

static void on_begun(struct port *port)
{
    struct extent *extent, *next;
    const struct import *import;
    port->up = true;
    port->wary = false;
    for (extent = port->extents; extent != NULL; extent = next) {
        next = extent->hh.next;
        /* The other host has ended all that it had in the session before. */
        if (extent->closed)
            end_extent(port, extent);
        else
            extent->exposed = true;
    }
    for (import = port->imports; import != NULL; import = import->hh.next)
        ntb_store32(&import->status->epoch, port->session.epoch);
    tell(port, NTB_PORT_UP, 0);
    tell(port, NTB_PORT_PEER, port->session.peer_node);
}

static void on_ended(struct port *port)
{
    const struct import *import;
    port->up = false;
    port->link_seq++;
    port->old_imports = HASH_COUNT(port->imports);
    for (import = port->imports; import != NULL; import = import->hh.next) {
        ntb_store32(&import->status->epoch, 0);
        ntb_store32(&import->status->link_seq, port->link_seq);
    }
    tell(port, NTB_PORT_DOWN, 0);
}

static void step(struct port *port)
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

static bool watch(const struct port *port, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(port->epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

static void service(struct ntb_port *base)
{
    struct port *port = port_of(base);
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
        tell(port, NTB_PORT_GONE, 0);
        pthread_mutex_unlock(&port->lock);
    }
    for (unsigned i = 0; i < port->ivshmem.bells; i++)
        watch(port, port->ivshmem.bell[i]);
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
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    struct event *first = port->events;
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
    return port_of(port)->epoll;
}

static bool start_timer(const struct port *port, uint32_t ms)
{
    struct timespec interval = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    struct itimerspec time = {.it_interval = interval, .it_value = interval};
    return timerfd_settime(port->timer, 0, &time, NULL) == 0;
}

static bool make_descriptors(struct port *port, uint32_t heartbeat_ms)
{
    port->epoll = rsmcore_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    port->timer =
        rsmcore_fd_above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    port->wake = rsmcore_fd_above_stdio(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    return port->epoll >= 0 && port->timer >= 0 && port->wake >= 0 && watch(port, port->timer) &&
           watch(port, port->wake) && watch(port, port->ivshmem.socket) &&
           start_timer(port, heartbeat_ms);
}

static void free_import(struct import *import)
{
    if (import->status != NULL)
        munmap(import->status, GRANULE);
    if (import->page >= 0)
        close(import->page);
    free(import);
}

/* What processes have imported is over, as they see on its status page. */
static void free_all(struct port *port)
{
    struct import *import = port->imports, *next_import;
    struct extent *extent = port->extents, *next_extent;
    HASH_CLEAR(hh, port->imports);
    for (; import != NULL; import = next_import) {
        next_import = import->hh.next;
        ntb_store32(&import->status->revoked, 1);
        free_import(import);
    }
    HASH_CLEAR(hh, port->extents);
    for (; extent != NULL; extent = next_extent) {
        next_extent = extent->hh.next;
        free(extent);
    }
}

static void port_close(struct ntb_port *base)
{
    struct port *port = port_of(base);
    struct ntb_port_event event;
    free_all(port);
    while (next_event(base, &event))
        ;
    if (port->ivshmem.base != NULL && port->session.own != NULL) {
        ntb_session_leave(&port->session);
        ivshmem_ring(&port->ivshmem);
    }
    const int fds[] = {port->epoll, port->timer, port->wake};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    ivshmem_close(&port->ivshmem);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

/* Let the other host, if it is there, learn of this one before anybody exports: what it may still
 * have of this one's predecessor it gives up before it agrees on a session. */
static void meet(struct port *port, uint32_t wait_ms)
{
    int64_t end = rsm_clock_ns() + INT64_C(1000000) * wait_ms;
    struct pollfd readable = {.fd = port->epoll, .events = POLLIN};
    port->wary = true;
    service(&port->base);
    /* The server tells of the other host before it gives the own bells. */
    while ((port->ivshmem.bells == 0 || (port->ivshmem.peer && !port->up)) &&
           rsm_clock_ns() < end) {
        /* Each ring makes the other host look, and its heart beat. */
        (void)poll(&readable, 1, MEET_MS);
        ivshmem_ring(&port->ivshmem);
        service(&port->base);
    }
}

static bool set_up(struct port *port, const struct ntb_options *options)
{
    uint32_t generation = RESERVED_GENERATION;
    struct ntb_session *session = &port->session;
    port->half = port->ivshmem.size / 2 / GRANULE * GRANULE;
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
                                    .window_size = port->half};
    ntb_session_begin(session, generation, port->node, options->timeout_ms);
    return make_descriptors(port, options->heartbeat_ms);
}

static enum rsm_status port_open(const char *where, const struct ntb_options *options,
                                 uint32_t node, struct ntb_port **made)
{
    struct port *port = calloc(1, sizeof *port);
    if (port == NULL)
        return RSM_ST_NO_MEMORY;
    port->base.ops = &ntb_port_ivshmem;
    port->node = node;
    port->epoll = port->timer = port->wake = -1;
    port->ivshmem = (struct ivshmem){.socket = -1, .memory = -1};
    pthread_mutex_init(&port->lock, NULL);
    if (!ivshmem_open(&port->ivshmem, where) || !set_up(port, options)) {
        port_close(&port->base);
        return RSM_ST_NO_CONTROLLER;
    }
    meet(port, options->wait_ms);
    *made = &port->base;
    return RSM_ST_OK;
}

static void port_info(struct ntb_port *base, struct ntb_port_info *info)
{
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    const struct ntb_session *session = &port->session;
    *info = (struct ntb_port_info){.pool_size = port->half,
                                   .pool_first = NTB_CONTROL_BYTES,
                                   .granule = GRANULE,
                                   .slots = NTB_SLOTS,
                                   .generation = session->generation,
                                   .sequence = session->sequence};
    if (session->up) {
        info->window_size = session->peer_pool;
        info->epoch = session->epoch;
        info->peer_generation = session->peer_generation;
        info->peer_sequence = session->peer_sequence;
        info->peer_node = session->peer_node;
    }
    pthread_mutex_unlock(&port->lock);
}

/* ------------------------------------------------------------------ extents */

/* Those of this daemon: whoever comes after another knows of none. */
static int port_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity)
{
    struct port *port = port_of(base);
    const struct extent *extent;
    unsigned count = 0;
    pthread_mutex_lock(&port->lock);
    for (extent = port->extents; extent != NULL && count < capacity; extent = extent->hh.next)
        extents[count++] = (struct ntb_port_extent){.id = extent->id,
                                                    .offset = extent->offset,
                                                    .length = extent->length,
                                                    .quarantined = extent->closed};
    pthread_mutex_unlock(&port->lock);
    return (int)count;
}

/* Zeros, whoever stored what there. */
static bool clear(const struct port *port, uint64_t offset, uint64_t length)
{
    uint64_t at = port->own + offset;
    if (fallocate(port->ivshmem.memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
                  (off_t)length) < 0)
        memset(port->ivshmem.base + at, 0, length);
    return true;
}

static enum rsm_status extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                   uint32_t slot, struct ntb_port_memory *memory)
{
    (void)slot; /* signals go by the daemons */
    struct port *port = port_of(base);
    struct extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL)
        return RSM_ST_NO_MEMORY;
    if (!clear(port, offset, length)) {
        free(extent);
        return RSM_ST_NO_RESOURCES;
    }
    pthread_mutex_lock(&port->lock);
    bool wary = port->wary;
    *extent = (struct extent){
        .id = ++port->last_id, .offset = offset, .length = length, .exposed = port->up};
    if (!wary)
        HASH_ADD(hh, port->extents, id, sizeof extent->id, extent);
    bool known = extent->hh.tbl != NULL;
    *memory = (struct ntb_port_memory){
        .id = extent->id, .fd = port->ivshmem.memory, .offset = port->own + offset};
    pthread_mutex_unlock(&port->lock);
    if (known)
        return RSM_ST_OK;
    free(extent);
    if (!wary)
        return RSM_ST_NO_MEMORY;
    rsm_log_warning("ntb: ivshmem: the other host has not agreed on a session yet: its processes "
                    "may still store into this pool, and nothing is exported before");
    return RSM_ST_NO_RESOURCES;
}

static struct extent *find_extent(const struct port *port, uint64_t id)
{
    struct extent *extent;
    HASH_FIND(hh, port->extents, &id, sizeof id, extent);
    return extent;
}

static void extent_close(struct ntb_port *base, const struct ntb_port_memory *memory)
{
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    struct extent *extent = find_extent(port, memory->id);
    if (extent != NULL && extent->exposed) {
        extent->closed = true;
        tell(port, NTB_PORT_QUARANTINED, extent->id);
    } else if (extent != NULL) {
        end_extent(port, extent);
    }
    pthread_mutex_unlock(&port->lock);
}

static bool extent_release(struct ntb_port *base, uint64_t id)
{
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    struct extent *extent = find_extent(port, id);
    bool possible = extent == NULL || extent->closed;
    if (extent != NULL && possible)
        end_extent(port, extent);
    pthread_mutex_unlock(&port->lock);
    return possible;
}

static int extent_share(struct ntb_port *base, const struct ntb_port_memory *memory, bool writable,
                        uint64_t *offset)
{
    *offset = memory->offset;
    (void)base;
    return rsmcore_extent_memfd_share(memory->fd, writable);
}

/* ------------------------------------------------------------------ imports */

static struct import *new_import(void)
{
    struct import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return NULL;
    import->page = rsmcore_extent_memfd(GRANULE);
    void *page = import->page < 0
                     ? MAP_FAILED
                     : mmap(NULL, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED, import->page, 0);
    if (page == MAP_FAILED) {
        free_import(import);
        return NULL;
    }
    import->status = page;
    return import;
}

static void close_descriptors(const struct ntb_port_import *made)
{
    const int fds[] = {made->status, made->canary, made->data};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static enum rsm_status fill_import(const struct port *port, const struct import *import,
                                   uint64_t offset, bool writable, struct ntb_port_import *made)
{
    *made =
        (struct ntb_port_import){.id = import->id,
                                 .status = rsmcore_extent_memfd_share(import->page, false),
                                 .canary = rsmcore_extent_memfd_share(port->ivshmem.memory, false),
                                 .data = rsmcore_extent_memfd_share(port->ivshmem.memory, writable),
                                 .canary_offset = port->peer + NTB_HELLO_AT,
                                 .data_offset = port->peer + offset};
    if (made->status >= 0 && made->canary >= 0 && made->data >= 0)
        return RSM_ST_OK;
    close_descriptors(made);
    return RSM_ST_NO_RESOURCES;
}

static enum rsm_status import_make(struct ntb_port *base, const struct ntb_grant_piece *piece,
                                   uint32_t epoch, bool writable, struct ntb_port_import *made)
{
    struct port *port = port_of(base);
    struct import *import = new_import();
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    pthread_mutex_lock(&port->lock);
    const struct ntb_session *session = &port->session;
    enum rsm_status status = RSM_ST_UNREACHABLE;
    if (session->up && session->epoch == epoch) {
        import->id = ++port->last_id;
        import->epoch = epoch;
        *import->status = (struct ntb_status){.abi = NTB_STATUS_ABI,
                                              .import_epoch = epoch,
                                              .epoch = epoch,
                                              .link_seq = port->link_seq,
                                              .canary = ntb_session_canary(session),
                                              .canary_offset = NTB_CANARY_OFFSET,
                                              .length = piece->length};
        status = fill_import(port, import, piece->offset, writable, made);
    }
    if (status == RSM_ST_OK)
        HASH_ADD(hh, port->imports, id, sizeof import->id, import);
    if (status == RSM_ST_OK && import->hh.tbl == NULL) {
        close_descriptors(made);
        status = RSM_ST_NO_MEMORY;
    }
    pthread_mutex_unlock(&port->lock);
    if (status != RSM_ST_OK)
        free_import(import);
    return status;
}

static struct import *find_import(const struct port *port, uint64_t id)
{
    struct import *import;
    HASH_FIND(hh, port->imports, &id, sizeof id, import);
    return import;
}

static void import_revoke(struct ntb_port *base, uint64_t id)
{
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    const struct import *import = find_import(port, id);
    if (import != NULL)
        ntb_store32(&import->status->revoked, 1);
    pthread_mutex_unlock(&port->lock);
}

static void import_close(struct ntb_port *base, uint64_t id)
{
    struct port *port = port_of(base);
    pthread_mutex_lock(&port->lock);
    struct import *import = find_import(port, id);
    if (import != NULL) {
        ntb_store32(&import->status->revoked, 1);
        HASH_DEL(port->imports, import);
        if (!port->up || import->epoch != port->session.epoch)
            port->old_imports--;
        wake(port); /* a session may be waiting for it */
    }
    pthread_mutex_unlock(&port->lock);
    if (import != NULL)
        free_import(import);
}

const struct ntb_port_ops ntb_port_ivshmem = {
    .name = "ivshmem",
    .open = port_open,
    .close = port_close,
    .info = port_info,
    .fd = port_fd,
    .service = service,
    .next = next_event,
    .extents = port_extents,
    .extent_make = extent_make,
    .extent_close = extent_close,
    .extent_release = extent_release,
    .extent_share = extent_share,
    .import_make = import_make,
    .import_revoke = import_revoke,
    .import_close = import_close,
};
