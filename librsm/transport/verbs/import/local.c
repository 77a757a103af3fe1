/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the importing process that the device knows: bounce memory for connections, registered
 * some connections at a time, and what the application has registered itself. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "transport/verbs/import/import.h"

enum { BOUNCES_PER_CHUNK = 2 };

struct verbs_bounce_chunk {
    struct verbs_bounce_chunk *next;
    uint8_t *bytes;
    size_t length;
    struct ibv_mr *mr;
    struct verbs_bounce bounce[BOUNCES_PER_CHUNK];
};

/* Whole pages for each connection. */
static size_t bounce_bytes(const struct verbs_port *port)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t wanted = port->options.bounce + VERBS_RECV_DEPTH * VERBS_MESSAGE_MAX;
    return (wanted + page - 1) / page * page;
}

static bool add_chunk(struct verbs_port *port)
{
    struct verbs_bounce_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return false;
    size_t each = bounce_bytes(port);
    chunk->length = each * BOUNCES_PER_CHUNK;
    chunk->bytes =
        mmap(NULL, chunk->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->bytes == MAP_FAILED)
        goto free_chunk;
    chunk->mr = ibv_reg_mr(port->pd, chunk->bytes, chunk->length, IBV_ACCESS_LOCAL_WRITE);
    if (chunk->mr == NULL) {
        verbs_explain(&port->device, "cannot register landing memory", errno);
        goto unmap;
    }
    for (size_t i = 0; i < BOUNCES_PER_CHUNK; i++) {
        chunk->bounce[i] =
            (struct verbs_bounce){.bytes = chunk->bytes + i * each, .lkey = chunk->mr->lkey};
        LL_PREPEND(port->bounce, &chunk->bounce[i]);
    }
    LL_PREPEND(port->chunks, chunk);
    return true;
unmap:
    munmap(chunk->bytes, chunk->length);
free_chunk:
    free(chunk);
    return false;
}

/* A reader may take the lock for reading again, even if writers wait: see verbs_stream_run().
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
    return add_chunk(port);
}

void verbs_local_close(struct verbs_port *port)
{
    while (port->chunks != NULL) {
        struct verbs_bounce_chunk *chunk = port->chunks;
        port->chunks = chunk->next;
        ibv_dereg_mr(chunk->mr);
        munmap(chunk->bytes, chunk->length);
        free(chunk);
    }
    pthread_rwlock_destroy(&port->regions_lock);
    pthread_mutex_destroy(&port->lock);
}

struct verbs_bounce *verbs_bounce_get(struct verbs_port *port)
{
    struct verbs_bounce *bounce = NULL;
    pthread_mutex_lock(&port->lock);
    if (port->bounce != NULL || add_chunk(port)) {
        bounce = port->bounce;
        port->bounce = bounce->next;
    }
    pthread_mutex_unlock(&port->lock);
    return bounce;
}

void verbs_bounce_put(struct verbs_port *port, struct verbs_bounce *bounce)
{
    pthread_mutex_lock(&port->lock);
    LL_PREPEND(port->bounce, bounce);
    pthread_mutex_unlock(&port->lock);
}

/* Whether the range is mapped: a registration that fails does not report that. */
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
