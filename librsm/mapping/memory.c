/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/space.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/descriptor.h"
#include "base/madvise.h"
#include "base/status.h"
#include "mapping/loop.h"

/* Of the buffer: what it takes for all but long runs of pages. */
enum { POPULATED = 16 };

/* Reserved in full, populated by use. The tables of a segment are too large for malloc() and are
 * mostly never touched. */
static void *reserve(size_t length)
{
    void *made = rsmcore_mmap_apart(length, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

static void give_back(void *memory, size_t length)
{
    if (memory != NULL)
        munmap(memory, length);
}

static size_t table_bytes(const struct mapping_space *space)
{
    return space->page_count * sizeof(struct mapping_page);
}

static size_t set_bytes(const struct mapping_space *space)
{
    return (space->page_count + 63) / 64 * sizeof(uint64_t);
}

static size_t holder_bytes(const struct mapping_space *space)
{
    return (space->page_count + 63) / 64;
}

static size_t digest_bytes(const struct mapping_space *space)
{
    return space->page_count * sizeof(uint64_t);
}

static size_t segment_bytes(const struct mapping_space *space)
{
    return (size_t)space->page_count * space->page_size;
}

static enum rsm_status make_copy(struct mapping_space *space, int *fd)
{
    *fd = rsmcore_fd_place(memfd_create("rsm-mapping", MFD_CLOEXEC));
    if (*fd < 0)
        return rsmcore_status_from_errno(errno);
    if (ftruncate(*fd, (off_t)segment_bytes(space)) != 0)
        return RSM_ST_NO_MEMORY;
    void *copy = rsmcore_mmap_apart(segment_bytes(space), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_NORESERVE, *fd, 0);
    if (copy == MAP_FAILED)
        return RSM_ST_NO_MEMORY;
    space->copy = copy;
    /* A child must not see it, and a core dump has it in the views. */
    (void)madvise(copy, segment_bytes(space), MADV_DONTFORK);
    (void)madvise(copy, segment_bytes(space), MADV_DONTDUMP);
    return RSM_ST_OK;
}

enum rsm_status mapping_memory_make(struct mapping_space *space, int *fd)
{
    enum rsm_status status = make_copy(space, fd);
    if (status != RSM_ST_OK)
        return status;
    space->twins = reserve(segment_bytes(space));
    space->page = reserve(table_bytes(space));
    space->clean = reserve(2 * set_bytes(space));
    space->clean_words = space->clean + set_bytes(space) / sizeof *space->clean;
    space->buffer = reserve((MAPPING_BUFFER_PAGES + 1) * space->page_size);
    space->loops.state = mapping_loop_bytes() > 0 ? reserve(mapping_loop_bytes()) : NULL;
    uint64_t *bits = reserve(MAPPING_STRETCHES * space->page_size / 8);
    space->stretches[0].bytes = bits;
    if (space->twins == NULL || space->page == NULL || space->clean == NULL ||
        space->buffer == NULL || bits == NULL)
        return RSM_ST_NO_MEMORY;
    (void)madvise(space->twins, segment_bytes(space), MADV_DONTDUMP);
    space->scratch = space->buffer + MAPPING_BUFFER_PAGES * space->page_size;
    /* Here, not in a handler that must not run out of memory. */
    memset(space->buffer, 0, POPULATED * space->page_size);
    memset(space->scratch, 0, space->page_size);
    memset(bits, 0, MAPPING_STRETCHES * space->page_size / 8);
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space->stretches[i].bytes = bits + i * space->page_size / 64;
    return RSM_ST_OK;
}

enum rsm_status mapping_memory_separate(struct mapping_space *space)
{
    uint8_t *copy = reserve(segment_bytes(space));
    if (copy == NULL)
        return RSM_ST_NO_MEMORY;
    (void)madvise(copy, segment_bytes(space), MADV_DONTDUMP);
    space->shown = space->copy;
    space->copy = copy;
    return RSM_ST_OK;
}

/* A page takes its copy, a twin, its part of the table at worst, and what the views show if that is
 * not the copy. */
static uint32_t limit_for(const struct mapping_space *space, uint64_t bytes)
{
    uint64_t pages = bytes / ((space->shown != NULL ? 4 : 3) * space->page_size);
    return pages < space->page_count ? (uint32_t)(pages > 0 ? pages : 1) : 0;
}

enum rsm_status mapping_memory_bound(struct mapping_space *space, uint64_t bytes)
{
    struct mapping_cache *cache = &space->cache;
    uint32_t limit = limit_for(space, bytes);
    if (limit == 0)
        return RSM_ST_OK;
    cache->limit = limit;
    cache->ring = reserve(limit * sizeof *cache->ring);
    cache->holders = reserve(holder_bytes(space));
    cache->digest = reserve(digest_bytes(space));
    bool made = cache->ring != NULL && cache->holders != NULL && cache->digest != NULL;
    return made ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

static void free_cache(const struct mapping_space *space)
{
    const struct mapping_cache *cache = &space->cache;
    give_back(cache->ring, cache->limit * sizeof *cache->ring);
    give_back(cache->holders, holder_bytes(space));
    give_back(cache->digest, digest_bytes(space));
}

void mapping_memory_free(struct mapping_space *space, int fd, bool inherited)
{
    uint8_t *shared = space->shown != NULL ? space->shown : space->copy;
    if (!inherited)
        give_back(shared, segment_bytes(space));
    if (space->shown != NULL)
        give_back(space->copy, segment_bytes(space));
    free_cache(space);
    give_back(space->twins, segment_bytes(space));
    give_back(space->page, table_bytes(space));
    give_back(space->clean, 2 * set_bytes(space));
    give_back(space->buffer, (MAPPING_BUFFER_PAGES + 1) * space->page_size);
    give_back(space->loops.state, mapping_loop_bytes());
    give_back(space->stretches[0].bytes, MAPPING_STRETCHES * space->page_size / 8);
    if (fd >= 0)
        close(fd);
}

bool mapping_memory_populate(const struct mapping_space *space, uint32_t first, uint32_t count)
{
    size_t length = count * space->page_size;
    return madvise(mapping_copy_of(space, first), length, MADV_POPULATE_WRITE) == 0 &&
           madvise(mapping_twin_of(space, first), length, MADV_POPULATE_WRITE) == 0;
}

void mapping_memory_trim(struct mapping_space *space)
{
    (void)madvise(mapping_shown_of(space, 0), segment_bytes(space), MADV_REMOVE);
    if (space->shown != NULL)
        (void)madvise(space->copy, segment_bytes(space), MADV_DONTNEED);
    (void)madvise(space->twins, segment_bytes(space), MADV_DONTNEED);
}

void mapping_memory_clear_tables(struct mapping_space *space)
{
    (void)madvise(space->page, table_bytes(space), MADV_DONTNEED);
    (void)madvise(space->cache.holders, holder_bytes(space), MADV_DONTNEED);
    (void)madvise(space->cache.digest, digest_bytes(space), MADV_DONTNEED);
}

void mapping_memory_release_pages(struct mapping_space *space, uint32_t first, uint32_t count)
{
    size_t length = count * space->page_size;
    if (space->shown != NULL)
        (void)madvise(mapping_copy_of(space, first), length, MADV_DONTNEED);
    else
        (void)madvise(mapping_copy_of(space, first), length, MADV_REMOVE);
    (void)madvise(mapping_twin_of(space, first), length, MADV_DONTNEED);
}

void mapping_memory_release_entries(struct mapping_space *space, uint32_t first, uint32_t count)
{
    (void)madvise(&space->page[first], count * sizeof space->page[0], MADV_DONTNEED);
}
