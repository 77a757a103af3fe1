/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/view.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/descriptor.h"
#include "base/second_mapping.h"

int rsm_view_protection(uint32_t rights)
{
    if ((rights & RSM_RIGHT_WRITE) != 0)
        return PROT_READ | PROT_WRITE;
    return (rights & RSM_RIGHT_READ) != 0 ? PROT_READ : PROT_NONE;
}

#define RESERVATION (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Addresses that nothing else in the process can take; NULL with errno. */
static uint8_t *reserve(void *hint, uint64_t size)
{
    void *base = mmap(hint, size, PROT_NONE, RESERVATION, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

static enum rsm_status status_of_mapping(int error)
{
    return error == ENOMEM || error == EAGAIN ? RSM_ST_NO_MEMORY : RSM_ST_MAP_FAILED;
}

static enum rsm_status keep_descriptors(struct rsm_view *view, const int *fds)
{
    for (unsigned i = 0; i < view->count; i++) {
        view->pieces[i].fd = rsmcore_fd_place_copy(fds[i]);
        if (view->pieces[i].fd < 0)
            return RSM_ST_NO_RESOURCES;
    }
    return RSM_ST_OK;
}

static enum rsm_status status_of_view(int error)
{
    return error == EACCES || error == EPERM ? RSM_ST_PROTOCOL : RSM_ST_NO_MEMORY;
}

static enum rsm_status map_pieces(struct rsm_view *view, const int *fds,
                                  const struct rsm_view_piece *pieces)
{
    /* One piece finds its own place; several need one that holds them all. */
    void *start = view->count > 1 ? rsmcore_mmap_apart(view->size, PROT_NONE, RESERVATION, -1, 0)
                                  : rsmcore_mmap_apart(view->size, view->protection, MAP_SHARED,
                                                       fds[0], (off_t)pieces[0].offset);
    if (start == MAP_FAILED)
        return status_of_view(errno);
    uint8_t *at = start;
    for (unsigned i = 0; i < view->count && view->count > 1; i++) {
        if (mmap(at, pieces[i].length, view->protection, MAP_SHARED | MAP_FIXED, fds[i],
                 (off_t)pieces[i].offset) == MAP_FAILED) {
            int error = errno;
            munmap(start, view->size);
            return status_of_view(error);
        }
        at += pieces[i].length;
    }
    view->base = start;
    return RSM_ST_OK;
}

enum rsm_status rsm_view_make(struct rsm_view *view, const int *fds,
                              const struct rsm_view_piece *pieces, unsigned count, uint64_t size,
                              int protection, bool copyable)
{
    uint64_t end = 0;
    view->base = NULL;
    view->size = size;
    view->protection = protection;
    view->count = count;
    for (unsigned i = 0; i < count; i++) {
        end += pieces[i].length;
        view->pieces[i].end = end;
        view->pieces[i].offset = pieces[i].offset;
        view->pieces[i].fd = -1;
    }
    enum rsm_status status = map_pieces(view, fds, pieces);
    if (status == RSM_ST_OK && (!copyable || !rsm_second_mapping_works()))
        status = keep_descriptors(view, fds);
    if (status != RSM_ST_OK)
        rsm_view_end(view);
    return status;
}

void rsm_view_end(struct rsm_view *view)
{
    for (unsigned i = 0; i < view->count; i++)
        if (view->pieces[i].fd >= 0)
            close(view->pieces[i].fd);
    if (view->base != NULL)
        munmap(view->base, view->size);
    view->base = NULL;
    view->count = 0;
}

struct part {
    const struct rsm_view *view;
    uint64_t offset; /* bytes from the view's base */
    uint64_t length;
    int protection; /* that it gets */
};

/* A run of the part that lies in one piece. */
struct run {
    unsigned piece;
    uint64_t from; /* bytes from the view's base */
    uint64_t to;   /* bytes from the part's beginning */
    uint64_t length;
};

/* Advance to the next run, from a zeroed one to the first; false behind the last. */
static bool next_run(const struct part *part, struct run *run)
{
    uint64_t done = run->to + run->length;
    if (done == part->length)
        return false;
    uint64_t from = part->offset + done, left = part->length - done;
    unsigned piece = run->piece;
    while (part->view->pieces[piece].end <= from)
        piece++;
    uint64_t max = part->view->pieces[piece].end - from;
    *run =
        (struct run){.piece = piece, .from = from, .to = done, .length = max < left ? max : left};
    return true;
}

/* Map one run at @p target, or with NULL where there is room; MAP_FAILED with errno. */
static void *map_run(const struct part *part, const struct run *run, uint8_t *target)
{
    const struct rsm_view *view = part->view;
    uint64_t start = run->piece > 0 ? view->pieces[run->piece - 1].end : 0;
    if (view->pieces[run->piece].fd >= 0)
        return mmap(target, run->length, part->protection,
                    target != NULL ? MAP_SHARED | MAP_FIXED : MAP_SHARED,
                    view->pieces[run->piece].fd,
                    (off_t)(view->pieces[run->piece].offset + (run->from - start)));
    /* An old length of 0 asks for a second mapping of the same shared pages. */
    uint8_t *source = view->base + run->from;
    void *mapped = target != NULL
                       ? mremap(source, 0, run->length, MREMAP_MAYMOVE | MREMAP_FIXED, target)
                       : mremap(source, 0, run->length, MREMAP_MAYMOVE);
    if (mapped == MAP_FAILED || part->protection == view->protection ||
        mprotect(mapped, run->length, part->protection) == 0)
        return mapped;
    int error = errno;
    munmap(mapped, run->length);
    errno = error;
    return MAP_FAILED;
}

/* Whether two ranges of that length have addresses in common. */
static bool overlap(const uint8_t *a, const uint8_t *b, uint64_t length)
{
    return (uintptr_t)a - (uintptr_t)b < length || (uintptr_t)b - (uintptr_t)a < length;
}

/* Reserve addresses to build a window in that goes to @p target: none of the target, or exactly the
 * target. The kernel may offer a range that has part of a target that is free. A range as long as
 * the target that shares addresses with it has the first or the last of these; so while two such
 * ranges are held, there cannot be a third. */
static uint8_t *reserve_beside(const uint8_t *target, uint64_t length)
{
    uint8_t *held[2], *found;
    unsigned count = 0;
    while ((found = reserve(NULL, length)) != NULL && found != target && count < 2 &&
           overlap(found, target, length))
        held[count++] = found;
    int error = errno;
    while (count > 0)
        munmap(held[--count], length);
    errno = error;
    return found;
}

/* Map all runs of the part to @p place, which is reserved; NULL with errno, and it is free. */
static uint8_t *fill(const struct part *part, uint8_t *place)
{
    struct run run = {0};
    while (next_run(part, &run)) {
        if (map_run(part, &run, place + run.to) == MAP_FAILED) {
            int error = errno;
            munmap(place, part->length);
            errno = error;
            return NULL;
        }
    }
    return place;
}

/* Build the part anywhere, at the hint if possible; NULL with errno. */
static uint8_t *build(const struct part *part, void *hint)
{
    struct run run = {0};
    (void)next_run(part, &run);
    if (run.length == part->length && hint == NULL) {
        void *mapped = map_run(part, &run, NULL);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    uint8_t *place = reserve(hint, part->length);
    return place != NULL ? fill(part, place) : NULL;
}

/* Move what was built at @p built to @p target, piece by piece as the kernel demands. After a
 * failure nothing is left at either: half a window is worse than a hole. */
static int move(const struct part *part, uint8_t *built, uint8_t *target)
{
    struct run run = {0};
    while (next_run(part, &run)) {
        if (mremap(built + run.to, run.length, run.length, MREMAP_MAYMOVE | MREMAP_FIXED,
                   target + run.to) == MAP_FAILED) {
            int error = errno;
            if (run.to > 0)
                munmap(target, run.to);
            munmap(built + run.to, part->length - run.to);
            errno = error;
            return -1;
        }
    }
    return 0;
}

/* Whether the range has some of the view, which put and get go on needing where it is. */
static bool covers_view(const struct rsm_view *view, const uint8_t *target, uint64_t length)
{
    return (uintptr_t)target - (uintptr_t)view->base < view->size ||
           (uintptr_t)view->base - (uintptr_t)target < length;
}

/* Replace what is at @p target; -1 with errno. */
static int build_at(const struct part *part, uint8_t *target)
{
    uint8_t *place = reserve_beside(target, part->length);
    if (place == NULL || fill(part, place) == NULL)
        return -1;
    return place == target ? 0 : move(part, place, target);
}

enum rsm_status rsm_view_map(const struct rsm_view *view, uint64_t offset, uint64_t length,
                             int protection, bool fixed, void **address)
{
    struct part part = {.view = view, .offset = offset, .length = length, .protection = protection};
    if (fixed && (*address == NULL || covers_view(view, *address, length)))
        return RSM_ST_MAP_FAILED;
    if (fixed)
        return build_at(&part, *address) == 0 ? RSM_ST_OK : status_of_mapping(errno);
    void *built = build(&part, *address);
    if (built == NULL)
        return status_of_mapping(errno);
    *address = built;
    return RSM_ST_OK;
}

enum rsm_status rsm_view_map_none(uint64_t length, bool fixed, void **address)
{
    if (fixed && *address == NULL)
        return RSM_ST_MAP_FAILED;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (fixed ? MAP_FIXED : 0);
    void *made = mmap(*address, length, PROT_NONE, flags, -1, 0);
    if (made == MAP_FAILED)
        return status_of_mapping(errno);
    *address = made;
    return RSM_ST_OK;
}
