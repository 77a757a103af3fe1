/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents: made of ranges of the pool, and quarantined until nobody can have them any more. */
#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/log.h"
#include "transport/ntb/node/window.h"

static struct ntb_extent *extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct ntb_extent, base);
}

/* ------------------------------------------------------------------ the end, lock held */

static void forget(struct ntb_window *window, struct ntb_extent *extent)
{
    DL_DELETE(window->extents, extent);
    free(extent);
}

static void give_back_range(struct ntb_window *window, struct ntb_extent *extent)
{
    if (extent->range != NULL)
        ntb_free_range(&window->allocator, extent->range);
    extent->range = NULL;
    extent->quarantined = false;
}

void ntb_extent_event(struct ntb_window *window, const struct ntb_port_event *event)
{
    struct ntb_extent *extent;
    DL_FOREACH(window->extents, extent)
    {
        if (extent->memory.id != event->id || !extent->given_up)
            continue;
        if (event->type == NTB_PORT_FREE)
            give_back_range(window, extent);
        else
            extent->quarantined = true;
        return;
    }
}

void ntb_extents_settle(struct ntb_window *window)
{
    struct ntb_extent *extent, *next;
    window->blocked = false;
    DL_FOREACH_SAFE(window->extents, extent, next)
    {
        if (!extent->given_up || extent->grants > 0)
            continue;
        if (extent->range == NULL)
            forget(window, extent);
        else if (extent->quarantined && !extent->inherited &&
                 !window->port->ops->extent_release(window->port, extent->memory.id))
            window->blocked = true;
    }
}

/* ------------------------------------------------------------------ making */

void ntb_extents_inherit(struct ntb_window *window)
{
    struct ntb_port_extent *found = calloc(window->limits.slots, sizeof *found);
    if (found == NULL)
        return;
    unsigned count = window->port->ops->extents(window->port, found, window->limits.slots);
    for (unsigned i = 0; i < count; i++) {
        struct ntb_extent *extent = calloc(1, sizeof *extent);
        struct ntb_range *range =
            ntb_reserve(&window->allocator, found[i].offset, found[i].length, found[i].slot);
        if (extent == NULL || range == NULL) {
            /* What it has is still the port's to keep: it refuses the range, and that is all. */
            rsm_log_warning("ntb: cannot take over the extent at %#" PRIx64, found[i].offset);
            free(extent);
            continue;
        }
        extent->memory.id = found[i].id;
        extent->range = range;
        extent->given_up = extent->inherited = true;
        extent->quarantined = found[i].quarantined;
        DL_APPEND(window->extents, extent);
    }
    if (count > 0)
        rsm_log_info("ntb: %u extents of an earlier daemon are still in use", count);
    free(found);
}

/* A range of the pool; extents that have just become free count. */
static struct ntb_range *take_range(struct ntb_window *window, uint64_t length)
{
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        pthread_mutex_lock(&window->lock);
        struct ntb_range *range = ntb_allocate(&window->allocator, length);
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
    ntb_free_range(&window->allocator, range);
    pthread_mutex_unlock(&window->lock);
}

enum rsm_status ntb_extent_make(struct rsm_node_port *base, uint64_t length,
                                struct rsm_extent **made)
{
    struct ntb_window *window = ntb_window_of(base);
    uint64_t granule = window->limits.granule;
    if (length == 0 || length > INT64_MAX || length % granule != 0)
        return RSM_ST_INVALID;
    struct ntb_extent *extent = calloc(1, sizeof *extent);
    struct ntb_range *range = extent != NULL ? take_range(window, length) : NULL;
    if (range == NULL) {
        free(extent);
        return RSM_ST_NO_MEMORY;
    }
    enum rsm_status status = window->port->ops->extent_make(
        window->port, range->offset, range->length, range->slot, &extent->memory);
    if (status != RSM_ST_OK) {
        give_range(window, range);
        free(extent);
        return status;
    }
    extent->range = range;
    extent->base = (struct rsm_extent){.kind = RSM_EXTENT_DEVICE,
                                       .fd = extent->memory.fd,
                                       .offset = extent->memory.offset,
                                       .length = length};
    pthread_mutex_lock(&window->lock);
    DL_APPEND(window->extents, extent);
    pthread_mutex_unlock(&window->lock);
    *made = &extent->base;
    return RSM_ST_OK;
}

enum rsm_status ntb_extent_make_now(struct rsm_node_port *base, uint64_t length,
                                    struct rsm_extent **made)
{
    /* Zeroing is what takes long. */
    return length > RSM_EXTENT_SMALL ? RSM_ST_BUSY : ntb_extent_make(base, length, made);
}

void ntb_extent_free(struct rsm_node_port *base, struct rsm_extent *given)
{
    struct ntb_window *window = ntb_window_of(base);
    struct ntb_extent *extent = extent_of(given);
    struct ntb_port_memory memory = extent->memory;
    pthread_mutex_lock(&window->lock);
    extent->given_up = true;
    pthread_mutex_unlock(&window->lock);
    window->port->ops->extent_close(window->port, &memory);
    ntb_window_pump(window);
}
