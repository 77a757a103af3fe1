/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Taking over a configuration that has changed while the daemon runs. What is new is added: nodes,
 * controllers, also those that failed before. Mappings, limits and the nodes' hosts and names
 * change. What programs or other daemons may be using stays as it is until a restart; the log names
 * it.
 */
#ifndef RSMD_RELOAD_H
#define RSMD_RELOAD_H

#include "server/server.h"

/**
 * Take over what can be.
 * @param fresh  as read from the file and found good; stays the caller's.
 * @param path   of the file, for the log.
 */
void rsmd_reload(struct rsmd_server *server, const struct rsmd_conf *fresh, const char *path);

#endif
