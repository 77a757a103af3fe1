/* SPDX-License-Identifier: BSD-3-Clause */
/* Views whose accesses the kernel refuses by userfaultfd: the page is in the copy, and the view
 * gets it (UFFDIO_CONTINUE), write-protected or not, when it may be touched. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/madvise.h"
#include "fault/uffd.h"
#include "mapping/mechanism.h"

/* Newer than the headers that this must build with. */
#ifndef UFFD_FEATURE_MINOR_SHMEM
#define UFFD_FEATURE_MINOR_SHMEM (1 << 10)
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP ((uint64_t)1 << 1)
#endif

#ifndef UFFD_FEATURE_THREAD_ID
#define UFFD_FEATURE_THREAD_ID (1 << 8)
#endif
#ifndef UFFD_FEATURE_EXACT_ADDRESS
#define UFFD_FEATURE_EXACT_ADDRESS (1 << 11)
#endif

/* For tests: do as on a kernel that lacks the last of these. */
#ifndef MAPPING_OLDER_KERNEL
#define MAPPING_OLDER_KERNEL 0
#endif

enum { ATTEMPTS = 100 };

int mapping_faultfd_new(bool user_only)
{
    return rsmcore_uffd_new(user_only, UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
                                           UFFD_FEATURE_PAGEFAULT_FLAG_WP |
                                           UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                                           UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EXACT_ADDRESS);
}

bool mapping_faultfd_take(int fd, uintptr_t address, size_t length, bool minor)
{
    struct uffdio_register request = {
        .range = {.start = address, .len = length},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP |
                (minor ? UFFDIO_REGISTER_MODE_MINOR : 0),
    };
    uint64_t needed = UINT64_C(1) << _UFFDIO_WRITEPROTECT |
                      UINT64_C(1) << (minor ? _UFFDIO_CONTINUE : _UFFDIO_COPY);
    return ioctl(fd, UFFDIO_REGISTER, &request) == 0 && (request.ioctls & needed) == needed;
}

/* Show one page; EEXIST: it is shown already, and so the kernel has not changed its protection. */
static bool show(int fd, uintptr_t address, size_t length, bool writable)
{
    struct uffdio_continue request = {.range = {.start = address, .len = length},
                                      .mode = writable ? 0 : UFFDIO_CONTINUE_MODE_WP};
    int attempts = 0;
    while (ioctl(fd, UFFDIO_CONTINUE, &request) != 0) {
        if (errno == EEXIST)
            return rsmcore_uffd_set_writable(fd, address, length, writable);
        if ((errno != EAGAIN && errno != EINTR) || ++attempts == ATTEMPTS)
            return false;
    }
    return true;
}

/* Show a run of pages, none of which is shown. */
static bool show_run(int fd, uintptr_t address, size_t length)
{
    struct uffdio_continue request = {.range = {.start = address, .len = length},
                                      .mode = UFFDIO_CONTINUE_MODE_WP};
    return ioctl(fd, UFFDIO_CONTINUE, &request) == 0;
}

/* There is no feature bit for UFFDIO_CONTINUE_MODE_WP. */
static bool can_show(int memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    bool works = false;
    int fd = mapping_faultfd_new(true);
    if (fd < 0)
        return false;
    uint8_t *copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    uint8_t *view = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (copy != MAP_FAILED && view != MAP_FAILED &&
        mapping_faultfd_take(fd, (uintptr_t)view, page, true)) {
        copy[0] = 1;
        works = show(fd, (uintptr_t)view, page, false) &&
                madvise(view, page, MADV_DONTNEED_LOCKED) == 0 &&
                show(fd, (uintptr_t)view, page, true) &&
                rsmcore_uffd_set_writable(fd, (uintptr_t)view, page, false);
    }
    if (copy != MAP_FAILED)
        munmap(copy, page);
    if (view != MAP_FAILED)
        munmap(view, page);
    close(fd);
    return works;
}

static enum mapping_faultfd_way way;

static enum mapping_faultfd_way try_ways(int memory)
{
    if (ftruncate(memory, (off_t)sysconf(_SC_PAGESIZE)) != 0)
        return MAPPING_FAULTFD_NONE;
    if (!MAPPING_OLDER_KERNEL && can_show(memory))
        return MAPPING_FAULTFD_SHOWS;
    return mapping_faultcopy_works(memory) ? MAPPING_FAULTFD_COPIES : MAPPING_FAULTFD_NONE;
}

static void probe(void)
{
    int memory = rsmcore_fd_place(memfd_create("rsm-mapping-probe", MFD_CLOEXEC));
    if (memory < 0)
        return;
    way = try_ways(memory);
    close(memory);
}

enum mapping_faultfd_way mapping_faultfd_way(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    return way;
}

int mapping_faultfd_open(bool *kernel_faults)
{
    if (mapping_faultfd_way() == MAPPING_FAULTFD_NONE)
        return -1;
    int fd = mapping_faultfd_new(false);
    *kernel_faults = fd >= 0;
    return fd >= 0 ? fd : mapping_faultfd_new(true);
}

int mapping_faultfd_protection(const struct mapping_view *view)
{
    return view->rights == 0                       ? PROT_NONE
           : (view->rights & RSM_RIGHT_WRITE) != 0 ? PROT_READ | PROT_WRITE
                                                   : PROT_READ;
}

bool mapping_faultfd_attach(struct mapping *mapping, const struct mapping_view *view)
{
    size_t length = (size_t)view->count * mapping->space.page_size;
    /* Only now may pages be touched: a process that locks all its memory has it touched at once. */
    return mapping_faultfd_take(mapping->faultfd, (uintptr_t)view->address, length, true) &&
           mprotect(view->address, length, mapping_faultfd_protection(view)) == 0;
}

/* It may never have been touched, and the kernel shows no page that is not there. */
static void populate(const struct mapping_space *space, uint32_t first, uint32_t count)
{
    for (uint32_t page = first; page < first + count; page++)
        (void)*(const volatile uint8_t *)mapping_copy_of(space, page);
}

bool mapping_faultfd_protect(struct mapping *mapping, const struct mapping_view *view,
                             uint32_t first, uint32_t count, enum mapping_state state)
{
    size_t page = mapping->space.page_size;
    uint8_t *address = view->address + first * page;
    if (state == MAPPING_NONE)
        return madvise(address, count * page, MADV_DONTNEED_LOCKED) == 0;
    if (view->rights == 0)
        return true;
    populate(&mapping->space, view->first + first, count);
    if (count > 1)
        return show_run(mapping->faultfd, (uintptr_t)address, count * page);
    return show(mapping->faultfd, (uintptr_t)address, page,
                state == MAPPING_RW && (view->rights & RSM_RIGHT_WRITE));
}
