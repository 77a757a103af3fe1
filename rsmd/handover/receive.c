/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
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
#include "handover/queue.h"
#include "handover/state.h"
#include "handover/store.h"
#include "server/notify.h"

enum { OWN_DESCRIPTORS = 64 }; /* that a daemon opens until it serves, and some */

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

/* The table first: from then on clients learn of whatever becomes of this process. */
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

/* Those that the state names are @p count in @p fds; NULL: in this process under the same numbers. */
static void take_rest(struct rsmd_handover *received, int state, const int *fds, uint32_t count)
{
    bool usable = received->table != NULL && state >= 0;
    received->readable = usable && rsmd_snapshot_open(&received->reader, state, fds, count);
    for (uint32_t i = 0; fds != NULL && !usable && i < count; i++)
        close_if(fds[i]);
    close_if(state);
    if (received->listener >= 0 && !is_listener(received->listener)) {
        close(received->listener);
        received->listener = -1;
    }
}

/* ------------------------------------------------------------------ in place */

/* A descriptor that the predecessor has left open for us. */
static int inherited(int fd)
{
    int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;
    return flags >= 0 && (flags & FD_CLOEXEC) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

/* What is open for a successor, and was not taken: of a state that cannot be read. */
static void close_untaken(void)
{
    DIR *open_fds = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (open_fds == NULL)
        return;
    while ((entry = readdir(open_fds)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);
        int flags = fd > STDERR_FILENO ? fcntl((int)fd, F_GETFD) : -1;
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            close((int)fd);
    }
    closedir(open_fds);
}

/* The descriptor that comes next in the text; -1: there is none. */
static int next_descriptor(const char **text)
{
    char *end;
    errno = 0;
    long number = strtol(*text, &end, 10);
    bool good = errno == 0 && end != *text && number >= 0 && number <= INT_MAX;
    *text = end;
    return good ? (int)number : -1;
}

static void receive_in_place(struct rsmd_handover *received, const char *text)
{
    received->present = received->in_place = true;
    int state = next_descriptor(&text);
    take_table(received, inherited(next_descriptor(&text)));
    received->lock = inherited(next_descriptor(&text));
    received->listener = inherited(next_descriptor(&text));
    take_rest(received, inherited(state), NULL, 0);
    close_untaken();
}

/* ------------------------------------------------------------------ from the service manager */

/* What this process may not have is missing: it needs some descriptors itself. */
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

static void receive_from_manager(struct rsmd_handover *received, int queue)
{
    int *fds;
    received->present = true;
    uint32_t count = rsmd_queue_empty(queue, &fds);
    close(queue);
    /* They are ours now. The manager would go on giving an empty queue to every rsmd. */
    rsmd_store_remove(RSMD_HANDOVER_STORED);
    if (count >= RSMD_HANDOVER_OWN) {
        receive_all(received, fds, count);
    } else {
        rsm_log_error("the service manager has not kept all of the previous rsmd's state");
        for (uint32_t i = 0; i < count; i++)
            close_if(fds[i]);
    }
    free(fds);
}

bool rsmd_handover_is_in_place(void)
{
    return getenv(RSMD_HANDOVER_VARIABLE) != NULL;
}

void rsmd_handover_receive(struct rsmd_handover *received)
{
    const char *in_place = getenv(RSMD_HANDOVER_VARIABLE);
    *received = (struct rsmd_handover){.lock = -1, .listener = -1};
    if (in_place != NULL) {
        receive_in_place(received, in_place);
        unsetenv(RSMD_HANDOVER_VARIABLE);
        return;
    }
    int queue = rsmd_passed_named(RSMD_HANDOVER_STORED);
    if (queue >= 0)
        receive_from_manager(received, queue);
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
