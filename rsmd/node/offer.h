/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Offers: by which transport an importer reaches a segment. */
#ifndef RSMD_OFFER_H
#define RSMD_OFFER_H

#include "node/grants.h"

/**
 * Let a transport make an offer of a published segment for one importer. An importer on this host
 * gets one of the loopback controller's transport, whatever the segment's is, if all the memory is
 * such that processes of the host may map it.
 * An offer names only extents that its port has made or adopted: RSM_ST_NO_ROUTE where an importer
 * on another host cannot be served so.
 * @param grant  has importer and export; gets the controller whose port has made the offer and is
 *               to revoke it, and the offer.
 */
enum rsm_status rsmd_offer_make(struct rsmd_node *node, struct rsmd_grant *grant,
                                struct rsm_offer *offer);

/** Charge the importer's user with what the offer takes of this process. False: that is more than
 *  he may have, and nothing is charged. */
bool rsmd_offer_charge(struct rsmd_grant *grant);
/** The same for an offer of the daemon's predecessor: it may be more than fits. */
void rsmd_offer_charge_again(struct rsmd_grant *grant);
/** The offer has been revoked. */
void rsmd_offer_refund(struct rsmd_grant *grant);

/** Whether a segment of the controller can lie on this extent: its own port has made it, or all its
 *  importers are on this host and the loopback controller can adopt it. */
bool rsmd_offer_suits(const struct rsmd_node *node, const struct rsmd_extent *extent,
                      const struct rsmd_controller *controller);

#endif
