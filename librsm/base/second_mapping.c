/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/second_mapping.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum ability { UNKNOWN, WORKS, DOES_NOT, REFUSED };
static atomic_int ability;

static int try_it(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *first = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        return UNKNOWN;
    void *second = mremap(first, 0, page, MREMAP_MAYMOVE);
    if (second != MAP_FAILED)
        munmap(second, page);
    munmap(first, page);
    return second != MAP_FAILED ? WORKS : DOES_NOT;
}

bool rsm_second_mapping_works(void)
{
    int known = atomic_load_explicit(&ability, memory_order_relaxed);
    if (known == UNKNOWN) {
        known = try_it();
        atomic_store_explicit(&ability, known, memory_order_relaxed);
    }
    return known == WORKS;
}

void rsm_second_mapping_refuse(bool refuse)
{
    atomic_store_explicit(&ability, refuse ? REFUSED : UNKNOWN, memory_order_relaxed);
}
