/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Threads that use memory in every way while it is swapped in and out. */
#ifndef PAGESWAP_HAMMER_H
#define PAGESWAP_HAMMER_H

#include <stddef.h>

/** What went wrong, and what was done. */
struct hammer_result {
    unsigned long lost;         /**< stores missing in the end */
    unsigned long vanished;     /**< own store not there when read again */
    unsigned long backwards;    /**< a reader, or an importer, saw an older value */
    unsigned long io_wrong;     /**< read(2) or write(2) moved wrong bytes or failed */
    unsigned long io_faults;    /**< read(2) into the memory: EFAULT */
    unsigned long import_wrong; /**< store through one mapping not seen through the other */
    unsigned long swaps, stores, loads, io_calls;
};

/** The kinds of memory that differ in how they are frozen. */
enum hammer_memory {
    HAMMER_PRIVATE,
    HAMMER_SHARED,
    HAMMER_SYSV,
    HAMMER_FILE,
};

/** Hammer @p pages pages for @p milliseconds. The swaps must succeed. */
void hammer(enum hammer_memory memory, size_t pages, unsigned milliseconds,
            struct hammer_result *result);

/** Whether any store was lost or load wrong; io_faults do not count. */
int hammer_found_errors(const struct hammer_result *result);

void hammer_print(const char *name, size_t pages, const struct hammer_result *result);

#endif
