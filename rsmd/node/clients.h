/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Clients: what each is charged for its connection, and the end of all that it has. */
#ifndef RSMD_CLIENTS_H
#define RSMD_CLIENTS_H

#include "node/node.h"

/** Charge a client for its connection, at its HELLO. False: its user has the maximum. */
bool rsmd_client_admit(const struct rsmd_client *client);
/** Charge a client that sent its HELLO to the daemon's predecessor. */
void rsmd_client_resume(const struct rsmd_client *client);
/** Give the charge back. The connection has ended. */
void rsmd_client_dismiss(const struct rsmd_client *client);

/** Free what a client has, at least one object, and stop when the clock shows @p until (clock.h;
 *  INT64_MAX: never). True: it has nothing any more. */
bool rsmd_client_clear_until(struct rsmd_node *node, struct rsmd_client *client, int64_t until);
/** Whether it has nothing. Threads may still use what it had: see its `jobs`. */
bool rsmd_client_is_clear(const struct rsmd_client *client);
/** Note that a thread's job on its behalf is over. The client may be gone afterwards. */
void rsmd_client_job_over(struct rsmd_client *client);

#endif
