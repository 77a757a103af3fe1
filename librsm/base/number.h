/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Numbers in settings: decimal digits and nothing else. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/** Whether @p text is a number from @p least to @p most, which *value then gets. */
static inline bool rsm_number(const char *text, uint32_t min, uint32_t max, uint32_t *value)
{
    uint64_t sum = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        sum = sum * 10 + (uint64_t)(*text - '0');
        if (sum > max)
            return false;
    }
    if (sum < min)
        return false;
    *value = (uint32_t)sum;
    return true;
}

/** Digits with an optional K, M or G behind them, for 2^10, 2^20 and 2^30: bytes as a configuration
 *  gives them, from @p least to @p most. False: it is anything else, and *value is undefined. */
static inline bool rsm_number_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end != '\0' && end[1] == '\0')
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno != 0 || (*end != '\0' && shift == 0) || parsed > UINT64_MAX >> shift)
        return false;
    *value = (uint64_t)parsed << shift;
    return *value >= min && *value <= max;
}
