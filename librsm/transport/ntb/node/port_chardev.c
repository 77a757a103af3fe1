/* SPDX-License-Identifier: BSD-3-Clause */
/* A bridge behind the kernel module rsm_ntb, which holds the session, checks each range, zeroes and
 * quarantines extents, and takes mappings away from processes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rsm_ntb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/ntb/common/status.h"
#include "transport/ntb/common/ports.h"
#include "transport/ntb/node/chardev.h"
#include "transport/ntb/node/port.h"

#define SAME_PLACE(member)                                                                         \
    (offsetof(struct ntb_status, member) == offsetof(struct rsm_ntb_status, member))
_Static_assert(sizeof(struct ntb_status) == sizeof(struct rsm_ntb_status) &&
                   SAME_PLACE(import_epoch) && SAME_PLACE(epoch) && SAME_PLACE(err_seq) &&
                   SAME_PLACE(revoked) && SAME_PLACE(canary) && SAME_PLACE(canary_offset),
               "the status page is the module's");

struct port {
    struct ntb_port base;
    int control;
    bool posts; /* importers of the other host post by counters */
    int wake;   /* readable: something was taken from control that rsmd's thread has to look at */
    int poll;   /* epoll: of both */
    pthread_mutex_t lock; /* of what follows */
    bool gone;
    bool lost;                    /* there was no memory for events */
    struct rsm_ntb_event *events; /* read and not taken yet */
    size_t first, count, capacity;
    char name[]; /* the device */
};

enum { EVENTS_AT_ONCE = 64 };

static struct port *port_of(struct ntb_port *port)
{
    return RSM_CONTAINER_OF(port, struct port, base);
}

static void port_trouble(struct ntb_port *base, char *text, size_t size)
{
    chardev_trouble(port_of(base)->name, port_of(base)->control, text, size);
}

static bool take_control(const struct port *port, int fd, uint32_t node)
{
    struct rsm_ntb_control control = {
        .abi = RSM_NTB_ABI, .node = node, .flags = port->posts ? RSM_NTB_CONTROL_POSTS : 0};
    /* Revoke imports of an earlier daemon: their connections have ended with it. */
    struct rsm_ntb_revoke all = {.id = RSM_NTB_ALL_IMPORTS};
    if (ioctl(fd, RSM_NTB_CONTROL, &control) == 0)
        return ioctl(fd, RSM_NTB_REVOKE, &all) == 0 || errno == ENOENT;
    rsm_log_error(errno == EBUSY ? "ntb: %s is in use by another daemon (%s): each bridge belongs "
                                   "to one controller of one rsmd"
                                 : "ntb: %s: the module refuses this daemon: %s",
                  port->name, strerror(errno));
    return false;
}

static void port_close(struct ntb_port *base)
{
    struct port *port = port_of(base);
    const int fds[] = {port->control, port->wake, port->poll};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    pthread_mutex_destroy(&port->lock);
    free(port->events);
    free(port);
}

static void wake(const struct port *port)
{
    static const uint64_t one = 1;
    if (write(port->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        rsm_log_error("ntb: %s: eventfd: %s", port->name, strerror(errno));
}

static bool watch(const struct port *port, int fd)
{
    struct epoll_event readable = {.events = EPOLLIN};
    return fd >= 0 && epoll_ctl(port->poll, EPOLL_CTL_ADD, fd, &readable) == 0;
}

/* Readable from the beginning: what the port has to say first comes with no event. */
static bool make_event_fd(struct port *port)
{
    port->poll = rsmcore_fd_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    port->wake = rsmcore_fd_above_stdio(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    return port->poll >= 0 && watch(port, port->wake) && watch(port, port->control);
}

/* Whether a daemon has it already is no matter. */
static enum rsm_status port_check(const struct rsm_controller_info *info,
                                  const struct ntb_options *options)
{
    int fd = chardev_open(info->device);
    if (fd < 0)
        chardev_explain_open(info->device, errno);
    bool usable = fd >= 0 && chardev_is_of_this_version(info->device, fd);
    if (usable) {
        chardev_report_trouble(info->device, fd);
        chardev_report_pinning(info->device, fd, options);
    }
    if (fd >= 0)
        close(fd);
    return usable ? RSM_ST_OK : RSM_ST_NO_CONTROLLER;
}

static enum rsm_status port_open(const struct rsm_controller_info *info,
                                 const struct ntb_options *options, struct ntb_port **made)
{
    struct port *port = calloc(1, sizeof *port + strlen(info->device) + 1);
    if (port == NULL)
        return RSM_ST_NO_MEMORY;
    port->base.ops = &ntb_port_chardev;
    port->posts = options->doorbell;
    strcpy(port->name, info->device);
    pthread_mutex_init(&port->lock, NULL);
    port->wake = port->poll = -1;
    port->control = chardev_open(port->name);
    if (port->control < 0)
        chardev_explain_open(port->name, errno);
    if (port->control < 0 || !chardev_is_of_this_version(port->name, port->control) ||
        !take_control(port, port->control, info->node)) {
        port_close(&port->base);
        return RSM_ST_NO_CONTROLLER;
    }
    if (!make_event_fd(port)) {
        rsm_log_error("ntb: %s: %s", port->name, strerror(errno));
        port_close(&port->base);
        return RSM_ST_NO_RESOURCES;
    }
    chardev_report_trouble(port->name, port->control);
    chardev_report_pinning(port->name, port->control, options);
    *made = &port->base;
    return RSM_ST_OK;
}

static void port_info(struct ntb_port *base, struct ntb_port_info *info)
{
    const struct port *port = port_of(base);
    struct rsm_ntb_info from;
    memset(&from, 0, sizeof from);
    memset(info, 0, sizeof *info);
    if (ioctl(port->control, RSM_NTB_INFO, &from) < 0)
        return;
    *info =
        (struct ntb_port_info){.pool_size = from.pool_size,
                               .pin_size = (from.caps & RSM_NTB_CAP_PIN) != 0 ? from.pin_size : 0,
                               .pool_first = NTB_CONTROL_BYTES,
                               .granule = from.granule,
                               .window_size = from.window_size,
                               .extents_max = from.extents_max,
                               .epoch = from.epoch,
                               .generation = from.generation,
                               .sequence = from.sequence,
                               .peer_generation = from.peer_generation,
                               .peer_sequence = from.peer_sequence,
                               .peer_node = from.peer_node,
                               .posts = port->posts,
                               .peer_posts = (from.peer_caps & RSM_NTB_PEER_POSTS) != 0,
                               .cuts = true};
}

static int port_fd(struct ntb_port *port)
{
    return port_of(port)->poll;
}

/* Lock held. */
static void keep(struct port *port, const struct rsm_ntb_event *events, size_t count)
{
    if (port->first == port->count)
        port->first = port->count = 0;
    if (port->count + count > port->capacity) {
        size_t capacity = (port->count + count) * 2;
        struct rsm_ntb_event *more = realloc(port->events, capacity * sizeof *more);
        if (more == NULL) {
            rsm_log_error("ntb: no memory for events of %s", port->name);
            port->lost = true;
            return;
        }
        port->events = more;
        port->capacity = capacity;
    }
    memcpy(port->events + port->count, events, count * sizeof *events);
    port->count += count;
}

/* Lock held. */
static void take(struct port *port, const struct rsm_ntb_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].type == RSM_NTB_EVENT_TROUBLE)
            chardev_report_trouble(port->name, port->control);
    keep(port, events, count);
}

/* Lock held. The descriptor polls readable from here on, and nothing more comes. */
static void on_gone(struct port *port)
{
    static const struct rsm_ntb_event lost = {.type = RSM_NTB_EVENT_OVERFLOW};
    rsm_log_error("ntb: %s: its hardware driver has gone: the other host is out of reach until it "
                  "is loaded again and rsmd restarted",
                  port->name);
    port->gone = true;
    (void)epoll_ctl(port->poll, EPOLL_CTL_DEL, port->control, NULL);
    keep(port, &lost, 1);
}

/* Lock held. Take what the module has; whether something was there. */
static bool take_events(struct port *port)
{
    struct rsm_ntb_event events[EVENTS_AT_ONCE];
    size_t before = port->count - port->first;
    ssize_t got = 0;
    while (!port->gone && (got = read(port->control, events, sizeof events)) > 0)
        take(port, events, (size_t)got / sizeof events[0]);
    if (got < 0 && errno == ENODEV)
        on_gone(port);
    return port->lost || port->count - port->first > before;
}

static void service(struct ntb_port *base)
{
    struct port *port = port_of(base);
    uint64_t woken;
    if (read(port->wake, &woken, sizeof woken) < 0 && errno != EAGAIN)
        rsm_log_error("ntb: %s: eventfd: %s", port->name, strerror(errno));
    pthread_mutex_lock(&port->lock);
    (void)take_events(port);
    pthread_mutex_unlock(&port->lock);
}

static bool translate(const struct rsm_ntb_event *from, struct ntb_port_event *event)
{
    static const enum ntb_port_event_type types[] = {
        [RSM_NTB_EVENT_UP] = NTB_PORT_UP,
        [RSM_NTB_EVENT_DOWN] = NTB_PORT_DOWN,
        [RSM_NTB_EVENT_QUARANTINED] = NTB_PORT_QUARANTINED,
        [RSM_NTB_EVENT_FREE] = NTB_PORT_FREE,
        [RSM_NTB_EVENT_ERROR] = NTB_PORT_UP, /* the status pages show which imports are affected */
        [RSM_NTB_EVENT_PEER] = NTB_PORT_PEER,
        [RSM_NTB_EVENT_OVERFLOW] = NTB_PORT_LOST,
    };
    if (from->type == 0 || from->type >= sizeof types / sizeof types[0])
        return false;
    *event =
        (struct ntb_port_event){.type = types[from->type], .epoch = from->epoch, .id = from->id};
    return true;
}

static bool next_event(struct ntb_port *base, struct ntb_port_event *event)
{
    struct port *port = port_of(base);
    bool found = false;
    pthread_mutex_lock(&port->lock);
    /* A range that has become free is free at once, whichever thread asks. What else there is,
     * rsmd's thread must learn, too. */
    if (port->first == port->count && take_events(port))
        wake(port);
    while (!found && port->first < port->count)
        found = translate(&port->events[port->first++], event);
    if (!found && port->lost) {
        *event = (struct ntb_port_event){.type = NTB_PORT_LOST};
        port->lost = false;
        found = true;
    }
    pthread_mutex_unlock(&port->lock);
    return found;
}

static int port_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity)
{
    const struct port *port = port_of(base);
    struct rsm_ntb_extent *found = calloc(capacity, sizeof *found);
    struct rsm_ntb_extents asked = {.array = (uint64_t)(uintptr_t)found, .capacity = capacity};
    int count = -1;
    if (found != NULL && ioctl(port->control, RSM_NTB_EXTENTS, &asked) == 0)
        for (count = 0; (unsigned)count < asked.count && (unsigned)count < capacity; count++)
            extents[count] = (struct ntb_port_extent){.id = found[count].id,
                                                      .offset = found[count].offset,
                                                      .length = found[count].length,
                                                      .quarantined = found[count].state ==
                                                                     RSM_NTB_EXTENT_QUARANTINED};
    free(found);
    return count;
}

static enum rsm_status failed(int fd, int error)
{
    close(fd);
    return error == EBUSY ? RSM_ST_NO_RESOURCES : rsmcore_status_from_errno(error);
}

static enum rsm_status make(const struct port *port, uint64_t offset, uint64_t length,
                            uint32_t flags, struct ntb_port_memory *memory)
{
    struct rsm_ntb_export asked = {
        .control_fd = port->control, .flags = flags, .offset = offset, .length = length};
    int fd = chardev_open(port->name);
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    if (ioctl(fd, RSM_NTB_EXPORT, &asked) < 0)
        return failed(fd, errno);
    /* The offset that /proc/PID/maps shows: the page swap looks there for what it has mapped. */
    *memory =
        (struct ntb_port_memory){.id = asked.id, .fd = fd, .offset = asked.map + RSM_NTB_MAP_DATA};
    return RSM_ST_OK;
}

static enum rsm_status extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                   struct ntb_port_memory *memory)
{
    return make(port_of(base), offset, length, 0, memory);
}

static enum rsm_status extent_make_in_place(struct ntb_port *base, uint64_t offset, uint64_t length,
                                            struct ntb_port_memory *memory)
{
    return make(port_of(base), offset, length, RSM_NTB_IN_PLACE, memory);
}

static enum rsm_status extent_pin(struct ntb_port *base, const struct ntb_port_memory *memory,
                                  void *address)
{
    struct rsm_ntb_pin asked = {.address = (uintptr_t)address};
    (void)base;
    if (ioctl(memory->fd, RSM_NTB_PIN, &asked) == 0)
        return RSM_ST_OK;
    return errno == EDQUOT ? RSM_ST_NO_RESOURCES : rsmcore_status_from_errno(errno);
}

static void extent_close(struct ntb_port *port, const struct ntb_port_memory *memory)
{
    (void)port;
    close(memory->fd);
}

static bool extent_release(struct ntb_port *base, uint64_t id)
{
    struct rsm_ntb_release asked = {.id = id};
    return ioctl(port_of(base)->control, RSM_NTB_RELEASE, &asked) == 0 || errno != EBUSY;
}

static int extent_share(struct ntb_port *base, const struct ntb_port_memory *memory, bool writable,
                        uint64_t *offset)
{
    struct rsm_ntb_share asked = {.export_fd = memory->fd,
                                  .flags = writable ? 0 : RSM_NTB_READ_ONLY};
    int fd = chardev_open(port_of(base)->name);
    if (fd < 0)
        return -1;
    if (ioctl(fd, RSM_NTB_SHARE, &asked) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *offset = asked.map + RSM_NTB_MAP_DATA;
    return fd;
}

static enum rsm_status fill_import(int fd, uint64_t id, bool posts, struct ntb_port_import *made)
{
    *made = (struct ntb_port_import){.id = id,
                                     .status = rsmcore_fd_copy_above_stdio(fd),
                                     .canary = rsmcore_fd_copy_above_stdio(fd),
                                     .data = fd,
                                     .status_offset = RSM_NTB_MAP_STATUS,
                                     .canary_offset = RSM_NTB_MAP_CANARY,
                                     .data_offset = RSM_NTB_MAP_DATA,
                                     .posts = posts};
    if (made->status >= 0 && made->canary >= 0)
        return RSM_ST_OK;
    const int fds[] = {made->status, made->canary, made->data};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return RSM_ST_NO_RESOURCES;
}

static enum rsm_status import_make(struct ntb_port *base, const struct ntb_grant_piece *piece,
                                   uint32_t epoch, bool writable, uint32_t connection,
                                   struct ntb_port_import *made)
{
    const struct port *port = port_of(base);
    struct rsm_ntb_import asked = {.control_fd = port->control,
                                   .flags = writable ? 0 : RSM_NTB_READ_ONLY,
                                   .offset = piece->offset,
                                   .length = piece->length,
                                   .epoch = epoch};
    bool posts = port->posts && connection < NTB_CONNECTIONS;
    if (posts) {
        asked.flags |= RSM_NTB_POSTER;
        asked.connection = connection;
    }
    int fd = chardev_open(port->name);
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    if (ioctl(fd, RSM_NTB_IMPORT, &asked) == 0)
        return fill_import(fd, asked.id, posts, made);
    int error = errno;
    if (error == ENOTCONN || error == ESTALE || error == ENODEV) {
        close(fd);
        return RSM_ST_UNREACHABLE;
    }
    return failed(fd, error);
}

static void import_revoke(struct ntb_port *base, uint64_t id)
{
    struct rsm_ntb_revoke asked = {.id = id};
    if (ioctl(port_of(base)->control, RSM_NTB_REVOKE, &asked) < 0 && errno != ENOENT)
        rsm_log_error("ntb: %s: REVOKE: %s", port_of(base)->name, strerror(errno));
}

_Static_assert(NTB_CONNECTIONS == RSM_NTB_CONNECTIONS && NTB_CONTROL_BYTES == RSM_NTB_CONTROL_SIZE,
               "the pool is laid out as the module's");

static bool posts(struct ntb_port *base, uint32_t first, uint32_t count, uint64_t *words)
{
    while (count > 0) {
        uint32_t some = count < RSM_NTB_POSTS_AT_ONCE ? count : RSM_NTB_POSTS_AT_ONCE;
        const struct rsm_ntb_posts asked = {
            .first = first, .count = some, .array = (uint64_t)(uintptr_t)words};
        if (ioctl(port_of(base)->control, RSM_NTB_POSTS, &asked) < 0)
            return false;
        first += some;
        words += some;
        count -= some;
    }
    return true;
}

const struct ntb_port_ops ntb_port_chardev = {
    .open = port_open,
    .check = port_check,
    .close = port_close,
    .info = port_info,
    .trouble = port_trouble,
    .fd = port_fd,
    .service = service,
    .next = next_event,
    .extents = port_extents,
    .extent_make = extent_make,
    .extent_make_in_place = extent_make_in_place,
    .extent_pin = extent_pin,
    .extent_close = extent_close,
    .extent_release = extent_release,
    .extent_share = extent_share,
    .import_make = import_make,
    .import_revoke = import_revoke,
    .posts = posts,
    .import_close = import_revoke, /* a process that has kept its mapping loses it */
};
