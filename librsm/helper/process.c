/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "helper/program.h"

enum { END_MS = 500 };

static int spawn(const char *path, const char *argument, int control, pid_t *child)
{
    const char *last = strrchr(path, '/');
    const char *name = last != NULL ? last + 1 : path;
    char *const arguments[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)argument, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control, RSM_HELPER_CONTROL);
    posix_spawn_file_actions_addclosefrom_np(&actions, RSM_HELPER_CONTROL + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(child, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int rsm_helper_start(struct rsm_helper *helper, const char *path, const char *argument)
{
    int sockets[2];
    *helper = RSM_HELPER_NONE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return errno;
    (void)rsm_packet_refuse_fds(sockets[0]); /* none comes from a helper that is well */
    int error = spawn(path, argument, sockets[1], &helper->pid);
    close(sockets[1]);
    helper->control = sockets[0];
    if (error != 0)
        helper->pid = 0;
    else if ((helper->process = (int)syscall(SYS_pidfd_open, helper->pid, 0)) < 0)
        error = errno;
    if (error != 0)
        rsm_helper_end(helper, true);
    return error;
}

static bool has_ended(const struct rsm_helper *helper)
{
    struct pollfd process = {.fd = helper->process, .events = POLLIN};
    return helper->process < 0 || poll(&process, 1, END_MS) > 0;
}

bool rsm_helper_end(struct rsm_helper *helper, bool at_once)
{
    bool ended = true;
    if (at_once && helper->pid != 0) /* before it begins to end by itself */
        kill(helper->pid, SIGKILL);
    if (helper->control >= 0)
        close(helper->control);
    if (helper->pid != 0) {
        if (!at_once && (helper->process < 0 || !has_ended(helper)))
            kill(helper->pid, SIGKILL);
        ended = has_ended(helper);
        while (ended && waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (helper->process >= 0)
        close(helper->process);
    *helper = RSM_HELPER_NONE;
    return ended;
}
