/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Pieces of extents that rsmd hands to the node half of a transport. */
#pragma once

#include "rsm/transport.h"

/** Whether there are pieces, at most @p most, and each is whole pages of @p page bytes inside its
 *  extent. */
static inline bool rsmcore_extent_pieces_are_inside(const struct rsm_extent_piece *pieces,
                                                    unsigned count, unsigned max, uint64_t page)
{
    for (unsigned i = 0; i < count; i++) {
        const struct rsm_extent_piece *piece = &pieces[i];
        if (piece->length == 0 || (piece->offset | piece->length) % page != 0 ||
            piece->offset > piece->extent->length ||
            piece->length > piece->extent->length - piece->offset)
            return false;
    }
    return count > 0 && count <= max;
}
