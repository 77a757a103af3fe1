/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of extents that a segment consists of: see registry.h. */
#include <stdlib.h>

#include "node/extents.h"
#include "node/registry.h"

struct rsmd_pieces *rsmd_pieces_make(uint32_t most)
{
    struct rsmd_pieces *pieces = calloc(1, sizeof *pieces + most * sizeof pieces->piece[0]);
    if (pieces != NULL)
        pieces->references = 1;
    return pieces;
}

void rsmd_pieces_add(struct rsmd_pieces *pieces, struct rsmd_extent *extent, uint64_t offset,
                     uint64_t length)
{
    extent->uses++;
    pieces->piece[pieces->count].extent = extent;
    pieces->piece[pieces->count].offset = offset;
    pieces->piece[pieces->count].length = length;
    pieces->count++;
}

struct rsmd_pieces *rsmd_pieces_hold(struct rsmd_pieces *pieces)
{
    pieces->references++;
    return pieces;
}

void rsmd_pieces_drop(struct rsmd_pieces *pieces)
{
    if (--pieces->references > 0)
        return;
    for (uint32_t i = 0; i < pieces->count; i++) {
        struct rsmd_extent *extent = pieces->piece[i].extent;
        if (--extent->uses == 0)
            rsmd_extent_unused(extent);
    }
    free(pieces);
}

bool rsmd_pieces_offered(const struct rsmd_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (pieces->piece[i].extent->offered)
            return true;
    return false;
}

void rsmd_pieces_mark_offered(struct rsmd_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        pieces->piece[i].extent->offered = true;
}
