/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The daemon from its options to its end. */
#pragma once

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

/** Apply changed nodes alone. @p source is who has named them, for the log. */
void rsmd_reload_nodes(struct rsmd_server *server, const struct rsmd_conf *fresh,
                       const char *source);
