/* SPDX-License-Identifier: BSD-3-Clause */
/* A forked child has no copy of the library's sockets, or the daemon would not see the parent go:
 * not at the moment in which the library has connected and asks the kernel whose the daemon is, and
 * not of a broken connection that handles still hold. Nor has it one of the pipe on which the library
 * hears a daemon that it has started: should that daemon end, the parent would wait for its words for
 * as long as the child lives. */
#include <dirent.h>
#include <sys/syscall.h>

#include "party.h"

/* How many descriptors of a kind this process has. */
static int descriptors(mode_t kind)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
            (status.st_mode & S_IFMT) == kind)
            count++;
    }
    closedir(directory);
    return count;
}

static bool armed;    /* in the actor: the next question is the moment */
static int inherited; /* what its child said: 1 it has a copy, 0 it has none, -1 it was not asked */

/* The library's calls come here: the program's symbols are found before those of libc. */
__attribute__((visibility("default"))) int getsockopt(int socket, int level, int name, void *value,
                                                      socklen_t *length)
{
    if (armed && level == SOL_SOCKET && name == SO_PEERCRED) {
        int status;
        armed = false;
        pid_t child = fork();
        if (child == 0)
            _exit(fcntl(socket, F_GETFD) < 0 && errno == EBADF ? 0 : 1);
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
            inherited = WEXITSTATUS(status);
    }
    return (int)syscall(SYS_getsockopt, socket, level, name, value, length);
}

static int open_and_fork(void *bytes)
{
    armed = true;
    inherited = -1;
    NEED(party_open(bytes) == RSM_SUCCESS);
    NEED(inherited != -1);
    return inherited;
}

WORLD_TEST(test_child_has_no_socket_in_the_making)
{
    struct actor *actor = actor_start(world, 1);
    struct order order = {.slot = 0};
    assert_int_equal(actor_run(actor, open_and_fork, &order, sizeof order), 0);
    /* The parent's connection works. */
    TELL_OK(actor, create, .length = PARTY_PAGE);
    TELL_OK(actor, destroy);
    actor_stop(actor);
}

/* ---------------------------------------------------------------- a daemon that is being started */

static bool starts;    /* in the actor: when the library prepares the start of a daemon, it forks */
static int before = 0; /* pipes that the process had */

/* The pipe is there when the library opens what shall be the daemon's standard input. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    if (starts && strcmp(path, "/dev/null") == 0) {
        int status;
        starts = false;
        NEED(descriptors(S_IFIFO) == before + 2);
        pid_t child = fork();
        if (child == 0)
            _exit(descriptors(S_IFIFO) - before);
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
            inherited = WEXITSTATUS(status);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int start_and_fork(void *bytes)
{
    starts = true;
    inherited = -1;
    before = descriptors(S_IFIFO);
    NEED(party_open(bytes) == RSM_SUCCESS);
    NEED(inherited != -1);
    return inherited;
}

WORLD_TEST(test_child_has_no_pipe_of_a_start)
{
    struct actor *actor = actor_start(world, 1);
    struct order order = {.slot = 0};
    assert_int_equal(actor_run(actor, start_and_fork, &order, sizeof order), 0);
    TELL_OK(actor, create, .length = PARTY_PAGE);
    TELL_OK(actor, destroy);
    actor_stop(actor);
}

/* ---------------------------------------------------------------- broken connections */

static int count_sockets(void *unused)
{
    return descriptors(S_IFSOCK);
}

static int count_sockets_of_child(void *unused)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(descriptors(S_IFSOCK));
    NEED(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

WORLD_TEST(test_child_has_no_broken_connection)
{
    struct actor *actor = actor_start(world, 1);
    int others = actor_run(actor, count_sockets, NULL, 0);
    TELL_OK(actor, create, .length = PARTY_PAGE);
    assert_int_equal(actor_run(actor, count_sockets, NULL, 0), others + 1);
    world_daemon_kill(world, 1);
    /* The segment's connection stays until the segment is destroyed. */
    TELL_OK(actor, create, .slot = 1, .length = PARTY_PAGE);
    assert_int_equal(actor_run(actor, count_sockets, NULL, 0), others + 2);
    assert_int_equal(actor_run(actor, count_sockets_of_child, NULL, 0), others);
    /* The parent goes on. */
    (void)TELL(actor, destroy);
    TELL_OK(actor, destroy, .slot = 1);
    assert_int_equal(actor_run(actor, count_sockets, NULL, 0), others + 1);
    actor_stop(actor);
}
