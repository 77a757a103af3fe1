/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What SCIQuery() tells of a segment in place of a bus address. */
#ifndef SISCI_IOADDR_H
#define SISCI_IOADDR_H

#include "sisci_types.h"

/** The same for all who ask about a segment, on any node, and different for different segments. No
 *  bus has memory there, so a device that is given it reaches nothing. */
static inline sci_ioaddr_t sisci_ioaddr(unsigned node, unsigned id)
{
    return (1ULL << 63) | ((sci_ioaddr_t)node << 32) | id;
}

#endif
