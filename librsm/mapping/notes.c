/* SPDX-License-Identifier: BSD-3-Clause */
/* Views that are never refused: they are write-protected, and the kernel itself takes the
 * protection away from a page that is stored to, by whomever, and notes it (userfaultfd, WP_ASYNC).
 * Asking for what it noted (PAGEMAP_SCAN) protects these pages again. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "fault/uffd.h"
#include "mapping/mechanism.h"
#include "mapping/space.h"
#include "mapping/mirror.h"

/* Newer than the headers that this must build with: these are the kernel's names and numbers. */
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#define SCAN_PROTECT     UINT64_C(1)  /* PM_SCAN_WP_MATCHING */
#define PAGE_WAS_WRITTEN UINT64_C(2)  /* PAGE_IS_WRITTEN */
#define PAGE_PRESENT     UINT64_C(8)  /* PAGE_IS_PRESENT */
#define PAGE_SWAPPED     UINT64_C(16) /* PAGE_IS_SWAPPED */

struct scan_region {
    uint64_t start, end, categories;
};

struct scan_request {
    uint64_t size, flags;
    uint64_t start, end, walk_end;
    uint64_t vec, vec_length, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan_request) /* PAGEMAP_SCAN */

enum { REGIONS = 64, PROBED_PAGES = 3 };

/* A page that is not present is asked for too: when the kernel needs memory it takes a page out of
 * the view, and what it noted of one that had been stored to is lost, while one that was protected
 * leaves a mark that counts as swapped. (Later kernels count what has no mark as written.) */
static bool was_written(const struct scan_region *region)
{
    return (region->categories & PAGE_WAS_WRITTEN) != 0 || region->categories == 0;
}

/* Write-protect the pages written in [at, end), and list them as far as there is room. Returns the
 * number of regions, or -1. *reached: where to continue. */
static int scan(int pagemap, uintptr_t at, uintptr_t end, struct scan_region *regions,
                uintptr_t *reached)
{
    struct scan_request request = {
        .size = sizeof request,
        .flags = SCAN_PROTECT,
        .start = at,
        .end = end,
        .vec = (uintptr_t)regions,
        .vec_length = REGIONS,
        .category_inverted = PAGE_PRESENT,
        .category_anyof_mask = PAGE_WAS_WRITTEN | PAGE_PRESENT,
        .return_mask = PAGE_WAS_WRITTEN | PAGE_PRESENT | PAGE_SWAPPED,
    };
    int count = ioctl(pagemap, SCAN, &request);
    *reached = (uintptr_t)request.walk_end;
    return count;
}

static void note_regions(struct mapping_space *space, const struct mapping_view *view,
                         const struct scan_region *regions, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t from = regions[i].start - (uintptr_t)view->address;
        uint64_t length = regions[i].end - regions[i].start;
        if (was_written(&regions[i]))
            mapping_mirror_note(space, view->first + mapping_page_of(space, from),
                                mapping_page_of(space, length));
    }
}

/* A kernel that refuses has to be taken for one that says: all of it. */
static void look_at(struct mapping *mapping, const struct mapping_view *view)
{
    uintptr_t at = (uintptr_t)view->address;
    uintptr_t end = at + (size_t)view->count * mapping->space.page_size;
    struct scan_region regions[REGIONS];
    while (at < end) {
        uintptr_t reached;
        int count = scan(mapping->pagemap, at, end, regions, &reached);
        if (count < 0 || reached <= at) {
            mapping_mirror_note(&mapping->space, view->first, view->count);
            return;
        }
        note_regions(&mapping->space, view, regions, count);
        at = reached;
    }
}

void mapping_notes_look(struct mapping_space *space)
{
    struct mapping *mapping = mapping_of_space(space);
    for (const struct mapping_view *view = mapping->first; view != NULL; view = view->sibling)
        if ((view->rights & RSM_RIGHT_WRITE) != 0)
            look_at(mapping, view);
}

static unsigned pages_written(int pagemap, uint8_t *address, size_t page)
{
    struct scan_region regions[REGIONS];
    unsigned written = 0;
    uintptr_t reached;
    int count = scan(pagemap, (uintptr_t)address, (uintptr_t)address + PROBED_PAGES * page, regions,
                     &reached);
    for (int i = 0; i < count; i++)
        if (was_written(&regions[i]))
            written += (unsigned)((regions[i].end - regions[i].start) / page);
    return written;
}

/* A store is noted, once, and so is the next one. */
static bool notes_stores(int faultfd, int pagemap, int memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile uint8_t *view =
        mmap(NULL, PROBED_PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if ((void *)(uintptr_t)view == MAP_FAILED)
        return false;
    uint8_t *start = (uint8_t *)(uintptr_t)view;
    bool works = rsmcore_uffd_protect(faultfd, (uintptr_t)start, PROBED_PAGES * page);
    for (unsigned i = 0; i < 5 && works; i++) {
        unsigned stores = i % 2;
        if (stores > 0)
            view[page] = 1;
        works = pages_written(pagemap, start, page) == stores;
    }
    munmap(start, PROBED_PAGES * page);
    return works;
}

static bool probe(int faultfd, int pagemap)
{
    int memory = rsmcore_fd_place(memfd_create("rsm-mapping-probe", MFD_CLOEXEC));
    if (memory < 0)
        return false;
    bool works = ftruncate(memory, PROBED_PAGES * (off_t)sysconf(_SC_PAGESIZE)) == 0 &&
                 notes_stores(faultfd, pagemap, memory);
    close(memory);
    return works;
}

bool mapping_notes_open(struct mapping *mapping)
{
    mapping->faultfd =
        rsmcore_uffd_new(true, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                                   UFFD_FEATURE_WP_ASYNC);
    if (mapping->faultfd < 0)
        return false;
    mapping->pagemap = rsmcore_fd_place(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    return mapping->pagemap >= 0 && probe(mapping->faultfd, mapping->pagemap);
}

static void show(struct mapping *mapping, const struct mapping_view *view)
{
    uint32_t end = view->first + view->count;
    struct mapping_mask before;
    for (uint32_t page = view->first; page < end;) {
        mapping_enter(mapping, &before);
        page = mapping_mirror_show(&mapping->space, page, end);
        mapping_leave(mapping, &before);
    }
}

/* The space's lock is held, and the view is not in the list. */
static void hide(struct mapping *mapping, const struct mapping_view *view)
{
    struct mapping_space *space = &mapping->space;
    mapping_mirror_hide(space, view->first, view->first + view->count);
    for (const struct mapping_view *other = mapping->first; other != NULL; other = other->sibling)
        mapping_mirror_keep(space, other->first, other->first + other->count);
}

static bool attach(struct mapping *mapping, const struct mapping_view *view)
{
    size_t length = (size_t)view->count * mapping->space.page_size;
    bool writable = (view->rights & RSM_RIGHT_WRITE) != 0;
    int protection = view->rights == 0 ? PROT_NONE : writable ? PROT_READ | PROT_WRITE : PROT_READ;
    struct mapping_mask before;
    if (!mapping_memory_populate(&mapping->space, view->first, view->count))
        return false;
    show(mapping, view);
    if ((!writable || rsmcore_uffd_protect(mapping->faultfd, (uintptr_t)view->address, length)) &&
        mprotect(view->address, length, protection) == 0)
        return true;
    mapping_enter(mapping, &before);
    hide(mapping, view);
    mapping_leave(mapping, &before);
    return false;
}

/* What the kernel noted stays. */
static void seal(struct mapping *mapping, const struct mapping_view *view)
{
    (void)mprotect(view->address, (size_t)view->count * mapping->space.page_size, PROT_NONE);
}

const struct mapping_mechanism mapping_by_notes = {
    .name = "notes of the kernel about stores, userfaultfd",
    .attach = attach,
    .seal = seal,
    .detach = hide,
};
