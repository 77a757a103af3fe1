/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "handover/handover.h"
#include "handover/internal.h"
#include "server/notify.h"

enum { OWN_DESCRIPTORS = 64 }; /* that a daemon opens before it serves, and some spare */

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

static bool is_listener(int fd)
{
    int listens = 0;
    socklen_t size = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1;
}

/* Take the table first: from then on clients learn of this process's end. */
static void take_table(struct rsmd_handover *received, int fd)
{
    if (fd < 0)
        return;
    if (rsmd_generation_table_take_over(fd, &received->table) != RSM_ST_OK) {
        close(fd);
        received->table = NULL;
    } else if (rsmd_generation_table_own(received->table) != RSM_ST_OK) {
        rsm_log_error("the clients of the previous rsmd were not waited for any longer");
        rsmd_generation_table_free(received->table);
        received->table = NULL;
    }
}

/* @p fds has the @p count descriptors that the state names. */
static void take_rest(struct rsmd_handover *received, int state, const int *fds, uint32_t count)
{
    bool usable = received->table != NULL && state >= 0;
    received->readable = usable && rsmd_snapshot_open(&received->reader, state, fds, count);
    for (uint32_t i = 0; !usable && i < count; i++)
        close_if(fds[i]);
    close_if(state);
    if (received->listener >= 0 && !is_listener(received->listener)) {
        close(received->listener);
        received->listener = -1;
    }
}

/* ------------------------------------------------------------------ the queue */

/* Close descriptors until enough are free: this process needs some itself. */
static void leave_room(int *fds, uint32_t count)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++)
        missing += fds[i] < 0;
    for (unsigned given_up = 0; missing > 0 && count > 0 && given_up < OWN_DESCRIPTORS; count--) {
        given_up += fds[count - 1] >= 0;
        close_if(fds[count - 1]);
        fds[count - 1] = -1;
    }
}

static void receive_all(struct rsmd_handover *received, int *fds, uint32_t count)
{
    uint32_t own = RSMD_HANDOVER_OWN;
    take_table(received, fds[1]);
    received->lock = fds[2];
    if (count > own && is_listener(fds[own]))
        received->listener = fds[own++];
    leave_room(fds + own, count - own);
    take_rest(received, fds[0], fds + own, count - own);
}

static void receive(struct rsmd_handover *received, int queue)
{
    int *fds;
    received->present = true;
    uint32_t count = rsmd_queue_empty(queue, &fds);
    close(queue);
    if (count >= RSMD_HANDOVER_OWN) {
        receive_all(received, fds, count);
    } else {
        rsm_log_error("not all of the previous rsmd's state has come");
        for (uint32_t i = 0; i < count; i++)
            close_if(fds[i]);
    }
    free(fds);
}

bool rsmd_handover_is_in_place(void)
{
    return getenv(RSMD_HANDOVER_VARIABLE) != NULL;
}

/* The queue that the previous program of this process has left open; -1: there is none. */
static int queue_in_place(void)
{
    const char *text = getenv(RSMD_HANDOVER_VARIABLE);
    char *end = NULL;
    errno = 0;
    long fd = text != NULL ? strtol(text, &end, 10) : -1;
    bool good = fd > STDERR_FILENO && fd <= INT_MAX && errno == 0 && *end == '\0';
    unsetenv(RSMD_HANDOVER_VARIABLE);
    return good && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0 ? (int)fd : -1;
}

void rsmd_handover_receive(struct rsmd_handover *received)
{
    *received =
        (struct rsmd_handover){.in_place = rsmd_handover_is_in_place(), .lock = -1, .listener = -1};
    received->present = received->in_place;
    int queue = received->in_place ? queue_in_place() : rsmd_passed_named(RSMD_HANDOVER_STORED);
    if (queue < 0)
        return;
    receive(received, queue);
    /* The manager would pass the empty queue to every rsmd. */
    if (!received->in_place)
        rsmd_store_remove(RSMD_HANDOVER_STORED);
}

/* ------------------------------------------------------------------ using it */

bool rsmd_handover_restore(struct rsmd_handover *received, struct rsmd_server *server)
{
    bool restored = received->readable && rsmd_state_restore(&received->reader, server);
    if (received->readable)
        rsmd_snapshot_reader_end(&received->reader);
    received->readable = false;
    if (received->present && !restored)
        rsm_log_error("the state of the previous rsmd cannot be used: its clients have ended");
    return restored;
}

void rsmd_handover_drop(struct rsmd_handover *received)
{
    if (received->readable)
        rsmd_snapshot_reader_end(&received->reader);
    received->readable = false;
    rsmd_generation_table_free(received->table);
    received->table = NULL;
    close_if(received->lock);
    close_if(received->listener);
    received->lock = received->listener = -1;
}
