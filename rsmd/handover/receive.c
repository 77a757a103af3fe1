/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "handover/handover.h"
#include "handover/internal.h"
#include "handover/state.h"
#include "handover/store.h"

enum { FIRST_PASSED = 3, PASSED_MAX = RSMD_STORE_MAX + 8 };

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

static void take_rest(struct rsmd_handover *received, int state, const int *fds, uint32_t count)
{
    received->readable = received->table != NULL && state >= 0 &&
                         rsmd_snapshot_open(&received->reader, state, fds, count);
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

static void receive_in_place(struct rsmd_handover *received, const char *text)
{
    int state, table, lock, listener, ours;
    received->present = received->in_place = true;
    if (sscanf(text, "%d %d %d %d %d", &state, &table, &lock, &listener, &ours) != 5)
        return;
    take_table(received, inherited(table));
    received->lock = inherited(lock);
    received->listener = inherited(listener);
    take_rest(received, inherited(state), NULL, 0);
    close_untaken();
}

/* ------------------------------------------------------------------ from the service manager */

/* Descriptors by their names. */
struct passed {
    int state, table, lock, listener;
    int *fds;
    uint32_t count; /* of those that have numbers */
    int other;      /* of the service manager's own; -1: none */
    unsigned others;
};

/* The number of a client's descriptor. */
static bool is_number(const char *name, unsigned long *number)
{
    char *end;
    if (strspn(name, "0123456789abcdef") != strlen(name) || *name == '\0')
        return false;
    *number = strtoul(name, &end, 16);
    return *number < PASSED_MAX;
}

/* Above all that was passed, so that the places below are free for what stays. */
static int move(int fd, unsigned passed)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PASSED + (int)passed);
    close(fd);
    return moved;
}

static void sort_in(struct passed *passed, const char *name, int fd, unsigned total)
{
    unsigned long number;
    int *place = strcmp(name, RSMD_STORE_STATE) == 0    ? &passed->state
                 : strcmp(name, RSMD_STORE_TABLE) == 0  ? &passed->table
                 : strcmp(name, RSMD_STORE_LOCK) == 0   ? &passed->lock
                 : strcmp(name, RSMD_STORE_SOCKET) == 0 ? &passed->listener
                 : is_number(name, &number)             ? &passed->fds[number]
                                                        : NULL;
    if (place == NULL) {
        passed->other = fd;
        passed->others++;
        return;
    }
    close_if(*place);
    *place = move(fd, total);
    if (place >= passed->fds && place < passed->fds + PASSED_MAX &&
        (uint32_t)(place - passed->fds) >= passed->count)
        passed->count = (uint32_t)(place - passed->fds) + 1;
}

/* They are ours now. Were the manager to keep them, clients would not learn of our end, and a daemon
 * after a crash would begin with what was true long ago. */
static void empty_store(const struct passed *passed)
{
    char name[16];
    int manager = rsmd_store_connect();
    if (manager < 0)
        return;
    bool told = rsmd_store_remove(manager, RSMD_STORE_STATE) &&
                rsmd_store_remove(manager, RSMD_STORE_TABLE) &&
                rsmd_store_remove(manager, RSMD_STORE_LOCK) &&
                rsmd_store_remove(manager, RSMD_STORE_SOCKET);
    for (uint32_t i = 0; told && i < passed->count; i++) {
        snprintf(name, sizeof name, "%x", (unsigned)i);
        told = rsmd_store_remove(manager, name);
    }
    if (!told)
        rsm_log_warning("cannot empty the service manager's store: %m");
    close(manager);
}

/* What is left is for rsmd_passed_socket(), which expects it in the first place. */
static void leave_others(const struct passed *passed)
{
    char text[16];
    if (passed->others == 1 && passed->other != FIRST_PASSED &&
        dup2(passed->other, FIRST_PASSED) == FIRST_PASSED)
        close(passed->other);
    snprintf(text, sizeof text, "%u", passed->others);
    setenv("LISTEN_FDS", text, 1);
    unsetenv("LISTEN_FDNAMES");
}

static void receive_from_manager(struct rsmd_handover *received, unsigned total, char *names)
{
    struct passed passed = {.state = -1, .table = -1, .lock = -1, .listener = -1, .other = -1};
    passed.fds = malloc(PASSED_MAX * sizeof *passed.fds);
    if (passed.fds == NULL)
        return;
    for (unsigned i = 0; i < PASSED_MAX; i++)
        passed.fds[i] = -1;
    for (unsigned i = 0; i < total; i++) {
        char *name = strsep(&names, ":");
        sort_in(&passed, name != NULL ? name : "", FIRST_PASSED + (int)i, total);
    }
    leave_others(&passed);
    received->present = passed.state >= 0 || passed.table >= 0 || passed.count > 0;
    if (received->present) {
        empty_store(&passed);
        take_table(received, passed.table);
        received->lock = passed.lock;
        received->listener = passed.listener;
        take_rest(received, passed.state, passed.fds, passed.count);
    }
    for (unsigned i = 0; !received->readable && i < passed.count; i++)
        close_if(passed.fds[i]);
    free(passed.fds);
}

bool rsmd_handover_is_in_place(void)
{
    return getenv(RSMD_HANDOVER_VARIABLE) != NULL;
}

void rsmd_handover_receive(struct rsmd_handover *received)
{
    const char *in_place = getenv(RSMD_HANDOVER_VARIABLE);
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    *received = (struct rsmd_handover){.lock = -1, .listener = -1};
    if (in_place != NULL) {
        receive_in_place(received, in_place);
        unsetenv(RSMD_HANDOVER_VARIABLE);
        return;
    }
    if (pid == NULL || count == NULL || names == NULL || strtol(pid, NULL, 10) != getpid())
        return;
    long total = strtol(count, NULL, 10);
    char *copy = strdup(names);
    if (total > 0 && total < PASSED_MAX && copy != NULL)
        receive_from_manager(received, (unsigned)total, copy);
    free(copy);
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
