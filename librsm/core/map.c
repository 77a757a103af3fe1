/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/map.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct rsmcore_map {
    struct rsmcore_import *import;
    void *pages; /* the mapping underneath */
    size_t pages_length;
    uint64_t offset;
    size_t length;
};

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Take the pages, if nothing is there: the mapping is made over them. */
static enum rsm_status take_place(struct rsmcore_map *map, uint8_t *at)
{
    uint64_t place = map->offset % page_size();
    if ((uintptr_t)at % page_size() != place)
        return RSM_ST_ALIGNMENT;
    void *taken = mmap(at - place, map->pages_length, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (taken == MAP_FAILED)
        return RSM_ST_MAP_FAILED;
    map->pages = taken;
    if (taken == at - place)
        return RSM_ST_OK;
    munmap(taken, map->pages_length); /* a kernel that takes it for a hint */
    return RSM_ST_MAP_FAILED;
}

/* The pages around the range. A segment is whole pages, so that they are inside it. */
static enum rsm_status map_pages(struct rsmcore_map *map, uint32_t rights, void *at)
{
    uint64_t page = page_size();
    uint64_t first = map->offset / page * page;
    uint64_t end = (map->offset + map->length + page - 1) / page * page;
    map->pages_length = (size_t)(end - first);
    enum rsm_status status = at != NULL ? take_place(map, at) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        return status;
    void *reserved = map->pages;
    status =
        rsmcore_import_map(map->import, first, map->pages_length, rights, at != NULL, &map->pages);
    if (status != RSM_ST_OK && reserved != NULL)
        munmap(reserved, map->pages_length);
    return status;
}

enum rsm_status rsmcore_map_make(struct rsmcore_import *import, uint64_t offset, size_t length,
                                 uint32_t rights, void *at, struct rsmcore_map **map)
{
    if (length == 0 || !rsmcore_import_in_range(import, offset, length))
        return RSM_ST_RANGE;
    struct rsmcore_map *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->import = import;
    made->offset = offset;
    made->length = length;
    enum rsm_status status = map_pages(made, rights, at);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    *map = made;
    return RSM_ST_OK;
}

enum rsm_status rsmcore_map_end(struct rsmcore_map *map)
{
    enum rsm_status status = rsmcore_import_unmap(map->import, map->pages, map->pages_length);
    if (status != RSM_ST_OK)
        return status;
    free(map);
    return RSM_ST_OK;
}

void *rsmcore_map_address(const struct rsmcore_map *map)
{
    return (uint8_t *)map->pages + map->offset % page_size();
}
