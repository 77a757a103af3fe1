/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/wire.h"

#include "base/codec.h"

/* A grant of the second version has a counter. */
enum { GRANULE = 4096, VERSION = 1, VERSION_POSTS = 2 };

static void walk_grant(struct rsm_codec *codec, struct ntb_grant *grant, uint32_t *magic,
                       uint32_t *version)
{
    rsm_codec_u32(codec, magic);
    rsm_codec_u32(codec, version);
    rsm_codec_u32(codec, &grant->generation);
    rsm_codec_u32(codec, &grant->sequence);
    rsm_codec_u32(codec, &grant->peer_generation);
    rsm_codec_u32(codec, &grant->peer_sequence);
    if (*version == VERSION_POSTS)
        rsm_codec_u32(codec, &grant->connection);
    rsm_codec_count(codec, &grant->count, NTB_PIECES_MAX);
    for (uint32_t i = 0; i < grant->count; i++) {
        rsm_codec_u64(codec, &grant->pieces[i].offset);
        rsm_codec_u64(codec, &grant->pieces[i].length);
    }
}

uint32_t ntb_grant_encode(const struct ntb_grant *grant, uint8_t *blob)
{
    struct ntb_grant copy = *grant;
    uint32_t magic = NTB_GRANT_MAGIC;
    uint32_t version = grant->connection == NTB_NO_CONNECTION ? VERSION : VERSION_POSTS;
    struct rsm_codec codec = rsm_encoder(blob, RSM_OFFER_MAX_BLOB);
    walk_grant(&codec, &copy, &magic, &version);
    return codec.bad ? 0 : (uint32_t)(RSM_OFFER_MAX_BLOB - codec.left);
}

/* Whether a piece is whole granules of what extents may lie in. */
static bool piece_fits(const struct ntb_grant_piece *piece, uint64_t pool_size)
{
    return piece->length != 0 && (piece->offset | piece->length) % GRANULE == 0 &&
           piece->offset >= NTB_CONTROL_BYTES && piece->length <= pool_size &&
           piece->offset <= pool_size - piece->length;
}

bool ntb_grant_decode(const uint8_t *blob, uint32_t length, uint64_t size, uint64_t pool_size,
                      struct ntb_grant *grant)
{
    uint32_t magic = 0, version = 0;
    uint64_t sum = 0;
    struct rsm_codec codec = rsm_decoder(blob, length);
    grant->connection = NTB_NO_CONNECTION;
    walk_grant(&codec, grant, &magic, &version);
    if (codec.bad || codec.left != 0 || magic != NTB_GRANT_MAGIC ||
        (version != VERSION && version != VERSION_POSTS))
        return false;
    if (version == VERSION_POSTS && (grant->connection >= NTB_CONNECTIONS || grant->count == 0))
        return false;
    for (uint32_t i = 0; i < grant->count; i++) {
        const struct ntb_grant_piece *piece = &grant->pieces[i];
        if (!piece_fits(piece, pool_size) || piece->length > size - sum)
            return false;
        sum += piece->length;
    }
    return grant->count == 0 || sum == size;
}

static void walk_ticket(struct rsm_codec *codec, struct ntb_ticket *ticket, uint32_t *magic,
                        uint32_t *version)
{
    rsm_codec_u32(codec, magic);
    rsm_codec_u32(codec, version);
    rsm_codec_u32(codec, &ticket->flags);
    rsm_codec_u32(codec, &ticket->port);
    rsm_codec_u64(codec, &ticket->status_offset);
    rsm_codec_u64(codec, &ticket->canary_offset);
    if ((ticket->flags & NTB_TICKET_POSTS) != 0) {
        rsm_codec_u32(codec, &ticket->post_fds);
        rsm_codec_u64(codec, &ticket->post_word);
    }
    rsm_codec_count(codec, &ticket->count, RSM_OFFER_MAX_FDS);
    for (uint32_t i = 0; i < ticket->count; i++) {
        rsm_codec_u64(codec, &ticket->pieces[i].offset);
        rsm_codec_u64(codec, &ticket->pieces[i].length);
    }
}

uint32_t ntb_ticket_encode(const struct ntb_ticket *ticket, uint8_t *blob)
{
    struct ntb_ticket copy = *ticket;
    uint32_t magic = NTB_TICKET_MAGIC, version = VERSION;
    struct rsm_codec codec = rsm_encoder(blob, RSM_OFFER_MAX_BLOB);
    walk_ticket(&codec, &copy, &magic, &version);
    return codec.bad ? 0 : (uint32_t)(RSM_OFFER_MAX_BLOB - codec.left);
}

static bool is_page_offset(uint64_t offset)
{
    return offset % GRANULE == 0 && offset <= INT64_MAX - GRANULE;
}

/* Posts are for connections to another host. */
static bool posts_make_sense(const struct ntb_ticket *ticket)
{
    return (ticket->flags & NTB_TICKET_POSTS) == 0 ||
           ((ticket->flags & NTB_TICKET_LOCAL) == 0 && ticket->count > 0 &&
            ticket->post_fds <= NTB_POST_FDS_MAX);
}

bool ntb_ticket_decode(const struct rsm_offer *offer, uint64_t size, uint32_t rights,
                       struct ntb_ticket *ticket)
{
    uint32_t magic = 0, version = 0;
    uint64_t sum = 0;
    if (offer->blob_len > RSM_OFFER_MAX_BLOB || offer->fd_count > RSM_OFFER_MAX_FDS)
        return false;
    struct rsm_codec codec = rsm_decoder(offer->blob, offer->blob_len);
    ticket->post_fds = 0;
    ticket->post_word = 0;
    walk_ticket(&codec, ticket, &magic, &version);
    if (codec.bad || codec.left != 0 || magic != NTB_TICKET_MAGIC || version != VERSION ||
        (ticket->flags & ~(NTB_TICKET_LOCAL | NTB_TICKET_POSTS)) != 0 ||
        !is_page_offset(ticket->status_offset) || !is_page_offset(ticket->canary_offset) ||
        !posts_make_sense(ticket))
        return false;
    for (uint32_t i = 0; i < ticket->count; i++) {
        const struct rsm_view_piece *piece = &ticket->pieces[i];
        if (piece->length == 0 || (piece->offset | piece->length) % GRANULE != 0 ||
            piece->length > size - sum || piece->offset > INT64_MAX - piece->length)
            return false;
        sum += piece->length;
    }
    unsigned others = ntb_ticket_fds_before(ticket) + ticket->post_fds;
    if (rights == 0)
        return ticket->count == 0 && (offer->fd_count == 0 || offer->fd_count == others);
    return sum == size && size > 0 && offer->fd_count == ticket->count + others;
}
