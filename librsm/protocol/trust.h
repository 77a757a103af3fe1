/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which users' daemons and directories a process trusts.
 *
 *  A daemon can read and write all that its clients export. So a process trusts only the daemons of
 *  three users: root, the process's effective user, and the user that runs the system's daemon, who
 *  is the owner of the system's runtime directory. That directory is compiled in; no path from the
 *  environment makes a user trusted.
 *
 *  Directories are checked to report errors early. The credentials of the listener, which the
 *  kernel provides, decide, because a directory may be replaced between the check and the connect.
 *
 *  Library, tools and daemon use these functions. All are thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "rsm/transport.h"

/** The system's runtime directory, as compiled in. Tests have another one. */
extern const char *rsmcore_trust_system_directory;

/** Whether this process believes a daemon of @p uid. */
bool rsmcore_trust_user(uid_t uid);

/**
 * Whether a daemon may be looked for, or started, in a directory: it must be a directory, no
 * symbolic link to one, that belongs to a trusted user and that neither group nor others can write.
 * @param why  what is wrong, for a log line; empty otherwise.
 * @return RSM_ST_OK; RSM_ST_NOT_FOUND: there is none; RSM_ST_DENIED with @p why.
 */
enum rsm_status rsmcore_trust_directory(const char *path, char *why, size_t size);

/** Whether this process believes the daemon that listens at the other end of a socket that has just
 *  been connected to @p path. The log says why not. */
bool rsmcore_trust_listener(int socket, const char *path);

/** As rsm_packet_connect(), to a daemon. -1 with EPERM, and the reason logged: the process that
 *  listens there is not trusted, and nothing has been sent to it. */
int rsmcore_trust_connect(const char *path);
