/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/apart.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitizer.h"

/* Large places begin where large pages do. */
#define LARGE ((size_t)2 << 20)

/* How many places are tried that turn out to be taken. */
enum { ATTEMPTS = 16 };

/* The distance of the area from the mappings that the kernel gave to the process: an eighth of the
 * way to address 0. Mappings at addresses that the kernel chooses do not reach it, and the
 * program's code lies below it, even with addresses of 39 bits. The thread sanitizer allows less.
 * The area is half as large as its distance. */
static uintptr_t distance_from(uintptr_t given)
{
#if RSM_THREAD_SANITIZER
    (void)given;
    return (uintptr_t)128 << 30;
#else
    return given / 8;
#endif
}

struct area {
    uintptr_t bottom, top;
};

/* False: not even its place can be found out. */
static bool find_area(struct area *area)
{
    static _Atomic uintptr_t known; /* what the kernel gave first */
    uintptr_t given = atomic_load(&known);
    if (given == 0) {
        void *probe =
            mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (probe == MAP_FAILED)
            return false;
        munmap(probe, LARGE);
        if (atomic_compare_exchange_strong(&known, &given, (uintptr_t)probe))
            given = (uintptr_t)probe;
    }
    area->top = given - distance_from(given);
    area->bottom = area->top - distance_from(given) / 2;
    return true;
}

/* The next place, downward and at the end of the area from its top again. 0: there is none. What
 * lies there by now is for the caller to find out. */
static uintptr_t next_place(size_t length)
{
    static _Atomic uintptr_t lowest; /* of the places so far */
    size_t unit = length < LARGE ? (size_t)sysconf(_SC_PAGESIZE) : LARGE;
    struct area area;
    if (!find_area(&area) || length > (area.top - area.bottom) / 2)
        return 0;
    uintptr_t before = atomic_load(&lowest), place;
    do {
        uintptr_t from = before < area.bottom + length + unit ? area.top : before;
        place = (from - length) / unit * unit;
    } while (!atomic_compare_exchange_weak(&lowest, &before, place));
    return place;
}

void *rsmcore_mmap_apart(size_t length, int protection, int flags, int fd, off_t offset)
{
    /* With 32 bits of addresses there is no room to spare. */
    for (int i = 0; i < ATTEMPTS && UINTPTR_MAX > UINT32_MAX; i++) {
        uintptr_t place = next_place(length);
        if (place == 0)
            break;
        /* The address is a hint: a kernel that finds it taken returns another one. */
        void *mapped = mmap((void *)place, length, protection, flags, fd, offset);
        if (mapped == MAP_FAILED || mapped == (void *)place)
            return mapped;
        munmap(mapped, length);
    }
    return mmap(NULL, length, protection, flags, fd, offset);
}
