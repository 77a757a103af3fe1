/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work on all connections of a segment, of which there can be tens of thousands: rsmd notifies its
 * importers that it has become unavailable, or cuts them all. A request does as much of that as
 * fits into a slice. The rest follows in the turns of the client, whose user is charged for the
 * time. Meanwhile the client's next requests wait in the socket. If the client ends, the rest is
 * part of its end (rsmd_client_clear_until()).
 */
#ifndef RSMD_UNFINISHED_H
#define RSMD_UNFINISHED_H

#include "node/call.h"

/** Notify all importers of a segment, on any host, that it has become unavailable: the rest in the
 *  turns of @p client. An importer that has not got an earlier notice yet gets one for both. */
void rsmd_unfinished_report(struct rsmd_node *node, struct rsmd_client *client,
                            struct rsmd_export *exported);

/** Cut all connections of a segment of @p client, which is withdrawn, and free it if it has ended:
 *  the rest in the turns of @p client. */
void rsmd_unfinished_cut(struct rsmd_node *node, struct rsmd_client *client,
                         struct rsmd_export *exported);
/** Answer the call when the work of its client is done and no offer of the segment is ending any
 *  more: later, with the body of its kind (struct rsm_export_end_reply), or at once. The segment
 *  may be gone. While connections go on, no offer is waited for. */
void rsmd_unfinished_await(struct rsmd_call *call, uint32_t export_id);
/** Send the reply to a request that has waited. */
void rsmd_unfinished_answer(struct rsmd_client *client, const struct rsmd_unfinished *request);

/** Whether a client has unfinished work. */
bool rsmd_unfinished_is(const struct rsmd_client *client);
/** Continue it until the clock shows about @p until (clock.h). True: it is done, and a request that
 *  waited for it has been answered, unless its client ends. */
bool rsmd_unfinished_go_on(struct rsmd_node *node, struct rsmd_client *client, int64_t until);

#endif
