/* SPDX-License-Identifier: BSD-3-Clause */
/* Views whose accesses the kernel refuses by userfaultfd, where it cannot show a page of the copy
 * write-protected (before Linux 6.4). The views have memory of their own, of which only the pages
 * exist that are RO or RW: one is made together with its contents (UFFDIO_COPY), and a hole is
 * punched to take it away. Views that a page was not made through get it from the kernel without a
 * message, write-protected where they are marked so. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault/uffd.h"
#include "mapping/mechanism.h"

enum { ATTEMPTS = 100 };

static bool punch(int fd, uint64_t offset, uint64_t length)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                     (off_t)length) == 0;
}

/* Make a page that is not there, with these contents; EEXIST: it is there. */
static bool make(int uffd, uintptr_t address, const uint8_t *contents, size_t length, bool writable)
{
    struct uffdio_copy request = {.dst = address,
                                  .src = (uintptr_t)contents,
                                  .len = length,
                                  .mode = writable ? 0 : UFFDIO_COPY_MODE_WP};
    int result, attempts = 0;
    do
        result = ioctl(uffd, UFFDIO_COPY, &request);
    while (result != 0 && (errno == EAGAIN || errno == EINTR) && ++attempts < ATTEMPTS);
    return result == 0;
}

/* ---------------------------------------------------------------- can this kernel do that? */

/* @p page: three of them, of which the first two show the same memory. */
static bool try_page(int uffd, int memory, uint8_t *page[3], size_t size)
{
    if (!punch(memory, 0, size) || !mapping_faultfd_take(uffd, (uintptr_t)page[0], size, false))
        return false;
    page[2][0] = 1;
    return make(uffd, (uintptr_t)page[0], page[2], size, false) && page[1][0] == 1 &&
           punch(memory, 0, size) &&
           rsmcore_uffd_set_writable(uffd, (uintptr_t)page[0], size, false) &&
           make(uffd, (uintptr_t)page[0], page[2], size, true);
}

bool mapping_faultcopy_works(int memory)
{
    enum { PAGES = 3 };
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *page[PAGES];
    bool works = true;
    int uffd = mapping_faultfd_new(true);
    for (unsigned i = 0; i < PAGES; i++) {
        page[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       i < 2 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, i < 2 ? memory : -1, 0);
        works = works && page[i] != MAP_FAILED;
    }
    works = works && uffd >= 0 && try_page(uffd, memory, page, size);
    for (unsigned i = 0; i < PAGES; i++)
        if (page[i] != MAP_FAILED)
            munmap(page[i], size);
    if (uffd >= 0)
        close(uffd);
    return works;
}

/* ---------------------------------------------------------------- views */

/* In a second view a page may be present that the first one has already. */
bool mapping_faultcopy_attach(struct mapping *mapping, const struct mapping_view *view)
{
    uintptr_t address = (uintptr_t)view->address;
    size_t length = (size_t)view->count * mapping->space.page_size;
    bool first = mapping->first == NULL;
    return mapping_faultfd_take(mapping->faultfd, address, length, false) &&
           (first || rsmcore_uffd_set_writable(mapping->faultfd, address, length, false)) &&
           mprotect(view->address, length, mapping_faultfd_protection(view)) == 0;
}

/* Set the protection of a run, or the mark where no page is, in all views but one. */
static bool set_writable(const struct mapping *mapping, const struct mapping_view *but,
                         uint32_t first, uint32_t count, bool writable)
{
    size_t page = mapping->space.page_size;
    bool done = true;
    for (const struct mapping_view *view = mapping->first; view != NULL; view = view->sibling) {
        uint32_t end = view->first + view->count;
        uint32_t from = first > view->first ? first : view->first;
        uint32_t to = first + count < end ? first + count : end;
        if (view == but || (view->rights & RSM_RIGHT_WRITE) == 0 || from >= to)
            continue;
        uintptr_t address = (uintptr_t)view->address + (from - view->first) * page;
        if (!rsmcore_uffd_set_writable(mapping->faultfd, address, (to - from) * page, writable))
            done = false;
    }
    return done;
}

static bool drop(const struct mapping *mapping, uint32_t first, uint32_t count)
{
    size_t page = mapping->space.page_size;
    return punch(mapping->fd, (uint64_t)first * page, (uint64_t)count * page);
}

/* Nothing can be stored once pages are protected, so the copy gets all of what was. */
static bool take_away(const struct mapping *mapping, uint32_t first, uint32_t count)
{
    const struct mapping_space *space = &mapping->space;
    bool stored = false;
    for (uint32_t page = first; page < first + count; page++)
        stored = stored || space->page[page].state == MAPPING_RW;
    if (stored)
        (void)set_writable(mapping, NULL, first, count, false);
    for (uint32_t page = first; stored && page < first + count; page++)
        if (space->page[page].state == MAPPING_RW)
            memcpy(mapping_copy_of(space, page), mapping_shown_of(space, page), space->page_size);
    return drop(mapping, first, count);
}

/* The newest view that shows it. */
static const struct mapping_view *view_of(const struct mapping *mapping, uint32_t page)
{
    const struct mapping_view *view = mapping->first;
    while (view != NULL && (page - view->first >= view->count || view->rights == 0))
        view = view->sibling;
    return view;
}

/* A page that is not there. The other views are marked before it is, or they would let stores
 * pass. */
static bool bring(const struct mapping *mapping, uint32_t page, bool writable)
{
    const struct mapping_space *space = &mapping->space;
    const struct mapping_view *view = view_of(mapping, page);
    if (view == NULL || !set_writable(mapping, view, page, 1, false))
        return false;
    uintptr_t address = (uintptr_t)view->address + (page - view->first) * space->page_size;
    const uint8_t *contents = mapping_copy_of(space, page);
    if (!make(mapping->faultfd, address, contents, space->page_size, writable) &&
        (errno != EEXIST || !drop(mapping, page, 1) ||
         !make(mapping->faultfd, address, contents, space->page_size, writable)))
        return false;
    if (!writable || set_writable(mapping, view, page, 1, true))
        return true;
    (void)drop(mapping, page, 1);
    return false;
}

bool mapping_faultcopy_protect(struct mapping *mapping, uint32_t first, uint32_t count,
                               enum mapping_state state)
{
    if (state == MAPPING_NONE)
        return take_away(mapping, first, count);
    if (mapping->space.page[first].state == MAPPING_NONE) {
        bool done = true;
        for (uint32_t page = first; page < first + count && done; page++)
            done = bring(mapping, page, state == MAPPING_RW);
        return done;
    }
    return set_writable(mapping, NULL, first, 1, state == MAPPING_RW);
}
