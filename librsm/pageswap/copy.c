/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/copy.h"

#include <stdint.h>

#define UNWATCHED __attribute__((no_sanitize_thread, no_sanitize_address))

UNWATCHED void rsmcore_copy_words(void *to, const void *from, size_t length)
{
    volatile uint64_t *target = to;
    const volatile uint64_t *source = from;
    for (size_t i = 0; i < length / sizeof *target; i++)
        target[i] = source[i];
}

UNWATCHED bool rsmcore_copy_changed_words(void *to, const void *from, size_t length)
{
    volatile uint64_t *target = to;
    const volatile uint64_t *source = from;
    bool changed = false;
    for (size_t i = 0; i < length / sizeof *target; i++) {
        uint64_t word = source[i];
        if (target[i] != word) {
            target[i] = word;
            changed = true;
        }
    }
    return changed;
}
