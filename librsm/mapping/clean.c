/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pages are RO: a bit for each, and one for each word of these, so that a look at a mapping
 * of a terabyte passes over what is empty. */
#include "mapping/space.h"

enum { BITS = 64 };

void mapping_clean_add(struct mapping_space *space, uint32_t page)
{
    uint32_t word = page / BITS;
    space->clean[word] |= UINT64_C(1) << page % BITS;
    space->clean_words[word / BITS] |= UINT64_C(1) << word % BITS;
    if (atomic_fetch_add(&space->clean_count, 1) == 0) {
        space->clean_from = page;
        space->clean_to = page + 1;
    } else {
        space->clean_from = page < space->clean_from ? page : space->clean_from;
        space->clean_to = page >= space->clean_to ? page + 1 : space->clean_to;
    }
}

void mapping_clean_remove(struct mapping_space *space, uint32_t page)
{
    uint32_t word = page / BITS;
    space->clean[word] &= ~(UINT64_C(1) << page % BITS);
    if (space->clean[word] == 0)
        space->clean_words[word / BITS] &= ~(UINT64_C(1) << word % BITS);
    atomic_fetch_sub(&space->clean_count, 1);
}

uint32_t mapping_next_bit(const uint64_t *set, uint32_t from, uint32_t end)
{
    while (from < end) {
        uint64_t rest = set[from / BITS] >> from % BITS;
        if (rest != 0) {
            from += (uint32_t)__builtin_ctzll(rest);
            return from < end ? from : end;
        }
        from = (from / BITS + 1) * BITS;
    }
    return end;
}

/* In the word that it begins in, and else in the next one that has any. */
uint32_t mapping_next_clean(const struct mapping_space *space, uint32_t from, uint32_t end)
{
    if (atomic_load(&space->clean_count) == 0)
        return MAPPING_NO_PAGE;
    from = from > space->clean_from ? from : space->clean_from;
    end = end < space->clean_to ? end : space->clean_to;
    if (from >= end)
        return MAPPING_NO_PAGE;
    uint32_t word = from / BITS, words = (end + BITS - 1) / BITS;
    uint32_t found =
        mapping_next_bit(space->clean, from, word + 1 < words ? (word + 1) * BITS : end);
    if (found % BITS == 0 && found == (word + 1) * BITS && found < end) {
        word = mapping_next_bit(space->clean_words, word + 1, words);
        if (word == words)
            return MAPPING_NO_PAGE;
        found = mapping_next_bit(space->clean, word * BITS, end);
    }
    return found < end ? found : MAPPING_NO_PAGE;
}
