/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Who else maps the pages of a shared mapping. */
#ifndef RSMCORE_SHARERS_H
#define RSMCORE_SHARERS_H

#include "pageswap/vma.h"

enum rsmcore_sharers {
    RSMCORE_SHARERS_NONE,
    RSMCORE_SHARERS_SELF,   /**< this process maps some of these pages a second time */
    RSMCORE_SHARERS_OTHERS, /**< another process maps some of them */
};

/**
 * Who else maps pages of this shared mapping, at this moment. A child that has not come from fork
 * to exec yet is another process.
 *
 * For System V segments the kernel's attach count decides. For the rest: the page tables say
 * whether somebody else has touched a page, and the maps of all processes that this one may look at
 * whether somebody could. If this process cannot find out now, for want of descriptors or memory,
 * the answer is RSMCORE_SHARERS_OTHERS.
 */
enum rsmcore_sharers rsmcore_sharers_of(const struct rsmcore_vma *vma);

#endif
