/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What is in the offers of the NTB transport. There are two kinds, because an import uses the
 * importer's local node:
 *
 *  - a *grant* goes from the exporter's node to the importer's: the segment's place in the
 *    exporter's pool, and the session for which it is valid. It has no descriptors.
 *  - a *ticket* goes from a node to a process of its own host: which descriptors to map where, and
 *    where to read the connection's health.
 *
 * A grant comes from another host, a ticket from the daemon. Both are checked in full.
 */
#pragma once

#include <stdbool.h>

#include "base/view.h"
#include "rsm/transport.h"
#include "transport/ntb/common/posts.h"

enum {
    NTB_GRANT_MAGIC = 0x4e544247,
    NTB_TICKET_MAGIC = 0x4e544254,
    NTB_PIECES_MAX = RSM_OFFER_MAX_FDS - 2, /* a ticket has two other descriptors */
    NTB_POST_FDS_MAX = 2,        /**< further ones, of a ticket with which a process can post */
    NTB_CONTROL_BYTES = 0x40000, /**< at the start of each pool; no extent lies there */
};

struct ntb_grant_piece {
    uint64_t offset; /**< bytes into the exporter's pool, a multiple of 4096 */
    uint64_t length; /**< bytes, not 0, a multiple of 4096 */
};

struct ntb_grant {
    uint32_t generation;      /**< the session, as the exporter's side counts it ... */
    uint32_t sequence;        /**< ... */
    uint32_t peer_generation; /**< ... and the importer's */
    uint32_t peer_sequence;
    /** The counter by which the importer posts. NTB_NO_CONNECTION: none, and hosts without counters
     *  understand the grant. */
    uint32_t connection;
    uint32_t count; /**< of pieces; 0: without rights */
    struct ntb_grant_piece pieces[NTB_PIECES_MAX];
};

/** @return bytes used of @p blob, which has RSM_OFFER_MAX_BLOB. */
uint32_t ntb_grant_encode(const struct ntb_grant *grant, uint8_t *blob);
/** False: it is malformed, or its pieces do not make up @p size bytes of a pool of @p pool_size.
 *  A grant without rights has no pieces. */
bool ntb_grant_decode(const uint8_t *blob, uint32_t length, uint64_t size, uint64_t pool_size,
                      struct ntb_grant *grant);

#define NTB_TICKET_LOCAL 0x1u /**< of memory of this host: no session, no status, no canary */
/** The process can post, by the port's half there (import/poster.h). */
#define NTB_TICKET_POSTS 0x2u

/** Order of descriptors: status, canary, one for each piece, those for posts. A local ticket has
 *  those of the pieces alone. */
struct ntb_ticket {
    uint32_t flags;
    uint32_t port;          /**< its number in ntb_port_kinds */
    uint32_t count;         /**< of pieces */
    uint64_t status_offset; /**< where its descriptor maps the status page */
    uint64_t canary_offset; /**< where its descriptor maps the canary's page */
    uint32_t post_fds;      /**< descriptors for posts; 0 without NTB_TICKET_POSTS, as the word */
    uint64_t post_word;     /**< for the port's half in the process */
    struct rsm_view_piece pieces[RSM_OFFER_MAX_FDS];
};

/** Descriptors of a ticket in front of those of the pieces. */
static inline unsigned ntb_ticket_fds_before(const struct ntb_ticket *ticket)
{
    return (ticket->flags & NTB_TICKET_LOCAL) != 0 ? 0 : 2;
}

uint32_t ntb_ticket_encode(const struct ntb_ticket *ticket, uint8_t *blob);
/** False: it is malformed, or does not make up @p size bytes with the offer's descriptors. */
bool ntb_ticket_decode(const struct rsm_offer *offer, uint64_t size, uint32_t rights,
                       struct ntb_ticket *ticket);
