/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "order.h"

/* Maps of one's own segment are its memory itself. One that is read-only, or at a place of its own,
 * has a second mapping of the same pages. */
struct sisci_memory {
    struct rsmcore_export *exported; /* NULL: attached, or it has ended */
    struct rsmcore_import *attached;
    pthread_mutex_t lock; /* guards what follows */
    unsigned maps;
    bool closed; /* no new mappings */
    bool ended;  /* the segment has; the last map takes what is left */
    void *left;  /* memory that the segment has left behind */
    size_t left_length;
    struct sisci_local_map *own_mappings;
};

static struct sisci_memory *make(struct rsmcore_export *exported, struct rsmcore_import *attached)
{
    struct sisci_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->exported = exported;
    memory->attached = attached;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

struct sisci_memory *sisci_memory_of_export(struct rsmcore_export *exported)
{
    return make(exported, NULL);
}

struct sisci_memory *sisci_memory_of_import(struct rsmcore_import *attached)
{
    struct sisci_memory *memory = make(NULL, attached);
    if (memory == NULL || sisci_order_add(attached))
        return memory;
    pthread_mutex_destroy(&memory->lock);
    free(memory);
    return NULL;
}

struct rsmcore_export *sisci_memory_export(const struct sisci_memory *memory)
{
    return memory->exported;
}

struct rsmcore_import *sisci_memory_import(const struct sisci_memory *memory)
{
    return memory->attached;
}

sci_error_t sisci_memory_close(struct sisci_memory *memory, bool unused)
{
    pthread_mutex_lock(&memory->lock);
    bool busy = unused && memory->maps > 0;
    memory->closed |= !busy;
    pthread_mutex_unlock(&memory->lock);
    return busy ? SCI_ERR_BUSY : SCI_ERR_OK;
}

static void release(struct sisci_memory *memory)
{
    if (memory->left != NULL)
        rsmcore_export_free_memory(memory->left, memory->left_length);
    if (memory->attached != NULL) {
        sisci_order_forget(memory->attached);
        rsmcore_import_disconnect(memory->attached);
    }
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* Called with the lock held. */
static void end_export(struct sisci_memory *memory)
{
    struct rsmcore_export *exported = memory->exported;
    if (exported == NULL)
        return;
    enum rsmcore_destroy how = RSMCORE_DESTROY_DEFER;
    if (memory->maps > 0 && rsmcore_export_is_own_memory(exported)) {
        how = RSMCORE_DESTROY_LEAVE;
        memory->left = rsmcore_export_address(exported);
        memory->left_length = rsmcore_export_length(exported);
    }
    memory->exported = NULL;
    (void)rsmcore_export_destroy(exported, how); /* these always succeed */
}

void sisci_memory_end(struct sisci_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    end_export(memory);
    memory->closed = memory->ended = true;
    bool last = memory->maps == 0;
    pthread_mutex_unlock(&memory->lock);
    if (last)
        release(memory);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Take free pages for a mapping. */
static sci_error_t take_place(struct sisci_local_map *map, uint8_t *at)
{
    size_t place = map->offset % page_size();
    if (at != NULL && (uintptr_t)at % page_size() != place)
        return SCI_ERR_ILLEGAL_ADDRESS;
    uint8_t *wanted = at != NULL ? at - place : NULL;
    map->pages_length = (place + map->length + page_size() - 1) / page_size() * page_size();
    map->pages =
        mmap(wanted, map->pages_length, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != NULL ? MAP_FIXED_NOREPLACE : 0),
             -1, 0);
    if (map->pages == MAP_FAILED)
        return at != NULL && errno != ENOMEM ? SCI_ERR_ILLEGAL_ADDRESS : SCI_ERR_NOSPC;
    if (wanted == NULL || map->pages == wanted)
        return SCI_ERR_OK;
    munmap(map->pages, map->pages_length); /* a kernel that takes it for a hint */
    return SCI_ERR_ILLEGAL_ADDRESS;
}

/* Map the segment's pages over those taken. */
static bool show_pages(const struct rsmcore_export *exported, const struct sisci_local_map *map)
{
    return rsmcore_export_show(exported, map->offset / page_size() * page_size(), map->pages_length,
                               map->read_only, map->pages) == RSM_ST_OK;
}

/* Called with the memory's lock held. */
static sci_error_t map_pages(struct sisci_memory *memory, void *at, struct sisci_local_map *map)
{
    sci_error_t error = take_place(map, at);
    if (error != SCI_ERR_OK)
        return error;
    if (!show_pages(memory->exported, map)) {
        munmap(map->pages, map->pages_length);
        return SCI_ERR_SYSTEM;
    }
    map->address = (uint8_t *)map->pages + map->offset % page_size();
    LL_PREPEND(memory->own_mappings, map);
    return SCI_ERR_OK;
}

void sisci_memory_follow(struct sisci_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    const struct sisci_local_map *map;
    LL_FOREACH(memory->own_mappings, map)
    (void)show_pages(memory->exported, map); /* else it shows the pages that it showed */
    pthread_mutex_unlock(&memory->lock);
}

static sci_error_t map_attached(struct sisci_memory *memory, void *at, struct sisci_local_map *map)
{
    uint32_t rights = RSM_RIGHT_READ | (map->read_only ? 0 : RSM_RIGHT_WRITE);
    enum rsm_status status =
        rsmcore_map_make(memory->attached, map->offset, map->length, rights, at, &map->attached);
    if (status == RSM_ST_OK)
        map->address = rsmcore_map_address(map->attached);
    bool place = at != NULL && (status == RSM_ST_MAP_FAILED || status == RSM_ST_ALIGNMENT);
    return place ? SCI_ERR_ILLEGAL_ADDRESS : sisci_error(SISCI_TRANSFER, status);
}

/* Called with the lock held. */
static sci_error_t map_own(struct sisci_memory *memory, void *at, struct sisci_local_map *map)
{
    uint8_t *start = rsmcore_export_address(memory->exported);
    if (start == NULL)
        return SCI_ERR_ILLEGAL_OPERATION;
    if (at != NULL || map->read_only)
        return map_pages(memory, at, map);
    map->address = start + map->offset;
    return SCI_ERR_OK;
}

sci_error_t sisci_local_map_make(struct sisci_memory *memory, void *at, struct sisci_local_map *map)
{
    sci_error_t error = SCI_ERR_ILLEGAL_PARAMETER;
    pthread_mutex_lock(&memory->lock);
    if (!memory->closed)
        error = memory->attached != NULL ? map_attached(memory, at, map) : map_own(memory, at, map);
    if (error == SCI_ERR_OK) {
        map->memory = memory;
        memory->maps++;
    }
    pthread_mutex_unlock(&memory->lock);
    return error;
}

void sisci_local_map_end(struct sisci_local_map *map)
{
    struct sisci_memory *memory = map->memory;
    pthread_mutex_lock(&memory->lock);
    if (map->pages != NULL) {
        if (memory->own_mappings != NULL) /* it is one of them, or could not be made */
            LL_DELETE(memory->own_mappings, map);
        munmap(map->pages, map->pages_length);
    }
    if (map->attached != NULL)
        (void)rsmcore_map_end(map->attached);
    bool last = --memory->maps == 0 && memory->ended;
    pthread_mutex_unlock(&memory->lock);
    if (last)
        release(memory);
}
