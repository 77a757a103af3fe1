/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Whose daemon a process talks to, and whose directories it looks for one in.
 *
 * A daemon can read and write all that its clients export. So a process believes the daemons of
 * three users only: root, the process's own effective user, and the user who runs the system's
 * daemon, which is the owner of the system's runtime directory. That directory is compiled in; no
 * path from the environment makes anybody trusted.
 *
 * Directories are checked so that a mistake is named before anything is done there. What counts in
 * the end is the kernel's word about the listener, because a directory may be replaced between the
 * check and the connect.
 *
 * Library, tools and daemon use these functions. All are thread-safe.
 */
#ifndef RSMCORE_TRUST_H
#define RSMCORE_TRUST_H

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

/** As rsm_packet_connect(), to a daemon. -1 with EPERM, and the reason logged: whoever listens
 *  there is not trusted. Nothing has been sent to him then. */
int rsmcore_trust_connect(const char *path);

#endif
