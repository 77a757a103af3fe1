/* SPDX-License-Identifier: BSD-3-Clause */
/* fork(2) at the moment in which the library has connected to a daemon and asks the kernel whose it
 * is: the child has no copy of that socket, or the daemon would not see the parent go. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_child_has_no_socket_in_the_making)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
