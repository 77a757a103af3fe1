/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory/region.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/ranges.h"
#include "base/sealed.h"
#include "memory/pageswap.h"
#include "memory/region_extent.h"
#include "base/status.h"

/* A run of pages with one kind of origin on one extent. */
struct region {
    struct rsm_range range; /* that of the run; first, so that it leads here */
    struct region *next;    /* among those that are about to be registered */
    struct rsmcore_origin_run run;
    struct rsmcore_extent *extent;
    uint64_t offset; /* of the first byte in what the extent's descriptor maps */
};

static struct rsm_ranges regions; /* which do not overlap */

static uintptr_t end_of(const struct region *region)
{
    return region->run.start + region->run.length;
}

static struct region *first_ending_after(uintptr_t address)
{
    return (struct region *)rsm_ranges_first(&regions, address, UINTPTR_MAX);
}

/* The first that has addresses of the range. */
static struct region *first_in(uintptr_t start, uintptr_t end)
{
    return (struct region *)rsm_ranges_first(&regions, start, end);
}

static struct region *next_in(struct region *region, uintptr_t start, uintptr_t end)
{
    return (struct region *)rsm_ranges_next(&region->range, start, end);
}

/* The extents and what is on them are the parent's; only the child's copies go. */
void rsmcore_region_forget_all(void)
{
    for (struct region *region; (region = first_ending_after(0)) != NULL; free(region)) {
        rsm_ranges_remove(&regions, &region->range);
        rsmcore_extent_forget(region->extent);
    }
}

/* ---------------------------------------------------------------- the set */

static void insert(struct region *region)
{
    region->range.start = region->run.start;
    region->range.end = end_of(region);
    rsm_ranges_add(&regions, &region->range);
}

/* Register a region that is on its extent. */
static void add(struct region *region)
{
    insert(region);
    region->extent->regions++;
}

/* Take a region that is no longer on its extent out of the set. */
static void discard(struct region *region)
{
    rsm_ranges_remove(&regions, &region->range);
    rsmcore_extent_release(region->extent);
    free(region);
}

/* Cut a region in two at `address`, which lies inside it. */
static enum rsm_status split(struct region *region, uintptr_t address)
{
    struct region *upper = malloc(sizeof *upper);
    if (upper == NULL)
        return RSM_ST_NO_MEMORY;
    size_t lower_length = address - region->run.start;
    *upper = *region;
    upper->run.start = address;
    upper->run.length -= lower_length;
    upper->offset += lower_length;
    if (upper->run.origin.kind == RSMCORE_ORIGIN_SHARED)
        upper->run.origin.alias += lower_length;
    rsm_ranges_remove(&regions, &region->range);
    region->run.length = lower_length;
    insert(region);
    add(upper);
    return RSM_ST_OK;
}

/* Make region borders at both ends of the range, so that whole regions can be dealt with. */
static enum rsm_status split_at_ends(uintptr_t start, uintptr_t end)
{
    const uintptr_t cuts[] = {start, end};
    for (int i = 0; i < 2; i++) {
        struct region *region = first_ending_after(cuts[i]);
        if (region == NULL || region->run.start >= cuts[i])
            continue;
        enum rsm_status status = split(region, cuts[i]);
        if (status != RSM_ST_OK)
            return status;
    }
    return RSM_ST_OK;
}

/* Register the runs of one swap as regions, one of which @p spare becomes unless it is NULL. All or
 * nothing. */
static enum rsm_status register_runs(const struct rsmcore_origin_run *runs, size_t count,
                                     struct rsmcore_extent *extent, uintptr_t start,
                                     uint64_t offset, struct region *spare)
{
    struct region *made = NULL;
    for (size_t i = 0; i < count; i++) {
        struct region *region = i == 0 && spare != NULL ? spare : malloc(sizeof *region);
        if (region == NULL) {
            while (made != NULL) {
                struct region *next = made->next;
                if (made != spare)
                    free(made);
                made = next;
            }
            return RSM_ST_NO_MEMORY;
        }
        region->run = runs[i];
        region->extent = extent;
        region->offset = offset + (runs[i].start - start);
        region->next = made;
        made = region;
    }
    while (made != NULL) {
        struct region *next = made->next;
        add(made);
        made = next;
    }
    return RSM_ST_OK;
}

/* ---------------------------------------------------------------- cover and uncover */

/* Every extent is looked at before it is mapped: whether accesses to a mapping of it never raise a
 * signal. Of a memfd the seal says so; of anything else, which rsmd describes, the transport that
 * knows the device. */
static bool is_usable(struct rsmcore_extent *extent, const struct rsmcore_extent_source *source,
                      size_t length)
{
    const struct rsm_extent_about *about = &extent->about;
    int fd = extent->file.fd;
    bool usable = about->length >= length;
    if (about->kind == RSM_EXTENT_MEMFD)
        usable = usable && about->offset == 0 && rsm_is_sealed_memory(fd, length);
    else
        usable = usable && about->kind == RSM_EXTENT_DEVICE &&
                 about->offset % (uint64_t)sysconf(_SC_PAGESIZE) == 0 &&
                 about->offset <= INT64_MAX - (uint64_t)length &&
                 source->check(source->context, fd, about->offset, length) == RSM_ST_OK;
    usable = usable && rsmcore_swap_file_of(fd, &extent->file);
    if (!usable)
        rsm_log_error("rsmd gave an extent that is no memory of %zu bytes which stays", length);
    return usable;
}

/* Put pages that are on no extent onto this one, which is given back if that fails.
 * RSM_ST_PROTOCOL: rsmd gave something else than memory of that length that stays there. */
static enum rsm_status put_on_extent(struct rsmcore_extent *extent,
                                     const struct rsmcore_extent_source *source, uintptr_t start,
                                     size_t length)
{
    struct rsmcore_origin_run *runs;
    size_t count;
    uint64_t base = extent->about.offset;
    enum rsm_status status = RSM_ST_PROTOCOL;
    if (!is_usable(extent, source, length))
        goto give_back_extent;
    status =
        rsmcore_swap_in(start, length, RSMCORE_SWAP_FRESH, extent->file.fd, base, &runs, &count);
    if (status != RSM_ST_OK)
        goto give_back_extent;
    status = register_runs(runs, count, extent, start, base, NULL);
    if (status != RSM_ST_OK)
        for (size_t i = 0; i < count; i++)
            (void)rsmcore_swap_out(&runs[i], &extent->file, base + (runs[i].start - start));
    free(runs);
    if (status == RSM_ST_OK) {
        rsmcore_extent_let_go(extent);
        return RSM_ST_OK;
    }

give_back_extent:
    rsmcore_extent_free(extent);
    return status;
}

static enum rsm_status cover_hole(struct rsmcore_control *link,
                                  const struct rsmcore_extent_source *source, uintptr_t start,
                                  size_t length)
{
    struct rsmcore_extent *extent;
    enum rsm_status status = rsmcore_extent_take(link, source->controller, length, &extent);
    return status == RSM_ST_OK ? put_on_extent(extent, source, start, length) : status;
}

bool rsmcore_region_is_bare(uintptr_t start, size_t length)
{
    return first_in(start, start + length) == NULL;
}

enum rsm_status rsmcore_region_cover_with(struct rsmcore_control *link,
                                          const struct rsmcore_extent_source *source, uint32_t id,
                                          int fd, const struct rsm_extent_about *about,
                                          uintptr_t start, size_t length)
{
    struct rsmcore_extent *extent = rsmcore_extent_of(link, id, fd, about);
    return extent != NULL ? put_on_extent(extent, source, start, length) : RSM_ST_NO_MEMORY;
}

static enum rsm_status map_extent(struct rsmcore_extent *extent,
                                  const struct rsmcore_extent_source *source, size_t length,
                                  uintptr_t *start)
{
    uint64_t base = extent->about.offset;
    if (!is_usable(extent, source, length))
        return RSM_ST_PROTOCOL;
    void *mapped =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, extent->file.fd, (off_t)base);
    if (mapped == MAP_FAILED)
        return rsmcore_status_from_errno(errno);
    const struct rsmcore_origin_run run = {
        .start = (uintptr_t)mapped, .length = length, .origin = {.kind = RSMCORE_ORIGIN_PRIVATE}};
    enum rsm_status status = register_runs(&run, 1, extent, run.start, base, NULL);
    if (status == RSM_ST_OK)
        rsmcore_extent_let_go(extent);
    else
        munmap(mapped, length);
    *start = run.start;
    return status;
}

enum rsm_status rsmcore_region_map(struct rsmcore_control *link,
                                   const struct rsmcore_extent_source *source, uint32_t id, int fd,
                                   const struct rsm_extent_about *about, size_t length,
                                   uintptr_t *start)
{
    struct rsmcore_extent *extent = rsmcore_extent_of(link, id, fd, about);
    if (extent == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = map_extent(extent, source, length, start);
    if (status != RSM_ST_OK)
        rsmcore_extent_free(extent);
    return status;
}

void rsmcore_region_unmap(uintptr_t start, size_t length)
{
    uintptr_t end = start + length;
    /* Where there is no memory for that, a region that reaches beyond the range stays for its
     * owner. */
    (void)split_at_ends(start, end);
    munmap((void *)start, length);
    struct region *next;
    for (struct region *region = first_in(start, end); region != NULL; region = next) {
        next = next_in(region, start, end);
        if (region->run.start >= start && end_of(region) <= end)
            discard(region);
    }
}

void rsmcore_region_give_back(struct rsmcore_control *link, uint32_t id, int fd)
{
    rsmcore_extent_give_back(link, id, fd);
}

enum rsm_status rsmcore_region_uncover(uintptr_t start, size_t length)
{
    uintptr_t end = start + length;
    enum rsm_status status = split_at_ends(start, end);
    if (status != RSM_ST_OK)
        return status;
    for (struct region *region; (region = first_in(start, end)) != NULL; discard(region)) {
        status = rsmcore_swap_out(&region->run, &region->extent->file, region->offset);
        if (status != RSM_ST_OK) {
            rsm_log_error("cannot take %zu bytes at %#lx back from their extent: %s",
                          region->run.length, (unsigned long)region->run.start,
                          rsmcore_status_text(status));
            return status;
        }
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_region_shed(struct rsmcore_control *link, uintptr_t start, size_t length)
{
    uintptr_t end = start + length;
    for (uintptr_t at = start; at < end;) {
        const struct region *region = first_in(at, end);
        if (region == NULL)
            break;
        uintptr_t from = region->run.start > at ? region->run.start : at;
        at = end_of(region) < end ? end_of(region) : end;
        enum rsm_status status =
            region->extent->link != link ? rsmcore_region_uncover(from, at - from) : RSM_ST_OK;
        if (status != RSM_ST_OK)
            return status;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_region_cover(struct rsmcore_control *link,
                                     const struct rsmcore_extent_source *source, uintptr_t start,
                                     size_t length)
{
    uintptr_t end = start + length;
    uintptr_t at = start;
    struct {
        uintptr_t start;
        size_t length;
    } covered[RSM_PROTO_PIECES_MAX];
    unsigned holes = 0;
    enum rsm_status status = rsmcore_region_shed(link, start, length);

    while (at < end && status == RSM_ST_OK) {
        const struct region *region = first_in(at, end);
        if (region != NULL && region->run.start <= at) {
            at = end_of(region);
            continue;
        }
        uintptr_t until = region != NULL ? region->run.start : end;
        status = holes < RSM_PROTO_PIECES_MAX ? cover_hole(link, source, at, until - at)
                                              : RSM_ST_NO_RESOURCES;
        if (status != RSM_ST_OK)
            break;
        covered[holes].start = at;
        covered[holes++].length = until - at;
        at = until;
    }
    if (status != RSM_ST_OK)
        while (holes-- > 0)
            (void)rsmcore_region_uncover(covered[holes].start, covered[holes].length);
    return status;
}

bool rsmcore_region_next(uintptr_t *start, size_t *length)
{
    const struct region *region = first_ending_after(*start);
    if (region == NULL)
        return false;
    if (region->run.start > *start)
        *start = region->run.start;
    *length = end_of(region) - *start;
    return true;
}

/* ---------------------------------------------------------------- move */

static bool fully_covered(uintptr_t start, uintptr_t end)
{
    uintptr_t at = start;
    for (struct region *r = first_in(start, end); r != NULL; r = next_in(r, start, end)) {
        if (r->run.start > at)
            return false;
        at = end_of(r);
    }
    return at >= end;
}

/* The pages have moved, but could not be registered where they are now: move them back, which makes
 * the region what it was. Where even that fails nobody is to find them on the extent. */
static bool move_back(struct region *region, const struct rsmcore_origin_run *runs, size_t count)
{
    struct rsmcore_origin_run *back;
    size_t back_count;
    uintptr_t to = runs[0].start;
    bool registered = false;
    if (rsmcore_swap_move(runs, count, region->run.start, region->extent->file.fd, region->offset,
                          &back, &back_count) == RSM_ST_OK) {
        registered = register_runs(back, back_count, region->extent, back[0].start, region->offset,
                                   region) == RSM_ST_OK;
        for (size_t i = 0; !registered && i < back_count; i++)
            (void)rsmcore_swap_out(&back[i], &region->extent->file,
                                   region->offset + (back[i].start - back[0].start));
        free(back);
        return registered;
    }
    for (size_t i = 0; i < count; i++)
        (void)rsmcore_swap_out(&runs[i], &region->extent->file,
                               region->offset + (runs[i].start - to));
    return false;
}

/* Move one whole region by `delta` and register it anew. */
static enum rsm_status move_region(struct region *region, uintptr_t delta)
{
    struct rsmcore_origin_run *runs;
    size_t count;
    uintptr_t to = region->run.start + delta;
    enum rsm_status status = rsmcore_swap_move(&region->run, 1, to, region->extent->file.fd,
                                               region->offset, &runs, &count);
    if (status != RSM_ST_OK)
        return status;
    /* The old region's hold on the extent is kept until the new ones have theirs. */
    struct rsmcore_extent *extent = region->extent;
    uint64_t offset = region->offset;
    rsm_ranges_remove(&regions, &region->range);
    status = register_runs(runs, count, extent, to, offset, region);
    if (status != RSM_ST_OK && !move_back(region, runs, count))
        free(region);
    free(runs);
    rsmcore_extent_release(extent);
    return status;
}

/* Have descriptors of all extents under the range. */
static enum rsm_status reopen_extents(uintptr_t start, uintptr_t end)
{
    enum rsm_status status = RSM_ST_OK;
    struct region *r = first_in(start, end);
    for (; r != NULL && status == RSM_ST_OK; r = next_in(r, start, end))
        status = rsmcore_extent_reopen(r->extent);
    return status;
}

static void let_go_of_extents(uintptr_t start, uintptr_t end)
{
    for (struct region *r = first_in(start, end); r != NULL; r = next_in(r, start, end))
        rsmcore_extent_let_go(r->extent);
}

/* Move all regions of the source, which begin and end where it does. */
static enum rsm_status move_regions(uintptr_t from, uintptr_t to, size_t length)
{
    uintptr_t end = from + length;
    size_t moved = 0;
    enum rsm_status status = RSM_ST_OK;
    struct region *region;
    while (status == RSM_ST_OK && (region = first_in(from, end)) != NULL) {
        size_t size = region->run.length;
        status = move_region(region, to - from);
        if (status == RSM_ST_OK)
            moved += size;
    }
    /* Put back what has moved before the failure. */
    while (status != RSM_ST_OK && moved > 0 && (region = first_in(to, to + moved)) != NULL)
        if (move_region(region, from - to) != RSM_ST_OK)
            break;
    return status;
}

enum rsm_status rsmcore_region_move(uintptr_t from, uintptr_t to, size_t length)
{
    uintptr_t end = from + length;
    bool overlap = from < to + length && to < end;
    if (overlap || first_in(to, to + length) != NULL || !fully_covered(from, end))
        return RSM_ST_BUSY;
    enum rsm_status status = rsmcore_range_check(to, length, 0);
    if (status == RSM_ST_OK)
        status = split_at_ends(from, end);
    if (status != RSM_ST_OK)
        return status;

    status = reopen_extents(from, end);
    if (status == RSM_ST_OK)
        status = move_regions(from, to, length);
    let_go_of_extents(from, end);
    let_go_of_extents(to, to + length);
    return status;
}

/* ---------------------------------------------------------------- description */

enum rsm_status rsmcore_region_pieces(uintptr_t start, size_t length,
                                      struct rsm_segment_piece *pieces, uint32_t most,
                                      uint32_t *count)
{
    uintptr_t end = start + length;
    uintptr_t at = start;
    *count = 0;
    for (struct region *r = first_in(start, end); r != NULL; r = next_in(r, start, end)) {
        if (r->run.start > at)
            return RSM_ST_FAULT;
        uint64_t offset = r->offset - r->extent->about.offset + (at - r->run.start);
        uint64_t size = (end_of(r) < end ? end_of(r) : end) - at;
        struct rsm_segment_piece *last = *count > 0 ? &pieces[*count - 1] : NULL;
        if (last != NULL && last->extent == r->extent->id && last->offset + last->length == offset)
            last->length += size;
        else if (*count == most)
            return RSM_ST_NO_RESOURCES;
        else
            pieces[(*count)++] = (struct rsm_segment_piece){
                .extent = r->extent->id, .offset = offset, .length = size};
        at += size;
    }
    return at == end ? RSM_ST_OK : RSM_ST_FAULT;
}
