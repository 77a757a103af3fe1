/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/tls_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "conf/conf.h"
#include "tls/control.h"

enum { END_MS = 500 };

/* ------------------------------------------------------------------ the program */

/* The one that was installed with this rsmd, wherever that is, else the configured one. */
static bool find_program(char path[PATH_MAX])
{
    char self[PATH_MAX];
    const char *given = secure_getenv("RSM_TLSD");
    if (given != NULL && *given != '\0')
        return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", self, RSM_TLSD_FROM_RSMD) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    }
    return snprintf(path, PATH_MAX, "%s/rsm-tlsd", RSM_MODULE_DIR) < PATH_MAX;
}

/* With the control socket as descriptor 3, no other descriptor but the standard ones, no signal
 * blocked or ignored, and no environment. */
static int spawn(const char *path, int control, pid_t *child)
{
    char name[] = "rsm-tlsd";
    char *const arguments[] = {name, NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control, 3);
    posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(child, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

bool rsmd_tls_child_start(struct rsmd_tls_child *child, char *why, size_t why_size)
{
    char path[PATH_MAX];
    int sockets[2];
    *child = (struct rsmd_tls_child){.control = -1, .process = -1};
    if (!find_program(path)) {
        snprintf(why, why_size, "rsm-tlsd: too long a path");
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        snprintf(why, why_size, "rsm-tlsd: %s", strerror(errno));
        return false;
    }
    int error = spawn(path, sockets[1], &child->pid);
    close(sockets[1]);
    child->control = sockets[0];
    if (error == 0)
        child->process = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (error == 0 && child->process >= 0)
        return true;
    snprintf(why, why_size, "auth = tls needs the program %s: %s", path,
             strerror(error != 0 ? error : errno));
    if (error != 0)
        child->pid = 0;
    rsmd_tls_child_end(child);
    return false;
}

void rsmd_tls_child_end(struct rsmd_tls_child *child)
{
    struct pollfd process = {.fd = child->process, .events = POLLIN};
    if (child->control >= 0)
        close(child->control);
    if (child->pid != 0 && (child->process < 0 || poll(&process, 1, END_MS) <= 0))
        kill(child->pid, SIGKILL);
    /* Where it runs as another user, rsmd may lack the privilege to kill it: then it ends later. */
    if (child->pid != 0 && (child->process < 0 || poll(&process, 1, END_MS) > 0))
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    if (child->process >= 0)
        close(child->process);
    *child = (struct rsmd_tls_child){.control = -1, .process = -1};
}

/* ------------------------------------------------------------------ files */

static const char *const keys[RSMD_TLS_FILES] = {
    [RSMD_TLS_CA] = "tls-ca",
    [RSMD_TLS_CERTIFICATE] = "tls-certificate",
    [RSMD_TLS_KEY] = "tls-key",
};

/* A descriptor; -1: *why has the reason. No other user may have access to the key. */
static int open_file(enum rsmd_conf_tls_file file, const char *path, char *why, size_t why_size)
{
    struct stat status;
    const char *wrong = NULL;
    int fd = rsmcore_fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd < 0)
        wrong = strerror(errno);
    else if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        wrong = "it is no file";
    else if (file == RSMD_TLS_KEY && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        wrong = "others than its owner can use it: chmod 600";
    else if (file == RSMD_TLS_KEY && status.st_uid != 0 && status.st_uid != geteuid())
        wrong = "it belongs to another user";
    if (wrong == NULL)
        return fd;
    snprintf(why, why_size, "%s %s: %s", keys[file], path, wrong);
    if (fd >= 0)
        close(fd);
    return -1;
}

bool rsmd_tls_child_load(const struct rsmd_tls_child *child, const struct rsmd_conf *conf,
                         uint32_t node, char *why, size_t why_size)
{
    struct rsmd_tls_control load = {.type = RSMD_TLS_LOAD, .node = node};
    int fds[RSMD_TLS_FILES] = {-1, -1, -1};
    bool well = true;
    for (int i = 0; i < RSMD_TLS_FILES && well; i++) {
        char path[RSM_PROTO_PATH_MAX];
        rsmd_conf_tls_path(conf, (enum rsmd_conf_tls_file)i, node, path);
        fds[i] = open_file((enum rsmd_conf_tls_file)i, path, why, why_size);
        well = fds[i] >= 0;
    }
    int error = well ? rsmd_tls_control_send(child->control, &load, fds, RSMD_TLS_FILES, false) : 0;
    if (error != 0)
        snprintf(why, why_size, "rsm-tlsd takes no certificates: %s", strerror(error));
    for (int i = 0; i < RSMD_TLS_FILES; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return well && error == 0;
}
