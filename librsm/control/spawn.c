/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clone.h"
#include "base/descriptor.h"
#include "base/fork.h"
#include "base/log.h"

enum {
    READY_FD = 3, /* where the daemon finds the pipe it reports on */
};

/* All that the new process needs, prepared while calling libc is still safe. */
struct daemon_command {
    const char *path;
    char beside_library[PATH_MAX];
    char *arguments[6];
    char node[32];
    char directory[RSM_PROTO_PATH_MAX + 32];
    char ready[32];
    int report;       /* write end of the report pipe, which the daemon gets */
    bool keep_stderr; /* RSM_LOG is set: show the daemon's log, too */
    int null_device;  /* /dev/null */
    sigset_t no_signals;
};

/* The grandchild: becomes the daemon. The process was copied while other threads may have held
 * any lock, and sanitizers intercept libc, so only bare system calls are made from here on. */
__attribute__((noreturn)) static void become_daemon(const struct daemon_command *command)
{
    char failure = 'X';
    syscall(SYS_setsid);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fd != STDERR_FILENO || !command->keep_stderr)
            syscall(SYS_dup3, command->null_device, fd, 0);
    if (command->report == READY_FD)
        syscall(SYS_fcntl, READY_FD, F_SETFD, 0);
    else
        syscall(SYS_dup3, command->report, READY_FD, 0);
    if (syscall(SYS_close_range, READY_FD + 1, ~0u, 0) < 0)
        for (int fd = READY_FD + 1; fd < 65536; fd++) /* kernel before 5.9 */
            syscall(SYS_close, fd);
    syscall(SYS_umask, 077);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &command->no_signals, NULL, _NSIG / 8);
    syscall(SYS_execve, command->path, command->arguments, environ);
    syscall(SYS_write, READY_FD, &failure, 1);
    for (;;)
        syscall(SYS_exit_group, 127);
}

/* Fork twice so that the daemon is no child of this process. The first step has no exit signal: the
 * application's SIGCHLD handler and wait() do not see it. */
static int run_detached(const struct daemon_command *command)
{
    long child = rsm_clone_process(0);
    if (child == 0) {
        long daemon = rsm_clone_process(SIGCHLD);
        if (daemon == 0)
            become_daemon(command);
        for (;;)
            syscall(SYS_exit_group, daemon < 0 ? 1 : 0);
    }
    if (child < 0)
        return -1;
    int status = 0;
    long waited;
    do
        waited = syscall(SYS_wait4, child, &status, __WCLONE, NULL);
    while (waited < 0 && errno == EINTR);
    return waited == child && status == 0 ? 0 : -1;
}

/* Read what the daemon reports until it is ready or ends, as a string. False: time-out. */
static bool read_until_ready(int from, char *text, size_t size, uint32_t max_ms)
{
    size_t length = 0;
    int64_t deadline = rsm_deadline(max_ms);
    struct pollfd readable = {.fd = from, .events = POLLIN};
    text[0] = '\0';
    while (length < size - 1 && text[0] != 'R') {
        int ready = poll(&readable, 1, rsm_deadline_left_ms(deadline));
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        ssize_t got = ready < 0 ? -1 : read(from, text + length, size - 1 - length);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
        text[length] = '\0';
    }
    return true;
}

/* Read the daemon's report: 'R' ready, 'B' another daemon has this node, else a reason. */
static enum rsm_status read_report(int from, const char *path, uint32_t max_ms)
{
    char text[512];
    if (!read_until_ready(from, text, sizeof text, max_ms)) {
        rsm_log_error("%s did not become ready within %u ms", path, (unsigned)max_ms);
        return RSM_ST_UNREACHABLE;
    }
    if (text[0] == 'R')
        return RSM_ST_OK;
    if (strcmp(text, "B") == 0)
        return RSM_ST_BUSY;
    if (text[0] == '\0') {
        rsm_log_info("%s ended before it listened, without a word", path);
        return RSM_ST_STALE;
    }
    if (strcmp(text, "X") == 0)
        rsm_log_error("cannot execute %s: the daemon of this node cannot be started", path);
    else
        rsm_log_error("%s: %s", path, text);
    return RSM_ST_UNREACHABLE;
}

/* The daemon to start: the one asked for, the one installed with this library, the configured. */
static const char *daemon_path(char beside_library[PATH_MAX])
{
    const char *given = secure_getenv("RSM_RSMD");
    if (given != NULL && *given != '\0')
        return given;
    Dl_info library;
    if (dladdr(run_detached, &library) != 0 && library.dli_fname != NULL) {
        const char *slash = strrchr(library.dli_fname, '/');
        int directory = slash == NULL ? 0 : (int)(slash - library.dli_fname) + 1;
        int length = snprintf(beside_library, PATH_MAX, "%.*s" RSM_RSMD_FROM_LIBRARY, directory,
                              library.dli_fname);
        if (directory > 0 && length < PATH_MAX && access(beside_library, X_OK) == 0)
            return beside_library;
    }
    return RSM_RSMD_PATH;
}

void rsmcore_daemon_is_silent(void)
{
    char beside_library[PATH_MAX];
    const char *given = secure_getenv("RSM_RSMD");
    rsm_log_error("%s ends at once and says nothing: it is no rsmd%s", daemon_path(beside_library),
                  given != NULL && *given != '\0' ? "; RSM_RSMD names it" : "");
}

static void prepare_command(struct daemon_command *command, const struct rsmcore_runtime *runtime)
{
    command->path = daemon_path(command->beside_library);
    command->keep_stderr = secure_getenv("RSM_LOG") != NULL;
    snprintf(command->node, sizeof command->node, "--node=%u", (unsigned)runtime->node);
    snprintf(command->directory, sizeof command->directory, "--runtime-dir=%s", runtime->directory);
    snprintf(command->ready, sizeof command->ready, "--ready-fd=%d", READY_FD);
    char *arguments[] = {(char *)(uintptr_t)command->path,
                         (char *)(uintptr_t) "--embedded",
                         command->node,
                         command->directory,
                         command->ready,
                         NULL};
    memcpy(command->arguments, arguments, sizeof arguments);
    memset(&command->no_signals, 0, sizeof command->no_signals);
}

/* The report pipe, while a daemon starts. A forked child closes its copies: with the write end
 * open, the starter would not notice that the daemon has ended. One thread at a time starts a
 * daemon. */
static int report[2] = {-1, -1};

/* Under the lock. */
static void close_end(int end)
{
    if (report[end] >= 0)
        close(report[end]);
    report[end] = -1;
}

static void after_fork_in_child(void)
{
    close_end(0);
    close_end(1);
}

/* Under its lock the ends are opened and closed. */
RSMCORE_FORK_PART(starting, RSMCORE_FORK_STARTING, after_fork_in_child);

static bool open_report(void)
{
    rsmcore_fork_lock(&starting);
    bool open = pipe2(report, O_CLOEXEC) == 0;
    for (int end = 0; open && end < 2; end++)
        report[end] = rsmcore_fd_place(report[end]);
    open = open && report[0] >= 0 && report[1] >= 0;
    rsmcore_fork_unlock(&starting);
    return open;
}

static void close_report(int end)
{
    rsmcore_fork_lock(&starting);
    close_end(end);
    rsmcore_fork_unlock(&starting);
}

enum rsm_status rsmcore_daemon_start(const struct rsmcore_runtime *runtime, uint32_t max_ms)
{
    struct daemon_command command;
    enum rsm_status status = RSM_ST_UNREACHABLE;

    prepare_command(&command, runtime);
    command.null_device = -1;
    if (!open_report() ||
        (command.null_device = rsmcore_fd_place(open("/dev/null", O_RDWR | O_CLOEXEC))) < 0) {
        rsm_log_error("cannot start %s: %m", command.path);
        status = RSM_ST_NO_RESOURCES;
        goto close_descriptors;
    }
    command.report = report[1];
    if (run_detached(&command) < 0) {
        rsm_log_error("cannot start %s: no more processes", command.path);
        goto close_descriptors;
    }
    close_report(1);
    status = read_report(report[0], command.path, max_ms);

close_descriptors:
    if (command.null_device >= 0)
        close(command.null_device);
    close_report(0);
    close_report(1);
    return status;
}
