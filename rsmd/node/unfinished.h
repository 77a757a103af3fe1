/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work on all connections of a segment, of which there can be tens of thousands: rsmd tells its
 * importers that it has become unavailable, or cuts them all. A request does as much of that as
 * fits into a slice of time. rsmd does the rest in the turns of the client, and charges the time to
 * the client's user. Until it is done the client's next requests wait in the socket. If the client
 * ends, the rest is part of its end (rsmd_client_clear_until()).
 */
#ifndef RSMD_UNFINISHED_H
#define RSMD_UNFINISHED_H

#include "node/call.h"

/** Tell all importers of a segment, wherever they are, that it has become unavailable: the rest in
 *  the turns of @p client. Those who have not been told of an earlier time yet are told once. */
void rsmd_unfinished_report(struct rsmd_node *node, struct rsmd_client *client,
                            struct rsmd_export *exported);

/** Cut all connections of a segment of @p client, which is withdrawn, and free it if it has ended:
 *  the rest in the turns of @p client. */
void rsmd_unfinished_cut(struct rsmd_node *node, struct rsmd_client *client,
                         struct rsmd_export *exported);
/** Answer the call when nothing is left to do for its client: later, with the
 *  body of its kind (struct rsm_export_end_reply), or as usual. */
void rsmd_unfinished_await(struct rsmd_call *call);

/** Whether something is left to do for a client. */
bool rsmd_unfinished_is(const struct rsmd_client *client);
/** Do it, but not much longer than until the clock shows @p until (clock.h). True: nothing is left,
 *  and a request that waited for it has been answered, unless its client ends. */
bool rsmd_unfinished_go_on(struct rsmd_node *node, struct rsmd_client *client, int64_t until);

#endif
