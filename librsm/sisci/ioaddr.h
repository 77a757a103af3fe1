/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What SCIQuery() returns for a segment instead of a bus address. */
#pragma once

#include "sisci_types.h"

/** A value that is unique for each segment, and the same on all nodes. No bus has memory at this
 *  address, so a device that gets it reaches nothing. */
static inline sci_ioaddr_t sisci_ioaddr(unsigned node, unsigned id)
{
    return (1ULL << 63) | ((sci_ioaddr_t)node << 32) | id;
}
