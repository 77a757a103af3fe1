/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the importing process that the device knows: landing memory for connections, registered
 * some connections at a time, and what the application has registered itself. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log.h"
#include "transport/verbs/import/import.h"

enum { LANDINGS_PER_ARENA = 2 };

struct verbs_arena {
    struct verbs_arena *next;
    uint8_t *bytes;
    size_t length;
    struct ibv_mr *mr;
    struct verbs_landing landing[LANDINGS_PER_ARENA];
};

/* Whole pages for each connection. */
static size_t landing_bytes(const struct verbs_port *port)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t wanted = port->options.bounce + VERBS_RECEIVES * VERBS_MESSAGE_MAX;
    return (wanted + page - 1) / page * page;
}

static bool add_arena(struct verbs_port *port)
{
    struct verbs_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL)
        return false;
    size_t each = landing_bytes(port);
    arena->length = each * LANDINGS_PER_ARENA;
    arena->bytes =
        mmap(NULL, arena->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena->bytes == MAP_FAILED)
        goto free_arena;
    arena->mr = ibv_reg_mr(port->pd, arena->bytes, arena->length, IBV_ACCESS_LOCAL_WRITE);
    if (arena->mr == NULL) {
        verbs_explain(&port->device, "cannot register landing memory", errno);
        goto unmap;
    }
    for (size_t i = 0; i < LANDINGS_PER_ARENA; i++) {
        arena->landing[i] =
            (struct verbs_landing){.bytes = arena->bytes + i * each, .lkey = arena->mr->lkey};
        LL_PREPEND(port->landing, &arena->landing[i]);
    }
    LL_PREPEND(port->arenas, arena);
    return true;
unmap:
    munmap(arena->bytes, arena->length);
free_arena:
    free(arena);
    return false;
}

/* A thread that reads may take the lock for reading again, whoever waits: see verbs_stream_run().
 */
static void init_regions_lock(struct verbs_port *port)
{
    pthread_rwlockattr_t readers_first;
    pthread_rwlockattr_init(&readers_first);
    (void)pthread_rwlockattr_setkind_np(&readers_first, PTHREAD_RWLOCK_PREFER_READER_NP);
    pthread_rwlock_init(&port->regions_lock, &readers_first);
    pthread_rwlockattr_destroy(&readers_first);
}

bool verbs_local_open(struct verbs_port *port)
{
    pthread_mutex_init(&port->lock, NULL);
    init_regions_lock(port);
    return add_arena(port);
}

void verbs_local_close(struct verbs_port *port)
{
    while (port->arenas != NULL) {
        struct verbs_arena *arena = port->arenas;
        port->arenas = arena->next;
        ibv_dereg_mr(arena->mr);
        munmap(arena->bytes, arena->length);
        free(arena);
    }
    pthread_rwlock_destroy(&port->regions_lock);
    pthread_mutex_destroy(&port->lock);
}

struct verbs_landing *verbs_landing_take(struct verbs_port *port)
{
    struct verbs_landing *landing = NULL;
    pthread_mutex_lock(&port->lock);
    if (port->landing != NULL || add_arena(port)) {
        landing = port->landing;
        port->landing = landing->next;
    }
    pthread_mutex_unlock(&port->lock);
    return landing;
}

void verbs_landing_give(struct verbs_port *port, struct verbs_landing *landing)
{
    pthread_mutex_lock(&port->lock);
    LL_PREPEND(port->landing, landing);
    pthread_mutex_unlock(&port->lock);
}

/* ------------------------------------------------------------------ the application's own */

/* Whether the range is memory at all: a registration that fails does not tell. */
static bool is_mapped(void *address, size_t length)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)address / page * page;
    return msync((void *)start, (uintptr_t)address + length - start, MS_ASYNC) == 0;
}

enum rsm_status verbs_register_memory(struct rsm_port *base, void *address, size_t length,
                                      void **cookie)
{
    struct verbs_port *port = verbs_port_of(base);
    struct verbs_region *region = calloc(1, sizeof *region);
    if (region == NULL)
        return RSM_ST_NO_MEMORY;
    region->start = (uintptr_t)address;
    region->length = length;
    region->mr = ibv_reg_mr(port->pd, address, length, IBV_ACCESS_LOCAL_WRITE);
    if (region->mr == NULL) {
        int error = errno;
        free(region);
        if (!is_mapped(address, length))
            return RSM_ST_FAULT;
        verbs_explain(&port->device, "cannot register local memory", error);
        return RSM_ST_NO_RESOURCES;
    }
    pthread_rwlock_wrlock(&port->regions_lock);
    DL_PREPEND(port->regions, region);
    atomic_fetch_add(&port->region_count, 1);
    pthread_rwlock_unlock(&port->regions_lock);
    *cookie = region;
    return RSM_ST_OK;
}

void verbs_unregister_memory(struct rsm_port *base, void *cookie)
{
    struct verbs_port *port = verbs_port_of(base);
    struct verbs_region *region = cookie;
    pthread_rwlock_wrlock(&port->regions_lock);
    DL_DELETE(port->regions, region);
    atomic_fetch_sub(&port->region_count, 1);
    pthread_rwlock_unlock(&port->regions_lock);
    if (port->epoch == verbs_process_epoch()) /* a child has no registration */
        ibv_dereg_mr(region->mr);
    free(region);
}

const struct verbs_region *verbs_region_of(const struct verbs_port *port, const void *address,
                                           size_t length)
{
    uintptr_t start = (uintptr_t)address;
    for (const struct verbs_region *at = port->regions; at != NULL; at = at->next)
        if (start >= at->start && length <= at->length && start - at->start <= at->length - length)
            return at;
    return NULL;
}
