/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Numbers in settings: decimal digits and nothing else. */
#ifndef RSMCORE_NUMBER_H
#define RSMCORE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** Whether @p text is a number from @p least to @p most, which *value then gets. */
static inline bool rsm_number(const char *text, uint32_t least, uint32_t most, uint32_t *value)
{
    uint64_t sum = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        sum = sum * 10 + (uint64_t)(*text - '0');
        if (sum > most)
            return false;
    }
    if (sum < least)
        return false;
    *value = (uint32_t)sum;
    return true;
}

#endif
