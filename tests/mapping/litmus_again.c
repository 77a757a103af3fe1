/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a mapping as local memory of another connection, which has no mapping. */
#include "litmus.h"

enum { PART = 3 * 4096 };

static bool all_are(const uint8_t *bytes, uint8_t value)
{
    for (size_t i = 0; i < PART; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void check_segment(size_t offset, uint8_t value)
{
    static uint8_t back[PART];
    CHECK(bed_again_get(offset, back, PART) == 0);
    CHECK(all_are(back, value));
}

static void another_connection(void)
{
    static uint8_t plain[PART];
    bed_start(NULL, 8);
    if (!bed_connect_again())
        litmus_skip("one connection a process");
    volatile uint8_t *map = bed_map(0, 4 * PAGE, MAY_ALL);
    uint8_t *local = (uint8_t *)(uintptr_t)map;
    for (uint8_t round = 1; round <= 5; round++) {
        /* Just stored; and after the barrier, when no page is accessible, by a registered handle.
         */
        memset(local, round, PART);
        CHECK(bed_again_put(4 * PAGE, local, PART) == 0);
        check_segment(4 * PAGE, round);
        memset(local, round + 50, PART);
        CHECK(bed_close() == 0);
        CHECK(bed_again_put_registered(4 * PAGE, local, PART) == 0);
        check_segment(4 * PAGE, round + 50);
        memset(plain, round + 100, PART);
        CHECK(bed_again_put(4 * PAGE, plain, PART) == 0);
        CHECK(bed_again_get(4 * PAGE, local, PART) == 0);
        CHECK(all_are(local, round + 100));
        CHECK(bed_close() == 0);
        check_segment(0, round + 100);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_again[] = {
    {"another_connection", another_connection},
    {NULL, NULL},
};
