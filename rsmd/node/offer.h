/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Offers: which transport an importer uses to reach a segment. */
#ifndef RSMD_OFFER_H
#define RSMD_OFFER_H

#include "node/grants.h"

/** A request of the import half of a transport to the node half. It comes from the connecting
 *  process, and is not verified. */
struct rsmd_asked {
    const char *transport; /* for another one it is not meant */
    const uint8_t *bytes;
    uint32_t length; /* at most RSM_REQUEST_MAX */
};

/**
 * Let a transport make an offer of a published segment for one importer. An importer on this host
 * gets one of the loopback controller's transport, whatever the segment's transport, if processes
 * of the host may map all the memory. An offer names only extents that its port has made or
 * adopted: RSM_ST_NO_ROUTE where an importer on another host cannot be served so.
 * @param grant  has importer and export; receives the offer, and the controller whose port has made
 *               it and revokes it.
 */
enum rsm_status rsmd_offer_make(struct rsmd_node *node, struct rsmd_grant *grant,
                                const struct rsmd_asked *asked, struct rsm_offer *offer);

/** Charge the importer's user for the resources of this process that the offer uses. False: more
 *  than the share allows, and nothing is charged. */
bool rsmd_offer_charge(struct rsmd_grant *grant);
/** The same for an offer of the daemon's predecessor, even beyond the share. */
void rsmd_offer_charge_again(struct rsmd_grant *grant);
/** Give back the charge of an offer that has ended. */
void rsmd_offer_refund(struct rsmd_account *account, const struct rsmd_offer_price *price);

/** Whether a segment of the controller can use this extent: its port has made the extent, or all
 *  its importers are on this host and the loopback controller can adopt it. */
bool rsmd_offer_suits(const struct rsmd_node *node, const struct rsmd_extent *extent,
                      const struct rsmd_controller *controller);

#endif
