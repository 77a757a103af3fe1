/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The daemon from its options to its end. */
#pragma once

#include "conf/options.h"
#include "members/members.h"
#include "server/server.h"

/** Run the daemon until it ends. Returns the exit status. */
int rsmd_run(const struct rsmd_options *options);

/**
 * Apply a changed configuration to the running daemon. New nodes and controllers are added,
 * including controllers that failed before. Mappings, limits and the nodes' hosts and names change.
 * What programs or other daemons may be using stays until a restart; the log names it.
 * @param fresh  the valid new configuration, which the caller keeps.
 * @param path   of the file, for the log.
 */
void rsmd_reload(struct rsmd_server *server, const struct rsmd_conf *fresh, const char *path);

/**
 * Apply what the source of members has answered: to the nodes without sections alone.
 * @return false: it is refused, and @p why, of RSMD_MEMBERS_WHY_BYTES, has the reason.
 */
bool rsmd_reload_members(struct rsmd_server *server, const struct rsmd_options *options,
                         const struct rsmd_members *members, char *why);
