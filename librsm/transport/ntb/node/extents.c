/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents: ranges of the pool or behind it. They are quarantined until no process can have them any
 * more. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/extent_memfd.h"
#include "base/log.h"
#include "base/status.h"
#include "transport/ntb/node/window.h"

static struct ntb_extent *extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct ntb_extent, base);
}

/* ------------------------------------------------------------------ the end, lock held */

static void add(struct ntb_window *window, struct ntb_extent *extent)
{
    DL_APPEND(window->extents, extent);
    HASH_ADD(hh, window->by_id, memory.id, sizeof extent->memory.id, extent);
}

static void forget(struct ntb_window *window, struct ntb_extent *extent)
{
    if (extent->hh.tbl != NULL)
        HASH_DEL(window->by_id, extent);
    DL_DELETE(window->extents, extent);
    free(extent);
}

/* Of which a range at this offset is. */
static struct ntb_allocator *allocator_at(struct ntb_window *window, uint64_t offset)
{
    return offset < window->limits.pool_size ? &window->allocator : &window->in_place;
}

/* What the share of a user's range in this allocator is called. */
static enum ntb_resource resource_of(const struct ntb_window *window,
                                     const struct ntb_allocator *allocator)
{
    return allocator == &window->allocator ? NTB_POOL : NTB_IN_PLACE;
}

static void give_share(struct ntb_window *window, const struct ntb_allocator *allocator,
                       uint32_t uid, uint64_t length)
{
    const struct ntb_user user = {.uid = uid};
    ntb_share_give(&window->shares, user, resource_of(window, allocator), length);
    ntb_share_give(&window->shares, user, NTB_RANGES, 1);
}

static bool take_share(struct ntb_window *window, const struct ntb_allocator *allocator,
                       uint32_t uid, uint64_t length)
{
    const struct ntb_user user = {.uid = uid};
    enum ntb_resource bytes = resource_of(window, allocator);
    if (!ntb_share_take(&window->shares, user, bytes, length))
        return false;
    if (ntb_share_take(&window->shares, user, NTB_RANGES, 1))
        return true;
    ntb_share_give(&window->shares, user, bytes, length);
    return false;
}

static struct ntb_range *allocate(struct ntb_window *window, struct ntb_allocator *allocator,
                                  uint32_t uid, uint64_t length)
{
    if (!take_share(window, allocator, uid, length))
        return NULL;
    struct ntb_range *range = ntb_allocate(allocator, length);
    if (range == NULL)
        give_share(window, allocator, uid, length);
    else
        range->owner = uid;
    return range;
}

static void free_range(struct ntb_window *window, struct ntb_range *range)
{
    struct ntb_allocator *allocator = allocator_at(window, range->offset);
    give_share(window, allocator, range->owner, range->length);
    ntb_free_range(allocator, range);
}

static void give_back_range(struct ntb_window *window, struct ntb_extent *extent)
{
    if (extent->range != NULL)
        free_range(window, extent->range);
    extent->range = NULL;
    extent->quarantined = false;
}

void ntb_extent_changed(struct ntb_window *window, struct ntb_extent *extent)
{
    if (!extent->waiting)
        DL_APPEND2(window->waiting, extent, waiting_prev, waiting_next);
    extent->waiting = true;
}

void ntb_extent_event(struct ntb_window *window, const struct ntb_port_event *event)
{
    struct ntb_extent *extent;
    HASH_FIND(hh, window->by_id, &event->id, sizeof event->id, extent);
    window->looks++;
    if (extent == NULL || !extent->given_up)
        return;
    if (event->type == NTB_PORT_FREE)
        give_back_range(window, extent);
    else
        extent->quarantined = true;
    ntb_extent_changed(window, extent);
}

/* Release it if nothing holds it. False: the port has refused to release it. */
static bool settle(struct ntb_window *window, struct ntb_extent *extent, bool *released)
{
    if (!extent->given_up || extent->grants > 0 || extent->inherited || !extent->quarantined)
        return true;
    if (!window->port->ops->extent_release(window->port, extent->memory.id))
        return false;
    *released = true;
    return true;
}

bool ntb_extents_settle(struct ntb_window *window)
{
    struct ntb_extent *extent, *next;
    bool released = false;
    DL_FOREACH_SAFE2(window->waiting, extent, next, waiting_next)
    {
        window->looks++;
        if (!settle(window, extent, &released))
            continue;
        DL_DELETE2(window->waiting, extent, waiting_prev, waiting_next);
        extent->waiting = false;
        if (extent->given_up && extent->grants == 0 && extent->range == NULL)
            forget(window, extent);
    }
    return released;
}

static int by_id(const void *left, const void *right)
{
    const struct ntb_port_extent *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static void compare(struct ntb_window *window, const struct ntb_port_extent *found, size_t count)
{
    struct ntb_extent *extent;
    DL_FOREACH(window->extents, extent)
    {
        if (!extent->given_up || extent->range == NULL)
            continue;
        const struct ntb_port_extent sought = {.id = extent->memory.id};
        const struct ntb_port_extent *there = bsearch(&sought, found, count, sizeof sought, by_id);
        /* An id is never used again: what the port does not have, it has freed. */
        if (there == NULL)
            give_back_range(window, extent);
        else if (there->quarantined)
            extent->quarantined = true;
        ntb_extent_changed(window, extent);
    }
}

void ntb_extents_resync(struct ntb_window *window)
{
    struct ntb_port_extent *found = calloc(window->limits.extents_max, sizeof *found);
    int count = found == NULL
                    ? -1
                    : window->port->ops->extents(window->port, found, window->limits.extents_max);
    if (count >= 0) {
        qsort(found, (size_t)count, sizeof *found, by_id);
        compare(window, found, (size_t)count);
        window->lost = false;
    }
    free(found);
}

/* Of a daemon before this one. NULL: it cannot be taken over. */
static struct ntb_range *reserve(struct ntb_window *window, const struct ntb_port_extent *found)
{
    const struct ntb_user unknown = {.uid = NTB_UNKNOWN_USER};
    struct ntb_allocator *allocator = allocator_at(window, found->offset);
    struct ntb_range *range = ntb_reserve(allocator, found->offset, found->length);
    if (range == NULL)
        return NULL;
    range->owner = unknown.uid;
    /* The first makes the account, so the second does not fail. */
    if (ntb_share_charge(&window->shares, unknown, resource_of(window, allocator), range->length) &&
        ntb_share_charge(&window->shares, unknown, NTB_RANGES, 1))
        return range;
    ntb_free_range(allocator, range);
    return NULL;
}

void ntb_extents_inherit(struct ntb_window *window)
{
    struct ntb_port_extent *found = calloc(window->limits.extents_max, sizeof *found);
    if (found == NULL)
        return;
    int count = window->port->ops->extents(window->port, found, window->limits.extents_max);
    for (int i = 0; i < count; i++) {
        struct ntb_extent *extent = calloc(1, sizeof *extent);
        struct ntb_range *range = extent != NULL ? reserve(window, &found[i]) : NULL;
        if (range == NULL) {
            /* What it has is still the port's to keep: it refuses the range, and that is all. */
            rsm_log_warning("ntb: cannot take over the extent at %#" PRIx64, found[i].offset);
            free(extent);
            continue;
        }
        extent->memory.id = found[i].id;
        extent->range = range;
        extent->given_up = extent->inherited = true;
        extent->quarantined = found[i].quarantined;
        add(window, extent);
    }
    if (count > 0)
        rsm_log_info("ntb: %d extents of an earlier daemon are still in use", count);
    free(found);
}

/* Extents that have just become free count. */
static struct ntb_range *take_range(struct ntb_window *window, struct ntb_allocator *allocator,
                                    uint32_t uid, uint64_t length)
{
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        pthread_mutex_lock(&window->lock);
        struct ntb_range *range = allocate(window, allocator, uid, length);
        pthread_mutex_unlock(&window->lock);
        if (range != NULL)
            return range;
        ntb_window_pump(window);
    }
    return NULL;
}

static void give_range(struct ntb_window *window, struct ntb_range *range)
{
    pthread_mutex_lock(&window->lock);
    free_range(window, range);
    pthread_mutex_unlock(&window->lock);
}

/* The daemon has no use for it any more. Once it is given up, another thread may forget it. */
static void give_up(struct ntb_window *window, struct ntb_extent *extent)
{
    struct ntb_port_memory memory = extent->memory;
    int memfd = extent->in_place ? extent->base.fd : -1;
    pthread_mutex_lock(&window->lock);
    extent->given_up = true;
    if (extent->hh.tbl == NULL) /* events about it could not be attributed */
        window->lost = true;
    ntb_extent_changed(window, extent);
    pthread_mutex_unlock(&window->lock);
    window->port->ops->extent_close(window->port, &memory);
    if (memfd >= 0)
        close(memfd);
}

/* The port has made it of this range: put it where it is found. If there is no memory for that,
 * it is given up. */
static enum rsm_status enter(struct ntb_window *window, struct ntb_extent *made,
                             struct ntb_range *range)
{
    made->range = range;
    pthread_mutex_lock(&window->lock);
    add(window, made);
    bool known = made->hh.tbl != NULL;
    pthread_mutex_unlock(&window->lock);
    if (known)
        return RSM_ST_OK;
    give_up(window, made);
    return RSM_ST_NO_MEMORY;
}

static enum rsm_status make_in_pool(struct ntb_window *window, uint32_t uid, uint64_t length,
                                    struct ntb_extent **extent)
{
    struct ntb_extent *made = calloc(1, sizeof *made);
    struct ntb_range *range =
        made != NULL ? take_range(window, &window->allocator, uid, length) : NULL;
    if (range == NULL) {
        free(made);
        return RSM_ST_NO_MEMORY;
    }
    enum rsm_status status =
        window->port->ops->extent_make(window->port, range->offset, range->length, &made->memory);
    if (status != RSM_ST_OK) {
        give_range(window, range);
        free(made);
        return status;
    }
    made->base = (struct rsm_extent){.kind = RSM_EXTENT_DEVICE,
                                     .fd = made->memory.fd,
                                     .offset = made->memory.offset,
                                     .length = length,
                                     .flags = RSM_EXTENT_NOT_PINNED};
    *extent = made;
    return enter(window, made, range);
}

static void report_refusal(struct ntb_window *window, uint64_t length, enum rsm_status status)
{
    pthread_mutex_lock(&window->lock);
    bool logged = window->pin_refusal_logged;
    window->pin_refusal_logged = true;
    pthread_mutex_unlock(&window->lock);
    if (logged)
        return;
    rsm_log_error(
        "ntb: cannot pin %" PRIu64 " KiB for a segment: %s", length / 1024,
        status == RSM_ST_NO_RESOURCES
            ? "rsmd has reached its RLIMIT_MEMLOCK: raise LimitMEMLOCK= of its service, or "
              "lower pin= in rsm.conf"
            : rsmcore_status_text(status));
}

/* The pages stay where they are without the mapping, which the daemon does not need. */
static enum rsm_status pin(struct ntb_window *window, const struct ntb_extent *extent)
{
    uint64_t length = extent->base.length;
    void *address = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, extent->base.fd, 0);
    if (address == MAP_FAILED)
        return rsmcore_status_from_errno(errno);
    enum rsm_status status = window->port->ops->extent_pin(window->port, &extent->memory, address);
    munmap(address, length);
    if (status != RSM_ST_OK) {
        report_refusal(window, length, status);
        return status;
    }
    pthread_mutex_lock(&window->lock);
    window->pin_refusal_logged = false;
    pthread_mutex_unlock(&window->lock);
    return RSM_ST_OK;
}

/* The memory, and the range behind the pool where it is to appear. On failure nothing is left. */
static enum rsm_status prepare(struct ntb_window *window, uint32_t uid, uint64_t length,
                               struct ntb_extent *made, struct ntb_range **range)
{
    int memfd = rsmcore_extent_memfd(length);
    if (memfd < 0)
        return rsmcore_status_from_errno(errno);
    *range = take_range(window, &window->in_place, uid, length);
    enum rsm_status status =
        *range == NULL ? RSM_ST_NO_MEMORY
                       : window->port->ops->extent_make_in_place(window->port, (*range)->offset,
                                                                 length, &made->memory);
    if (status != RSM_ST_OK) {
        close(memfd);
        if (*range != NULL)
            give_range(window, *range);
        return status;
    }
    made->base = (struct rsm_extent){.kind = RSM_EXTENT_MEMFD, .fd = memfd, .length = length};
    made->in_place = true;
    return RSM_ST_OK;
}

static enum rsm_status make_in_place(struct ntb_window *window, uint32_t uid, uint64_t length,
                                     struct ntb_extent **extent)
{
    struct ntb_extent *made = calloc(1, sizeof *made);
    struct ntb_range *range = NULL;
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = prepare(window, uid, length, made, &range);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    status = enter(window, made, range);
    if (status != RSM_ST_OK)
        return status;
    status = pin(window, made);
    if (status != RSM_ST_OK) {
        ntb_extent_free(&window->base, &made->base);
        return status;
    }
    *extent = made;
    return RSM_ST_OK;
}

static bool is_possible(const struct ntb_window *window, uint64_t length)
{
    return length > 0 && length <= INT64_MAX && length % window->limits.granule == 0;
}

/* Where there is room. */
static enum rsm_status make_anywhere(struct ntb_window *window, uint32_t uid, uint64_t length,
                                     struct ntb_extent **made)
{
    bool prefers = window->pins && length >= window->pin_from;
    enum rsm_status status = prefers ? make_in_place(window, uid, length, made) : RSM_ST_NO_MEMORY;
    if (status != RSM_ST_OK)
        status = make_in_pool(window, uid, length, made);
    if (status != RSM_ST_OK && window->pins && !prefers)
        status = make_in_place(window, uid, length, made);
    return status;
}

enum rsm_status ntb_extent_make_for(struct rsm_node_port *port,
                                    const struct rsm_extent_request *request,
                                    struct rsm_extent **extent)
{
    struct ntb_window *window = ntb_window_of(port);
    struct ntb_extent *made;
    if (!is_possible(window, request->length))
        return RSM_ST_INVALID;
    /* Zeroing is what takes long. */
    if ((request->flags & RSM_EXTENT_REQUEST_NOW) != 0 && request->length > RSM_EXTENT_SMALL)
        return RSM_ST_BUSY;
    bool pool_alone = (request->flags & RSM_EXTENT_REQUEST_NOT_PINNED) != 0;
    enum rsm_status status =
        (pool_alone ? make_in_pool : make_anywhere)(window, request->uid, request->length, &made);
    if (status == RSM_ST_OK)
        *extent = &made->base;
    return status;
}

/* For the daemon itself. */
static enum rsm_status make_own(struct rsm_node_port *port, uint64_t length, uint32_t flags,
                                struct rsm_extent **extent)
{
    const struct rsm_extent_request request = {.size = sizeof request,
                                               .length = length,
                                               .uid = ntb_window_of(port)->shares.own_uid,
                                               .flags = flags};
    return ntb_extent_make_for(port, &request, extent);
}

enum rsm_status ntb_extent_make_not_pinned(struct rsm_node_port *port, uint64_t length,
                                           struct rsm_extent **extent)
{
    return make_own(port, length, RSM_EXTENT_REQUEST_NOT_PINNED, extent);
}

enum rsm_status ntb_extent_make(struct rsm_node_port *port, uint64_t length,
                                struct rsm_extent **extent)
{
    return make_own(port, length, 0, extent);
}

enum rsm_status ntb_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                    struct rsm_extent **extent)
{
    return make_own(port, length, RSM_EXTENT_REQUEST_NOW, extent);
}

void ntb_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    struct ntb_window *window = ntb_window_of(port);
    give_up(window, extent_of(extent));
    ntb_window_pump(window);
}
