/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include <stdlib.h>

#include "mapping/space.h"

enum { PAGES = 64 * 64 * 3 + 70, WORDS = PAGES / 64 + 1, ROUNDS = 300, LOOKS = 60 };

static uint64_t bits[WORDS], words[WORDS];
static struct mapping_space space = {.page_count = PAGES, .clean = bits, .clean_words = words};
static bool is_clean[PAGES];

static uint32_t next_slowly(uint32_t from, uint32_t end)
{
    while (from < end && !is_clean[from])
        from++;
    return from < end ? from : MAPPING_NO_PAGE;
}

static void set(uint32_t page, bool clean)
{
    if (is_clean[page] == clean)
        return;
    if (clean)
        mapping_clean_add(&space, page);
    else
        mapping_clean_remove(&space, page);
    is_clean[page] = clean;
}

/* Few pages and many, apart and beside each other, at the ends of words and of words of words. */
TEST_ALONE(the_next_one_is_found_whatever_lies_between)
{
    static const uint32_t edges[] = {0, 1, 63, 64, 4095, 4096, 4097, 8191, 8192, PAGES - 1};
    unsigned short seed[3] = {1, 2, 3};
    assert_int_equal(mapping_next_clean(&space, 0, PAGES), MAPPING_NO_PAGE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < round % 7; i++) {
            uint32_t first = (uint32_t)nrand48(seed) % PAGES, count = (uint32_t)nrand48(seed) % 70;
            bool clean = nrand48(seed) % 3 != 0;
            for (uint32_t page = first; page < first + count && page < PAGES; page++)
                set(page, clean);
        }
        set(edges[round % 10], round % 20 < 10);
        if (round % 50 == 49)
            for (uint32_t page = 0; page < PAGES; page++)
                set(page, false);
        for (unsigned i = 0; i < LOOKS; i++) {
            uint32_t from = i < 10 ? edges[i] : (uint32_t)nrand48(seed) % PAGES;
            uint32_t end = i % 2 != 0 ? PAGES : from + (uint32_t)nrand48(seed) % (PAGES - from + 1);
            assert_int_equal(mapping_next_clean(&space, from, end), next_slowly(from, end));
        }
    }
}
