/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How many extents of which size to keep registered ahead of need. Pure counting: who makes and
 * drops them is told what to do next.
 *
 * Sizes are pages times 4, 5, 6 or 7 times a power of two (and 1, 2, 3), so that at most a fifth of
 * an extent lies idle. The pool begins with a few of the small sizes and follows the demand: a
 * request that found nothing raises what is kept of its size, and when the bytes run out, the size
 * that was asked for longest ago gives way.
 */
#ifndef VERBS_STOCK_H
#define VERBS_STOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VERBS_CLASSES = 88, /* with pages of 4 KiB up to 56 GiB */
    VERBS_CLASS_NONE = -1,
    VERBS_WANTED_MOST = 64, /* of one size */
};

/** The class whose extents have at least @p pages pages, VERBS_CLASS_NONE if it is larger than any
 *  or 0. */
int verbs_class_of(uint64_t pages);
/** Pages of an extent of a class. */
uint64_t verbs_class_pages(int class);

struct verbs_stock {
    uint64_t budget; /**< pages */
    uint64_t pages;  /**< present */
    uint64_t clock;
    struct {
        uint32_t wanted;
        uint32_t present;
        uint64_t asked; /**< clock of the latest request */
    } class[VERBS_CLASSES];
};

/** A stock for @p budget pages with what it begins with wanted and nothing present. */
void verbs_stock_init(struct verbs_stock *stock, uint64_t budget);

/** Whether a request for @p pages pages would find something. */
bool verbs_stock_has(const struct verbs_stock *stock, uint64_t pages);

/** A request for @p pages pages: the class to take one extent from, or VERBS_CLASS_NONE: there is
 *  none, and the demand has been noted. */
int verbs_stock_take(struct verbs_stock *stock, uint64_t pages);

enum verbs_stock_step { VERBS_STOCK_REST, VERBS_STOCK_MAKE, VERBS_STOCK_DROP };

/** What to do next, and of which class. A drop counts as done; after a try to make one, one of the
 *  two below says how it went. */
enum verbs_stock_step verbs_stock_next(struct verbs_stock *stock, int *class);

void verbs_stock_made(struct verbs_stock *stock, int class);
/** It could not be made: be content with what there is. */
void verbs_stock_failed(struct verbs_stock *stock);

#endif
