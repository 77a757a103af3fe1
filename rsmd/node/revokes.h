/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The end of offers. A transport with revoke_begin() may report later that no access by an offer
 * can arrive any more. Until then the offer is ending: its importer has no connection any more, but
 * the extents and the charges stay, the exporter gets no record of the end, and the requests by
 * which the exporter ends connections get no reply. All else goes on.
 *
 * An offer that has not ended in half of the peer time-out is ended by revoke(): the client, which
 * waits for as long as the peer time-out, gets its reply. So are all that are ending when the
 * daemon ends or hands over.
 *
 * What is ending belongs to no export: the exporter may destroy the segment, publish another one
 * under its id, or end. The memory of a client that ends lasts as with a thread's job
 * (rsmd_extent_free()).
 */
#ifndef RSMD_REVOKES_H
#define RSMD_REVOKES_H

#include "node/grants.h"

struct event_base;

/** From now on offers may end later; without, revoke() ends all. False: no memory. */
bool rsmd_revokes_init(struct rsmd_node *node, struct event_base *base);
/** All offers have ended. Harmless without rsmd_revokes_init(). */
void rsmd_revokes_stop(struct rsmd_node *node);

/**
 * End the offer of a grant that is in no table any more, and with it the grant's hold on pieces and
 * charge. The caller frees the grant.
 * @param account  of the importer.
 * @param record   for the exporter, when the offer has ended.
 */
void rsmd_revoke(struct rsmd_node *node, const struct rsmd_grant *grant,
                 struct rsmd_account *account, const struct rsm_record *record);
/** The transport has reported the end of an offer. One that is not ending is ignored. */
void rsmd_revoked(struct rsmd_node *node, const struct rsm_node_offer *made);

/** Whether offers of a segment are ending. */
bool rsmd_revokes_are(const struct rsmd_node *node, uint32_t export_id);
/** Answer a request of @p client, which has ended connections of a segment, when none of its offers
 *  is ending any more. False: none is. */
bool rsmd_revokes_await(struct rsmd_node *node, struct rsmd_client *client,
                        const struct rsmd_unfinished *request);

/** End all that are ending now. */
void rsmd_revokes_finish(struct rsmd_node *node);

#endif
