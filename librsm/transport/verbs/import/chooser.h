/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which way a large get takes into memory that is not registered: landing and a copy, or
 * registering that memory for itself. Which is faster depends on adapter, IOMMU, processor and
 * size, so both are tried at every power of two of the size, and the faster one is kept; now and
 * then the other gets another chance. Pure; the caller locks.
 */
#ifndef VERBS_CHOOSER_H
#define VERBS_CHOOSER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VERBS_CHOOSER_FROM = 18, /* 256 KiB: below that a registration has never paid */
    VERBS_CHOOSER_SIZES = 24,
    VERBS_CHOOSER_TRIALS = 3, /* of each way, of which the best counts: the rest was disturbed */
    VERBS_CHOOSER_AGAIN = 256 /* gets until the slower way is tried again */
};

struct verbs_chooser {
    struct {
        uint32_t gets;
        struct {
            uint32_t trials;
            double best; /* nanoseconds a byte */
        } way[2];        /* 0: copy, 1: registration */
    } size[VERBS_CHOOSER_SIZES];
};

static inline unsigned verbs_chooser_class(uint64_t length)
{
    unsigned index = 0;
    while (index + 1 < VERBS_CHOOSER_SIZES && length >> (VERBS_CHOOSER_FROM + index + 1) != 0)
        index++;
    return index;
}

/** Whether this get registers. */
static inline bool verbs_chooser_ask(struct verbs_chooser *chooser, uint64_t length)
{
    if (length < UINT64_C(1) << VERBS_CHOOSER_FROM)
        return false;
    unsigned index = verbs_chooser_class(length);
    uint32_t copies = chooser->size[index].way[0].trials;
    uint32_t registrations = chooser->size[index].way[1].trials;
    if (copies < VERBS_CHOOSER_TRIALS || registrations < VERBS_CHOOSER_TRIALS)
        return registrations < copies;
    bool registering = chooser->size[index].way[1].best < chooser->size[index].way[0].best;
    return ++chooser->size[index].gets % VERBS_CHOOSER_AGAIN == 0 ? !registering : registering;
}

/** How long it took. */
static inline void verbs_chooser_tell(struct verbs_chooser *chooser, uint64_t length,
                                      bool registered, double ns)
{
    if (length < UINT64_C(1) << VERBS_CHOOSER_FROM)
        return;
    unsigned index = verbs_chooser_class(length);
    double each = ns / (double)length;
    uint32_t trial = chooser->size[index].way[registered].trials++;
    double *best = &chooser->size[index].way[registered].best;
    if (trial == 0 || each < *best)
        *best = each;
    else /* forget slowly, so that a machine that has changed is found out */
        *best += (each - *best) / 64;
}

#endif
