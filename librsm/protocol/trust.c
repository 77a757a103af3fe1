/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/trust.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/packet.h"

#ifndef RSM_SYSTEM_RUNTIME_DIR
#define RSM_SYSTEM_RUNTIME_DIR "/run/rsm"
#endif

const char *rsmcore_trust_system_directory = RSM_SYSTEM_RUNTIME_DIR;

static bool others_may_write(const struct stat *directory)
{
    return (directory->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Whether the user runs the system's daemon: owns the system directory, which only root can make
 * and give away. A directory that others can write proves nothing. */
static bool owns_system_directory(uid_t uid)
{
    struct stat directory;
    return lstat(rsmcore_trust_system_directory, &directory) == 0 && S_ISDIR(directory.st_mode) &&
           !others_may_write(&directory) && directory.st_uid == uid;
}

bool rsmcore_trust_user(uid_t uid)
{
    return uid == 0 || uid == geteuid() || owns_system_directory(uid);
}

enum rsm_status rsmcore_trust_directory(const char *path, char *why, size_t size)
{
    struct stat status;
    why[0] = '\0';
    if (lstat(path, &status) < 0) {
        if (errno == ENOENT)
            return RSM_ST_NOT_FOUND;
        snprintf(why, size, "%s cannot be looked at: %s", path, strerror(errno));
    } else if (!S_ISDIR(status.st_mode)) {
        snprintf(why, size, "%s is %s", path,
                 S_ISLNK(status.st_mode) ? "a symbolic link, which is not followed"
                                         : "no directory");
    } else if (!rsmcore_trust_user(status.st_uid)) {
        snprintf(why, size,
                 "%s belongs to user %u, not to user %u, who runs this process, or to root", path,
                 (unsigned)status.st_uid, (unsigned)geteuid());
    } else if (others_may_write(&status)) {
        snprintf(why, size, "%s can be written by others than its owner (mode %04o)", path,
                 (unsigned)status.st_mode & 07777);
    }
    return why[0] == '\0' ? RSM_ST_OK : RSM_ST_DENIED;
}

bool rsmcore_trust_listener(int socket, const char *path)
{
    struct ucred listener = {.uid = (uid_t)-1};
    socklen_t length = sizeof listener;
    /* The credentials are those of the process that began to listen: the daemon, or the service
     * manager that made the socket for it. */
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &length) == 0 &&
        rsmcore_trust_user(listener.uid))
        return true;
    rsm_log_error("the daemon at %s is that of user %u; it could read and write all that user %u, "
                  "who runs this process, exports: not used",
                  path, (unsigned)listener.uid, (unsigned)geteuid());
    return false;
}

int rsmcore_trust_connect(const char *path)
{
    int socket = rsm_packet_connect(path);
    if (socket < 0 || rsmcore_trust_listener(socket, path))
        return socket;
    close(socket);
    errno = EPERM;
    return -1;
}
