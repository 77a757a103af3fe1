/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to say of mirror mode beside what it has in common with the others. */
#include "litmus.h"

enum { WORD_GO, WORD_ACK, WORD_STOP };

static void of_mirror_only(void)
{
    if (!mode_is("mirror"))
        litmus_skip("about RSM_MAP_MODE=mirror");
}

/* ---------------------------------------------------------------- merges against stores */

enum { OWNERS = 3, WORDS = 2 * 4096 / 8, CHANGES = 500 };

static volatile uint8_t *common;
static atomic_bool finished;

/* The peer owns the odd bytes, writes them all the time and finds in each what it wrote last. */
static void own_odd_bytes(volatile uint8_t *segment, struct sync *sync)
{
    uint8_t value = 0;
    while (atomic_load(&sync->word[WORD_STOP]) == 0) {
        for (size_t i = 1; i < 2 * PAGE; i += 2) {
            CHECK(load8(segment + i) == value);
            store8(segment + i, (uint8_t)(value + 1));
        }
        value++;
    }
    atomic_store(&sync->word[WORD_ACK], value + 1u);
    AWAIT(atomic_load(&sync->word[WORD_GO]) != 0);
    for (size_t own = 0; own < OWNERS; own++)
        for (size_t word = 0; word < WORDS; word++)
            CHECK(load8(segment + 8 * word + 2 * own) ==
                  (uint8_t)atomic_load(&sync->word[4 + own]));
}

struct owner {
    pthread_t thread;
    size_t own; /* this even byte of each word */
    _Atomic uint64_t *last;
};

/* Each thread finds in its bytes what it stored last, whatever is merged beside them. */
static void *own_even_bytes(void *argument)
{
    const struct owner *it = argument;
    uint8_t value = 0;
    while (!atomic_load(&finished)) {
        for (size_t word = 0; word < WORDS; word++) {
            volatile uint8_t *at = common + 8 * word + 2 * it->own;
            CHECK(load8(at) == value);
            store8(at, (uint8_t)(value + 1));
        }
        value++;
    }
    atomic_store(it->last, value);
    return NULL;
}

static void merge_against_stores(void)
{
    struct owner owner[OWNERS];
    of_mirror_only();
    setenv("RSM_MAP_REFRESH_US", "0", 1);
    struct sync *sync = bed_start(own_odd_bytes, 2);
    common = bed_map(0, 2 * PAGE, MAY_ALL);
    for (size_t i = 0; i < OWNERS; i++) {
        owner[i] = (struct owner){.own = i, .last = &sync->word[4 + i]};
        CHECK(pthread_create(&owner[i].thread, NULL, own_even_bytes, &owner[i]) == 0);
    }
    for (unsigned change = 0, last = litmus_rounds(CHANGES); change < last; change++) {
        uint8_t before = load8(common + 1), behind = load8(common + 2 * PAGE - 1);
        AWAIT(load8(common + 1) != before && load8(common + 2 * PAGE - 1) != behind);
    }
    atomic_store(&finished, true);
    for (size_t i = 0; i < OWNERS; i++)
        CHECK(pthread_join(owner[i].thread, NULL) == 0);
    atomic_store(&sync->word[WORD_STOP], 1);
    AWAIT(atomic_load(&sync->word[WORD_ACK]) != 0);
    CHECK(bed_close() == 0 && bed_open() == 0);
    for (size_t i = 1; i < 2 * PAGE; i += 2)
        CHECK(load8(common + i) == (uint8_t)(atomic_load(&sync->word[WORD_ACK]) - 1));
    atomic_store(&sync->word[WORD_GO], 1);
    bed_unmap(common);
    bed_end();
}

/* ---------------------------------------------------------------- what the kernel forgets */

/* A kernel that needs memory takes pages out of the mapping, and with some that were stored to what
 * it knows of that. */
static void reclaimed_pages(void)
{
    of_mirror_only();
    setenv("RSM_MAP_FLUSH_US", "1000000", 1);
    bed_start(NULL, 4);
    volatile uint8_t *map = bed_map(0, 4 * PAGE, MAY_ALL);
    for (uint32_t round = 1; round <= 10; round++) {
        uint32_t arrived[2];
        CHECK(bed_close() == 0);
        store32(map + PAGE, round);
        CHECK(madvise((void *)(uintptr_t)map, 4 * PAGE, MADV_DONTNEED) == 0);
        store32(map + 3 * PAGE, round);
        CHECK(bed_close() == 0);
        CHECK(bed_get(PAGE, &arrived[0], sizeof arrived[0]) == 0 && arrived[0] == round);
        CHECK(bed_get(3 * PAGE, &arrived[1], sizeof arrived[1]) == 0 && arrived[1] == round);
        CHECK(load32(map + PAGE) == round && load32(map + 3 * PAGE) == round);
    }
    bed_unmap(map);
    bed_end();
}

/* More places than the kernel is asked about in one go. */
static void every_second_page(void)
{
    enum { PAGES = 500 };
    of_mirror_only();
    setenv("RSM_MAP_FLUSH_US", "1000000", 1);
    bed_start(NULL, PAGES);
    volatile uint8_t *map = bed_map(0, PAGES * PAGE, MAY_ALL);
    for (uint32_t round = 1; round <= 4; round++) {
        for (size_t page = round % 2; page < PAGES; page += 2)
            store32(map + page * PAGE + 8 * page % PAGE, round);
        CHECK(bed_close() == 0);
        for (size_t page = 0; page < PAGES; page++) {
            uint32_t arrived;
            CHECK(bed_get(page * PAGE + 8 * page % PAGE, &arrived, sizeof arrived) == 0);
            CHECK(arrived == (page % 2 == round % 2 ? round : round - 1));
        }
    }
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- a turn through the mapping */

enum { TURN_PAGES = 40 };

static void answer_in_last_page(volatile uint8_t *segment, struct sync *sync)
{
    for (uint32_t round = 1, last = litmus_rounds(50); round <= last; round++) {
        AWAIT(load32(segment + 20 * PAGE) == round);
        store32(segment + (TURN_PAGES - 1) * PAGE, round);
    }
}

/* Without any call each page is read again some time. */
static void turn_through_mapping(void)
{
    bed_start(answer_in_last_page, TURN_PAGES);
    volatile uint8_t *map = bed_map(0, TURN_PAGES * PAGE, MAY_ALL);
    for (uint32_t round = 1, last = litmus_rounds(50); round <= last; round++) {
        store32(map + 20 * PAGE, round);
        AWAIT(load32(map + (TURN_PAGES - 1) * PAGE) == round);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_mirror[] = {
    {"merge_against_stores", merge_against_stores},
    {"reclaimed_pages", reclaimed_pages},
    {"every_second_page", every_second_page},
    {"turn_through_mapping", turn_through_mapping},
    {NULL, NULL},
};
