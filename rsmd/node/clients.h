/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Clients: what each is charged for being there, and the end of all that it has. */
#ifndef RSMD_CLIENTS_H
#define RSMD_CLIENTS_H

#include "node/node.h"

/** Charge a client that says HELLO with its connection. False: its user has as many as he may. */
bool rsmd_client_admit(const struct rsmd_client *client);
/** Charge one that has said HELLO to the daemon's predecessor. */
void rsmd_client_resume(const struct rsmd_client *client);
/** Give that back: the connection has ended. */
void rsmd_client_dismiss(const struct rsmd_client *client);

/** Free all that a client has. */
void rsmd_client_clear(struct rsmd_node *node, struct rsmd_client *client);
/** Free what a client has, but no longer than until the clock shows @p until (clock.h; INT64_MAX:
 *  as long as it takes), yet something. True: it has nothing any more. */
bool rsmd_client_clear_until(struct rsmd_node *node, struct rsmd_client *client, int64_t until);
/** Whether it has nothing. Threads may be at what it had: see its `jobs`. */
bool rsmd_client_is_clear(const struct rsmd_client *client);
/** A thread's job on its behalf is over; the last thing that whoever is told of that does, because
 *  the client may be gone afterwards. */
void rsmd_client_job_over(struct rsmd_client *client);

#endif
