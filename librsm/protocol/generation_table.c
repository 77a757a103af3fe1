/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "protocol/sharedmem.h"

#include <sys/mman.h>

#include "base/sealed.h"
#include "protocol/proto.h"

/* A successor takes the word only before that second, and looks at the clock again afterwards. So a
 * word that still says "left" after the second was over is never taken. */
bool rsm_generation_table_is_owned(const struct rsm_generation_table *table)
{
    uint32_t word = atomic_load_explicit(&table->alive, memory_order_acquire);
    for (;;) {
        struct timespec now;
        if ((word & RSM_GENERATION_TABLE_OWNER_DIED) != 0)
            return false;
        if ((word & RSM_GENERATION_TABLE_LEFT) == 0)
            return true;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec < (time_t)(word & RSM_GENERATION_TABLE_UNTIL))
            return true;
        uint32_t again = atomic_load_explicit(&table->alive, memory_order_acquire);
        if (again == word)
            return false;
        word = again;
    }
}

const struct rsm_generation_table *rsm_generation_table_map(int fd)
{
    const struct rsm_generation_table *table;
    if (!rsm_is_sealed_memory(fd, sizeof *table))
        return NULL;
    void *mapped = mmap(NULL, sizeof *table, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    table = mapped;
    if (table->magic == RSM_GENERATION_TABLE_MAGIC &&
        table->version == RSM_GENERATION_TABLE_VERSION &&
        table->slots == RSM_GENERATION_TABLE_SLOTS)
        return table;
    munmap(mapped, sizeof *table);
    return NULL;
}

bool rsm_generation_table_knows(const struct rsm_generation_table *table, uint32_t type)
{
    uint32_t newest = atomic_load_explicit(&table->newest, memory_order_relaxed);
    return type <= (newest != 0 ? newest : (uint32_t)RSM_MSG_NEWEST_BEFORE);
}
