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
#include "handover/state.h"

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
        rsm_log_error("cannot hold the generation table of the previous rsmd: %m");
    }
}

static void take_rest(struct rsmd_handover *received, int state)
{
    received->readable = received->table != NULL && state >= 0 &&
                         rsmd_snapshot_open(&received->reader, state, NULL, 0);
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
    take_rest(received, inherited(state));
    close_untaken();
}

bool rsmd_handover_is_in_place(void)
{
    return getenv(RSMD_HANDOVER_VARIABLE) != NULL;
}

void rsmd_handover_receive(struct rsmd_handover *received)
{
    const char *in_place = getenv(RSMD_HANDOVER_VARIABLE);
    *received = (struct rsmd_handover){.lock = -1, .listener = -1};
    if (in_place == NULL)
        return;
    receive_in_place(received, in_place);
    unsetenv(RSMD_HANDOVER_VARIABLE);
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
