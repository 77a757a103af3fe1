/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/runnable.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/procfile.h"

/* The state in a line of /proc/PID/stat: behind the name, which may have parentheses itself. */
static char state_in(const char *line)
{
    const char *end = strrchr(line, ')');
    return (char)(end != NULL && end[1] == ' ' ? end[2] : '\0');
}

bool rsmcore_peer_is_runnable(int socket)
{
    struct rsmcore_procfile file;
    struct ucred peer;
    socklen_t length = sizeof peer;
    char path[32], line[256] = "";
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid <= 0 ||
        peer.pid == getpid())
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)peer.pid);
    if (!rsmcore_procfile_open(&file, AT_FDCWD, path))
        return false;
    (void)rsmcore_procfile_line(&file, line, sizeof line);
    rsmcore_procfile_close(&file);
    return state_in(line) == 'R';
}
