/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Who else maps the pages of a shared mapping. */
#ifndef RSMCORE_SHARERS_H
#define RSMCORE_SHARERS_H

#include "core/pageswap/vma.h"

/**
 * Whether another process, or this one a second time, maps pages of this shared mapping.
 *
 * For System V segments the kernel's attach count decides. For the rest: the page tables say
 * whether somebody else has touched a page, and the maps of all processes that this one may look at
 * whether somebody could.
 */
bool rsmcore_has_sharers(const struct rsmcore_vma *vma);

#endif
