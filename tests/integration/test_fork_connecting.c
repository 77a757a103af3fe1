/* SPDX-License-Identifier: BSD-3-Clause */
/* A forked child has no copy of the library's sockets, or the daemon would not see the parent go:
 * not at the moment in which the library has connected and asks the kernel whose the daemon is, and
 * not of a broken connection that handles still hold. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "party.h"

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

static void test_child_has_no_socket_in_the_making(void **state)
{
    struct actor *actor = actor_start(*state, 1);
    struct order order = {.slot = 0};
    assert_int_equal(actor_run(actor, open_and_fork, &order, sizeof order), 0);
    /* The parent's connection works. */
    TELL_OK(actor, create, .length = PARTY_PAGE);
    TELL_OK(actor, destroy);
    actor_stop(actor);
}

/* ---------------------------------------------------------------- broken connections */

/* How many sockets this process has. */
static int sockets(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISSOCK(status.st_mode))
            count++;
    }
    closedir(directory);
    return count;
}

static int count_sockets(void *unused)
{
    (void)unused;
    return sockets();
}

static int count_sockets_of_child(void *unused)
{
    int status;
    (void)unused;
    pid_t child = fork();
    if (child == 0)
        _exit(sockets());
    NEED(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_child_has_no_broken_connection(void **state)
{
    struct actor *actor = actor_start(*state, 1);
    int others = actor_run(actor, count_sockets, NULL, 0);
    TELL_OK(actor, create, .length = PARTY_PAGE);
    assert_int_equal(actor_run(actor, count_sockets, NULL, 0), others + 1);
    world_daemon_kill(*state, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_child_has_no_socket_in_the_making),
                                       WORLD_TEST(test_child_has_no_broken_connection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
