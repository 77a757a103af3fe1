/* SPDX-License-Identifier: BSD-3-Clause */
/* Members by a program, which has a bounded time and prints a bounded number of bytes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "members/members.h"

enum { COMPLAINT_BYTES = 200 }; /* of what it prints to standard error */

/* A stream of the program, as much as has room. */
struct output {
    int fd;
    char *bytes;
    size_t used, capacity;
};

struct run {
    pid_t pid;
    int process; /* pidfd */
    struct output out, complaint;
    int64_t deadline;
};

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, RSMD_MEMBERS_WHY_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* What root runs must be what root has written. */
static bool is_trusted(const char *path, char *why)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return refuse(why, "%s", strerror(errno));
    if ((about.st_uid != 0 && about.st_uid != geteuid()) ||
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(why, "other users may change this program");
    return true;
}

/* ------------------------------------------------------------------ start */

static int spawn(const char *path, int out, int complaint, pid_t *pid)
{
    const char *last = strrchr(path, '/');
    char name[RSM_PROTO_NAME_MAX];
    char search[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char *const arguments[] = {name, NULL}, *const environment[] = {search, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    snprintf(name, sizeof name, "%s", last + 1);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, complaint, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static void close_output(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
}

/* Nothing of it stays: what it has started is of its process group. */
static void end(struct run *run)
{
    if (run->pid != 0) {
        kill(-run->pid, SIGKILL);
        while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (run->process >= 0)
        close(run->process);
    close_output(&run->out);
    close_output(&run->complaint);
}

static bool start(struct run *run, const char *path, char *why)
{
    int out[2], complaint[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return refuse(why, "%s", strerror(errno));
    run->out.fd = out[0];
    if (pipe2(complaint, O_CLOEXEC) != 0) {
        close(out[1]);
        return refuse(why, "%s", strerror(errno));
    }
    run->complaint.fd = complaint[0];
    int error = spawn(path, out[1], complaint[1], &run->pid);
    close(out[1]);
    close(complaint[1]);
    if (error != 0) {
        run->pid = 0;
        return refuse(why, "%s", strerror(error));
    }
    run->process = (int)syscall(SYS_pidfd_open, run->pid, 0);
    return run->process >= 0 || refuse(why, "%s", strerror(errno));
}

/* ------------------------------------------------------------------ what it prints */

/* Read what is there; what has no room is dropped. */
static void take(struct output *output)
{
    char dropped[4096];
    size_t room = output->capacity - output->used;
    ssize_t got = room > 0 ? read(output->fd, output->bytes + output->used, room)
                           : read(output->fd, dropped, sizeof dropped);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0)
        close_output(output);
    else if (room > 0)
        output->used += (size_t)got;
}

/* Until its end and that of its output. One who has ended, but has left a process that holds the
 * pipes, has printed what is in them. */
static bool listen_to(struct run *run, char *why)
{
    bool ended = false;
    while (!ended || run->out.fd >= 0 || run->complaint.fd >= 0) {
        struct pollfd fds[] = {{.fd = run->out.fd, .events = POLLIN},
                               {.fd = run->complaint.fd, .events = POLLIN},
                               {.fd = ended ? -1 : run->process, .events = POLLIN}};
        int64_t left = run->deadline - rsm_clock_ms();
        if (left <= 0)
            return refuse(why, "it has not ended within %d s", RSMD_MEMBERS_PROGRAM_MS / 1000);
        int ready = poll(fds, 3, ended ? 0 : (int)left);
        if (ready < 0 && errno != EINTR)
            return refuse(why, "%s", strerror(errno));
        if (ready == 0 && ended)
            return true;
        if (ready <= 0)
            continue;
        if (fds[0].revents != 0)
            take(&run->out);
        if (fds[1].revents != 0)
            take(&run->complaint);
        ended = ended || fds[2].revents != 0;
    }
    return true;
}

/* The first line of its complaint, printable. */
static const char *complaint_of(struct output *complaint)
{
    complaint->bytes[complaint->used] = '\0';
    complaint->bytes[strcspn(complaint->bytes, "\r\n")] = '\0';
    for (char *at = complaint->bytes; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return complaint->bytes;
}

static bool judge(struct run *run, char *why)
{
    siginfo_t about = {.si_pid = 0};
    if (waitid(P_PID, (id_t)run->pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0)
        return refuse(why, "%s", strerror(errno));
    const char *complaint = complaint_of(&run->complaint);
    if (about.si_code != CLD_EXITED)
        return refuse(why, "signal %d has ended it", about.si_status);
    if (about.si_status != 0)
        return refuse(why, "it ended with status %d%s%s", about.si_status,
                      *complaint != '\0' ? ": " : "", complaint);
    return run->out.used <= RSMD_MEMBERS_BYTES_MAX ||
           refuse(why, "it has printed more than %d bytes", RSMD_MEMBERS_BYTES_MAX);
}

bool rsmd_members_by_program(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                             char *why)
{
    char complaint[COMPLAINT_BYTES + 1];
    struct run run = {.process = -1,
                      .out = {.fd = -1, .capacity = RSMD_MEMBERS_BYTES_MAX + 1},
                      .complaint = {.fd = -1, .bytes = complaint, .capacity = COMPLAINT_BYTES},
                      .deadline = rsm_clock_ms() + RSMD_MEMBERS_PROGRAM_MS};
    if (!is_trusted(rules->name, why))
        return false;
    run.out.bytes = malloc(run.out.capacity);
    bool good = run.out.bytes != NULL || refuse(why, "out of memory");
    good = good && start(&run, rules->name, why) && listen_to(&run, why) && judge(&run, why);
    end(&run);
    good = good && rsmd_members_read(members, rules, run.out.bytes, run.out.used, why);
    free(run.out.bytes);
    return good;
}
