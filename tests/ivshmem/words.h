/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the kernel module does for its port, and here nobody but this port: stores of words
 * that the other host reads, and the counters of connections.
 */
#ifndef TESTS_IVSHMEM_WORDS_H
#define TESTS_IVSHMEM_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/ntb/common/posts.h"

enum { NTB_POSTS_AT = 0x1c000 /**< counters of connections, in the pool; little-endian */ };

static inline void ntb_store32(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline void ntb_store64(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/** What the counter becomes by one more post. */
static inline uint64_t ntb_posts_next(uint64_t word, bool coalesce)
{
    uint32_t number = (uint32_t)word, at = (uint32_t)(word >> 32) & 0xff;
    uint32_t run = (uint32_t)(word >> 40) & 0xff, coalesced = (uint32_t)(word >> 48);
    if (!coalesce)
        return (word & ~UINT64_C(0xffffffff)) | (uint32_t)(number + 1);
    bool same = run != 0 && at == (number & 0xff);
    run = !same ? 1 : run < NTB_POSTS_RUN_MAX ? run + 1 : run;
    return (uint64_t)((coalesced + 1) & 0xffff) << 48 | (uint64_t)run << 40 |
           (uint64_t)(number & 0xff) << 32 | number;
}

#endif
