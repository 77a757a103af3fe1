/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "protocol/sharedmem.h"

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
