/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "server/notify.h"

enum { MANAGER_TIMEOUT_MS = 5000, MESSAGE_MAX = 128 };

/* Wait until the manager has read what was sent before: it then closes the pipe's end that it gets.
 * It looks up the sender of a message, which must not have ended by then. */
static bool barrier(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    bool sent = rsmd_notify_with("BARRIER=1", ends[1]);
    close(ends[1]);
    struct pollfd closed = {.fd = ends[0]};
    int ready = 0;
    if (sent)
        do
            ready = poll(&closed, 1, MANAGER_TIMEOUT_MS);
        while (ready < 0 && errno == EINTR);
    close(ends[0]);
    return ready == 1;
}

bool rsmd_store_put(const char *name, int fd)
{
    char text[MESSAGE_MAX];
    /* Without FDPOLL=0 the manager drops a socket whose other end is closed. */
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    return rsmd_notify_with(text, fd) && barrier();
}

void rsmd_store_remove(const char *name)
{
    char text[MESSAGE_MAX];
    snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
    rsmd_notify(text);
}
