/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What is in the offers of the NTB transport. There are two kinds, because an import goes through
 * the importer's own node:
 *
 *  - a *grant* goes from the exporter's node to the importer's: where the segment lies in the
 *    exporter's pool, and in which session that holds. It has no descriptors.
 *  - a *ticket* goes from a node to a process of its own host: which descriptors to map where, and
 *    how the connection's health is told.
 *
 * A grant comes from another host, a ticket from the daemon. Both are checked in full.
 */
#ifndef NTB_WIRE_H
#define NTB_WIRE_H

#include <stdbool.h>

#include "base/view.h"
#include "rsm/transport.h"
#include "transport/ntb/common/posts.h"

enum {
    NTB_GRANT_MAGIC = 0x4e544247,
    NTB_TICKET_MAGIC = 0x4e544254,
    NTB_PIECES_MAX = RSM_OFFER_MAX_FDS - 2, /* a ticket has two other descriptors */
};

struct ntb_grant_piece {
    uint64_t offset; /**< bytes into the exporter's pool, a multiple of 4096 */
    uint64_t length; /**< bytes, not 0, a multiple of 4096 */
    uint32_t slot;   /**< signal counter of the extent */
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
/** False: it is malformed, or its pieces do not make up @p size bytes of a pool of @p pool_size
 *  whose first @p reserved bytes belong to nobody. A grant without rights has no pieces. */
bool ntb_grant_decode(const uint8_t *blob, uint32_t length, uint64_t size, uint64_t reserved,
                      uint64_t pool_size, struct ntb_grant *grant);

#define NTB_TICKET_LOCAL 0x1u /**< of memory of this host: no session, no status, no canary */
/** Descriptors are those of the kernel module; those of pieces of memory of this host may also be memfds,
 *  of memory that the module has pinned. */
#define NTB_TICKET_DEVICE 0x2u

/** The process can post. NTB_TICKET_DEVICE: by the descriptor of the first piece. Else by two
 *  descriptors behind those of the pieces: counter and bell. */
#define NTB_TICKET_POSTS 0x4u

/** Order of descriptors: status, canary, then one for each piece. A local ticket, and one without
 *  rights, has those of the pieces alone. */
struct ntb_ticket {
    uint32_t flags;
    uint32_t count;         /**< of pieces */
    uint64_t status_offset; /**< where its descriptor maps the status page */
    uint64_t canary_offset; /**< where its descriptor maps the canary's page */
    uint64_t posts_offset;  /**< where its descriptor has the counter; 0 unless there is one */
    struct rsm_view_piece pieces[RSM_OFFER_MAX_FDS];
};

/** Descriptors of a ticket beside those of the pieces, in front of and behind them. */
static inline unsigned ntb_ticket_fds_before(uint32_t flags)
{
    return (flags & NTB_TICKET_LOCAL) != 0 ? 0 : 2;
}
static inline unsigned ntb_ticket_fds_behind(uint32_t flags)
{
    return (flags & (NTB_TICKET_POSTS | NTB_TICKET_DEVICE)) == NTB_TICKET_POSTS ? 2 : 0;
}

uint32_t ntb_ticket_encode(const struct ntb_ticket *ticket, uint8_t *blob);
/** False: it is malformed, or does not make up @p size bytes with @p fd_count descriptors. */
bool ntb_ticket_decode(const struct rsm_offer *offer, uint64_t size, uint32_t rights,
                       struct ntb_ticket *ticket);

#endif
