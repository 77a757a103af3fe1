/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How many extents of each size to keep registered in advance. Only counts: the caller makes
 *  and drops extents as it returns.
 *
 *  Sizes are pages times 4, 5, 6 or 7 times a power of two (and 1, 2, 3), so that at most a fifth
 *  of an extent is unused. The pool begins with a few of the small sizes and follows the demand: a
 *  request that finds none raises the number kept of its size. When the budget is used up, the size
 *  that was requested longest ago is reduced. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    VERBS_CLASSES = 88, /* with pages of 4 KiB up to 56 GiB */
    VERBS_CLASS_NONE = -1,
    VERBS_WANTED_MAX = 64, /* of one size */
};

/** The size_class whose extents have at least @p pages pages, VERBS_CLASS_NONE if it is larger than
 * any or 0. */
int verbs_class_of(uint64_t pages);
/** Pages of an extent of a size_class. */
uint64_t verbs_class_pages(int size_class);

struct verbs_pool_classes {
    uint64_t budget; /**< pages */
    uint64_t pages;  /**< present */
    uint64_t clock;
    struct {
        uint32_t wanted;
        uint32_t present;
        uint64_t asked; /**< clock of the latest request */
    } size_class[VERBS_CLASSES];
};

/** Initialise for a budget of @p budget pages. The first extents are wanted, and none exists
 *  yet. */
void verbs_pool_classes_init(struct verbs_pool_classes *classes, uint64_t budget);

/** Whether a request for @p pages pages would find something. */
bool verbs_pool_classes_has(const struct verbs_pool_classes *classes, uint64_t pages);

/** A request for @p pages pages: the size_class to take one extent from, or VERBS_CLASS_NONE: there
 * is none, and the demand has been noted. */
int verbs_pool_classes_take(struct verbs_pool_classes *classes, uint64_t pages);

enum verbs_pool_step { VERBS_POOL_REST, VERBS_POOL_MAKE, VERBS_POOL_DROP };

/** What to do next, and of which size_class. A drop counts as done; after a try to make one, one of
 * the two below says how it went. */
enum verbs_pool_step verbs_pool_classes_next(struct verbs_pool_classes *classes, int *size_class);

void verbs_pool_classes_made(struct verbs_pool_classes *classes, int size_class);
/** It could not be made: be content with what there is. */
void verbs_pool_classes_failed(struct verbs_pool_classes *classes);
