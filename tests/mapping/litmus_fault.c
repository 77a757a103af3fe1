/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of the fabric, peers that die, and what it may cost. */
#include "litmus.h"

/* ---------------------------------------------------------------- 16: errors */

static void error_is_told_once(void)
{
    if (!bed_inject(0, false))
        litmus_skip("this transport does not fail on demand");
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (unsigned round = 0; round < 10; round++) {
        CHECK(bed_close() == 0);
        bed_inject(1, round % 4 > 1);
        /* A single store, or many that a flush in the background sends. */
        for (unsigned i = 0; i < (round % 2 == 0 ? 1u : 200u); i++)
            store32(map + 256, round * 1000 + i + 1);
        /* The engine itself may learn of it first, as when it waits before it reads the page. */
        if (round % 3 == 0) {
            CHECK(bed_open() == 0);
            (void)load32(map + 128);
        }
        usleep(3000);
        CHECK(bed_close() != 0);
        CHECK(bed_close() == 0);
        store32(map + 256, round);
        CHECK(bed_close() == 0);
    }
    bed_unmap(map);
    bed_end();
}

static void error_of_a_read(void)
{
    if (!bed_inject(0, false))
        litmus_skip("this transport does not fail on demand");
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    store32(map, 5);
    CHECK(bed_close() == 0);
    CHECK(load32(map) == 5);
    bed_cut();
    /* Memory that nobody else sees, and no endless fault; the barrier says what it is. */
    for (uint32_t i = 0; i < 1000; i++) {
        store32(map, i);
        CHECK(load32(map) == i);
        store32(map + PAGE + 8, i);
        CHECK(load32(map + PAGE + 8) == i);
    }
    CHECK(bed_close() != 0);
    CHECK(bed_close() != 0);
    bed_unmap(map);
}

/* The exporter is killed while the importer stores and loads. */
static void peer_dies(void)
{
    if (bed_inject(0, false))
        litmus_skip("error_of_a_read is this for a transport that notices");
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (uint32_t i = 1, last = litmus_rounds(3000); i < last; i++) {
        store32(map + i % 100 * 4, i);
        CHECK(load32(map + i % 100 * 4) == i);
        if (i == last / 2)
            bed_cut();
    }
    AWAIT(bed_close() != 0);
    bed_unmap(map);
}

/* ---------------------------------------------------------------- 18: limits of time */

/* Generous: one that traps each of 131072 stores where a twin was to be made exceeds it. */
static void bulk(void)
{
    bed_start(NULL, 256);
    volatile uint8_t *map = bed_map(0, 256 * PAGE, MAY_ALL);
    size_t step = mode_is("precise") ? PAGE / 4 : 8;
    int64_t start = litmus_ms();
    for (size_t at = 0; at < 256 * PAGE; at += step)
        store64(map + at, at * UINT64_C(0x9e3779b97f4a7c15) + 1);
    CHECK(bed_close() == 0);
    CHECK(litmus_ms() - start < 20000);
    static uint64_t back[256 * 512];
    CHECK(bed_get(0, back, sizeof back) == 0);
    for (size_t at = 0; at < 256 * PAGE; at += step)
        CHECK(back[at / 8] == at * UINT64_C(0x9e3779b97f4a7c15) + 1);
    for (size_t at = 0; at < 256 * PAGE; at += PAGE)
        store64(map + at, ~at);
    CHECK(bed_close() == 0);
    CHECK(bed_get(0, back, sizeof back) == 0);
    for (size_t at = 0; at < 256 * PAGE; at += PAGE)
        CHECK(back[at / 8] == ~at);
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_fault[] = {
    {"error_is_told_once", error_is_told_once},
    {"error_of_a_read", error_of_a_read},
    {"peer_dies", peer_dies},
    {"bulk", bulk},
    {NULL, NULL},
};
