/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the two halves of the shm transport share: the layout of an offer, and their tables.
 *
 *  An offer's blob is one entry for each descriptor, in the order of the segment: where in that
 *  memfd the piece lies. With no rights there is neither entry nor descriptor. */
#pragma once

#include "base/codec.h"
#include "base/view.h"
#include "rsm/transport.h"

/* If RSM_SHM_DIRECT is 0 its ports cannot map: to try on any machine what a fabric without loads
 * and stores gives. */
extern const struct rsm_import_ops rsmcore_shm_import_ops;
extern const struct rsm_node_ops rsmcore_shm_node_ops;

enum { SHM_PIECE_BYTES = 16 };
_Static_assert(RSM_OFFER_MAX_FDS *SHM_PIECE_BYTES <= RSM_OFFER_MAX_BLOB, "an offer must fit");

/* Encode or decode the blob of an offer. */
static inline void shm_pieces_codec(struct rsm_codec *codec, struct rsm_view_piece *pieces,
                                    unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rsm_codec_u64(codec, &pieces[i].offset);
        rsm_codec_u64(codec, &pieces[i].length);
    }
}
