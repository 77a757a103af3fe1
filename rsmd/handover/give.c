/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "handover/handover.h"
#include "handover/internal.h"
#include "server/notify.h"

enum { TRIAL_MS = 10000 };

/* The program to execute, as noted at the start. */
static struct {
    char path[PATH_MAX];
    char directory[PATH_MAX];
    char *const *arguments;
} program;

/* Remove --ready-fd: the starter has its report. The list is not freed. */
static char *const *without_starter(char *const arguments[])
{
    size_t count = 0, kept = 0;
    while (arguments[count] != NULL)
        count++;
    char **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++) {
        /* No other option begins like this, and abbreviations are accepted, too. */
        bool starter = strncmp(arguments[i], "--re", 4) == 0;
        if (!starter)
            list[kept++] = arguments[i];
        else if (strchr(arguments[i], '=') == NULL && i + 1 < count)
            i++;
    }
    return list != NULL ? list : arguments;
}

void rsmd_handover_note_program(char *const arguments[])
{
    ssize_t length = readlink("/proc/self/exe", program.path, sizeof program.path - 1);
    program.path[length > 0 ? length : 0] = '\0';
    if (getcwd(program.directory, sizeof program.directory) == NULL)
        program.directory[0] = '\0';
    program.arguments = arguments;
}

/* ------------------------------------------------------------------ a trial */

/* Wait for a child for a while; its status, or -1: it did not end and was killed. */
static int await(pid_t child)
{
    int status = -1;
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd ended = {.fd = process, .events = POLLIN};
    bool in_time = process < 0 || poll(&ended, 1, TRIAL_MS) == 1;
    if (!in_time)
        kill(child, SIGKILL);
    if (process >= 0)
        close(process);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return in_time ? status : -1;
}

bool rsmd_handover_reads(int version)
{
    return version >= RSMD_SNAPSHOT_OLDEST && version <= RSMD_SNAPSHOT_VERSION;
}

/* This process's arguments and the question. The caller frees the list; NULL: no memory. */
static char **trial_arguments(char question[])
{
    char *const *own = without_starter(program.arguments);
    size_t count = 0;
    while (own[count] != NULL)
        count++;
    char **arguments = calloc(count + 2, sizeof *arguments);
    if (arguments != NULL) {
        memcpy(arguments, own, count * sizeof *own);
        arguments[count] = question;
    }
    if (own != program.arguments)
        free((void *)(uintptr_t)own);
    return arguments;
}

/* Its status as waitpid() has it, or -1, with *error if it was not even executed. */
static int try_program(char *const arguments[], int *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    if (program.directory[0] != '\0') /* for relative names on the command line */
        posix_spawn_file_actions_addchdir_np(&actions, program.directory);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    *error = posix_spawn(&child, program.path, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return *error == 0 ? await(child) : -1;
}

bool rsmd_handover_can_start(void)
{
    char question[32];
    snprintf(question, sizeof question, "--can-take-over=%d", RSMD_SNAPSHOT_VERSION);
    char **arguments = trial_arguments(question);
    int error = ENOMEM;
    int status = arguments != NULL ? try_program(arguments, &error) : -1;
    free(arguments);
    bool can = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!can)
        rsm_log_error("this rsmd goes on, because %s %s%s", program.path,
                      error != 0 ? "does not start: "
                                 : "refuses its state or the configuration, or does not end",
                      error != 0 ? strerror(error) : "");
    return can;
}

/* ------------------------------------------------------------------ the queue */

/* Put all descriptors into one queue; -1 with errno. */
static int fill_queue(const struct rsmd_parcel *parcel)
{
    uint32_t count = 0;
    int *fds = calloc(RSMD_HANDOVER_OWN + 1 + (size_t)parcel->snapshot.fd_count, sizeof *fds);
    if (fds == NULL)
        return -1;
    fds[count++] = parcel->state;
    fds[count++] = parcel->table;
    fds[count++] = parcel->lock;
    if (parcel->listener >= 0)
        fds[count++] = parcel->listener;
    uint32_t own = count;
    for (uint32_t i = 0; i < parcel->snapshot.fd_count; i++)
        fds[count++] = parcel->snapshot.fds[i];
    int queue = rsmd_queue_fill(fds, count, own);
    int error = errno;
    free(fds);
    errno = error;
    return queue;
}

/* Close what is in a queue that is not handed over. */
static void empty_queue(int queue)
{
    int *fds;
    uint32_t count = rsmd_queue_empty(queue, &fds);
    for (uint32_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(fds);
}

/* False with errno. */
static bool give_to_manager(int queue)
{
    if (rsmd_store_put(RSMD_HANDOVER_STORED, queue))
        return true;
    rsmd_store_remove(RSMD_HANDOVER_STORED); /* a successor must not find an outdated state */
    errno = ETIMEDOUT;
    return false;
}

/* Execute the installed program, which inherits this one descriptor. Returns only on failure. */
static bool give_in_place(int queue)
{
    char text[16];
    snprintf(text, sizeof text, "%d", queue);
    /* For relative names on the command line. */
    if (program.directory[0] != '\0' && chdir(program.directory) < 0)
        rsm_log_debug("cannot go to %s: %m", program.directory);
    if (fcntl(queue, F_SETFD, 0) < 0 || setenv(RSMD_HANDOVER_VARIABLE, text, 1) < 0)
        return false;
    execv(program.path, without_starter(program.arguments));
    return false;
}

/* ------------------------------------------------------------------ giving */

/* Save the state and hand it over. On failure the daemon has to end: its links to other hosts are
 * closed, and it accepts no clients. */
static bool give(const struct rsmd_server *server, struct rsmd_parcel *parcel, const char *to,
                 bool give_queue(int queue))
{
    struct rsmd_generation_table *table = server->node->generation_table;
    rsmd_state_save(&parcel->snapshot, server);
    parcel->table = rsmd_generation_table_lasting_fd(table);
    parcel->state = parcel->table >= 0 ? rsmd_snapshot_seal(&parcel->snapshot) : -1;
    if (parcel->state < 0) {
        rsm_log_error("cannot hand over: the state cannot be saved");
        return false;
    }
    rsm_log_info("node %u goes on in %s", (unsigned)server->node->id, to);
    rsmd_generation_table_leave(table);
    int queue = fill_queue(parcel);
    bool given = queue >= 0 && give_queue(queue);
    if (!given) {
        rsm_log_error("cannot hand over: %m");
        if (queue >= 0)
            empty_queue(queue);
        /* The caller ends everything, and marks the word. If the word cannot be owned again,
         * clients have already stopped waiting. */
        (void)rsmd_generation_table_own(table);
    }
    if (queue >= 0)
        close(queue);
    close(parcel->state);
    return given;
}

void rsmd_handover_give(const struct rsmd_server *server, const struct rsmd_instance *instance)
{
    struct rsmd_parcel parcel = {.lock = instance->lock, .listener = server->listener};
    (void)give(server, &parcel, program.path, give_in_place);
    rsmd_snapshot_free(&parcel.snapshot);
}

bool rsmd_handover_store(const struct rsmd_server *server, const struct rsmd_instance *instance)
{
    /* The manager has the sockets that it made. */
    struct rsmd_parcel parcel = {.lock = instance->lock,
                                 .listener = instance->socket_is_ours ? server->listener : -1};
    bool given = give(server, &parcel, "the next rsmd of the service manager", give_to_manager);
    rsmd_snapshot_free(&parcel.snapshot);
    return given;
}
