/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The daemon from its options to its end. */
#ifndef RSMD_DAEMON_H
#define RSMD_DAEMON_H

#include "conf/options.h"
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

#endif
