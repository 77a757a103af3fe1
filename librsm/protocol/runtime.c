/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/status.h"
#include "protocol/environment.h"
#include "protocol/trust.h"

enum {
    WHY_MAX = 512,
    START_MS = 10000,   /* for the system's daemon to start in */
    START_LOOK_MS = 20, /* between two looks for it */
};

uint32_t rsmcore_node_id_parse(const char *text)
{
    char *end;
    errno = 0;
    unsigned long id = strtoul(text, &end, 10);
    bool valid = end != text && *end == '\0' && *text >= '0' && *text <= '9' && errno == 0 &&
                 id >= 1 && id <= RSM_NODE_ID_MAX;
    return valid ? (uint32_t)id : 0;
}

/* The node of a name `node-N.SUFFIX`, or 0. */
static uint32_t node_of_name(const char *name, const char *suffix)
{
    static const char prefix[] = "node-";
    char number[8];
    const char *dot = strchr(name, '.');
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || dot == NULL)
        return 0;
    size_t digits = (size_t)(dot - name) - (sizeof prefix - 1);
    bool wanted = suffix != NULL ? strcmp(dot + 1, suffix) == 0
                                 : strcmp(dot, ".sock") == 0 || strcmp(dot, ".lock") == 0;
    if (!wanted || digits >= sizeof number)
        return 0;
    memcpy(number, name + sizeof prefix - 1, digits);
    number[digits] = '\0';
    return rsmcore_node_id_parse(number);
}

bool rsmcore_runtime_each(const struct rsmcore_runtime *runtime, const char *suffix,
                          void (*visit)(void *context, uint32_t node), void *context)
{
    int fd = open(runtime->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        fd = rsmcore_fd_above_stdio(fd);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return false;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        uint32_t node = node_of_name(entry->d_name, suffix);
        if (node != 0)
            visit(context, node);
    }
    closedir(directory);
    return true;
}

static bool set_directory(struct rsmcore_runtime *runtime, const char *format, const char *text,
                          unsigned number)
{
    char *into = runtime->directory;
    size_t size = sizeof runtime->directory;
    int length = text != NULL ? snprintf(into, size, "%s%s", text, format)
                              : snprintf(into, size, "%s%u", format, number);
    if (length > 0 && (size_t)length < size)
        return true;
    rsm_log_error("runtime directory name is too long for a socket: at most %zu characters",
                  size - 1);
    return false;
}

bool rsmcore_runtime_is_configured(const struct rsmcore_runtime *runtime, uint32_t node)
{
    char path[RSM_PROTO_PATH_MAX];
    struct stat lock;
    rsmcore_runtime_lock(runtime, node, path);
    return lstat(path, &lock) == 0 && S_ISREG(lock.st_mode) && lock.st_size > 0 &&
           rsmcore_trust_user(lock.st_uid);
}

/* Whether a system daemon of the node listens in the directory, or is to. */
static bool is_served(const struct rsmcore_runtime *runtime, uint32_t node)
{
    char path[RSM_PROTO_PATH_MAX];
    struct stat status;
    rsmcore_runtime_socket(runtime, node, path);
    return (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) ||
           rsmcore_runtime_is_configured(runtime, node);
}

/* The lowest node that is served in a directory. */
struct lowest {
    const struct rsmcore_runtime *runtime;
    uint32_t node; /* 0: none yet */
};

static void keep_lowest(void *context, uint32_t node)
{
    struct lowest *lowest = context;
    if ((lowest->node == 0 || node < lowest->node) && is_served(lowest->runtime, node))
        lowest->node = node;
}

/* Whether the directory has the node that is looked for, or any; then `node` is set. */
static bool find_served(struct rsmcore_runtime *runtime, bool any_node)
{
    struct lowest lowest = {.runtime = runtime};
    if (!any_node)
        keep_lowest(&lowest, runtime->node);
    else if (!rsmcore_runtime_each(runtime, NULL, keep_lowest, &lowest))
        rsm_log_warning("the system's runtime directory %s cannot be read: %m", runtime->directory);
    if (lowest.node == 0)
        return false;
    runtime->node = lowest.node;
    return true;
}

/* The connection to the service manager's socket, or -1. A forked child has no use for its copy,
 * with which the connection would outlive the parent's. */
static int service_socket = -1;

static void after_fork_in_child(void)
{
    if (service_socket >= 0)
        close(service_socket);
    service_socket = -1;
}

/* Under its lock the socket is opened and closed. */
RSMCORE_FORK_PART(service, RSMCORE_FORK_SERVICE, after_fork_in_child);

static int connect_service(const char *path)
{
    rsmcore_fork_lock(&service);
    int socket = service_socket = rsmcore_trust_connect(path);
    rsmcore_fork_unlock(&service);
    return socket;
}

static void disconnect_service(int socket)
{
    rsmcore_fork_lock(&service);
    service_socket = -1;
    close(socket);
    rsmcore_fork_unlock(&service);
}

/* Wait until a node is available, or the acceptor hangs up, because the daemon cannot start. */
static void await_any_node(const struct rsmcore_runtime *runtime, int socket)
{
    struct rsmcore_runtime found = *runtime;
    int64_t until = rsm_deadline(START_MS);
    struct pollfd hangup = {.fd = socket};
    while (!find_served(&found, true) && !rsm_deadline_has_passed(until) &&
           poll(&hangup, 1, START_LOOK_MS) <= 0)
        continue;
}

/* No node is there: have the service manager start the daemon, if it listens for that. */
static void start_service(const struct rsmcore_runtime *runtime)
{
    char path[RSM_PROTO_PATH_MAX];
    struct rsmcore_runtime any = *runtime;
    struct stat status;
    snprintf(path, sizeof path, "%s/" RSMCORE_SERVICE_SOCKET, runtime->directory);
    if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode) || find_served(&any, true))
        return;
    int socket = connect_service(path);
    if (socket < 0)
        return;
    await_any_node(runtime, socket);
    disconnect_service(socket);
}

/* The system has nodes, and the one asked for is none of them. A daemon of the user's own would
 * never meet them: two nodes meet in one directory. */
static enum rsm_status refuse_node(const struct rsmcore_runtime *runtime, uint32_t lowest)
{
    rsm_log_error(
        "there is no node %u in %s, where this host's system daemon is node %u: leave "
        "RSM_NODE unset to use that; to have nodes of your own beside it, set "
        "RSM_RUNTIME_DIR to the same directory of yours for all programs that are to meet",
        (unsigned)runtime->node, runtime->directory, (unsigned)lowest);
    return RSM_ST_UNREACHABLE;
}

/* Take the system's directory if it has any daemon's node, of which the lowest is chosen if none
 * was asked for: whether or not its daemon runs now, because a process is not to change its node
 * when a daemon is restarted. RSM_ST_NOT_FOUND: the system has no node. */
static enum rsm_status use_system_directory(struct rsmcore_runtime *runtime, bool any_node)
{
    char why[WHY_MAX];
    switch (rsmcore_trust_directory(rsmcore_trust_system_directory, why, sizeof why)) {
    case RSM_ST_OK:
        break;
    case RSM_ST_NOT_FOUND:
        return RSM_ST_NOT_FOUND;
    default:
        rsm_log_warning("the system's runtime directory is not used: %s", why);
        return RSM_ST_NOT_FOUND;
    }
    if (!set_directory(runtime, "", rsmcore_trust_system_directory, 0))
        return RSM_ST_NOT_FOUND;
    if (!find_served(runtime, any_node)) {
        start_service(runtime);
        struct rsmcore_runtime any = *runtime;
        if (!find_served(&any, true))
            return RSM_ST_NOT_FOUND;
        if (!find_served(runtime, any_node))
            return refuse_node(runtime, any.node);
    }
    runtime->system = true;
    return RSM_ST_OK;
}

/* XDG_RUNTIME_DIR, if it can be this process's: su(1) and sudo(8) may leave that of another user.
 */
static const char *session_directory(void)
{
    char why[WHY_MAX];
    const char *session = secure_getenv("XDG_RUNTIME_DIR");
    if (session == NULL || *session != '/')
        return NULL;
    switch (rsmcore_trust_directory(session, why, sizeof why)) {
    case RSM_ST_OK:
        return session;
    case RSM_ST_NOT_FOUND:
        rsm_log_warning("XDG_RUNTIME_DIR is not used: there is no %s", session);
        return NULL;
    default:
        rsm_log_warning("XDG_RUNTIME_DIR is not used: %s", why);
        return NULL;
    }
}

/* Check the directory that was chosen, if it is there already. @p remedy: what the log says against
 * one that must not be used. */
static enum rsm_status check_chosen(const struct rsmcore_runtime *runtime, const char *remedy)
{
    char why[WHY_MAX];
    enum rsm_status status = rsmcore_trust_directory(runtime->directory, why, sizeof why);
    if (status != RSM_ST_DENIED)
        return RSM_ST_OK;
    rsm_log_error("runtime directory %s; %s, or name another one by RSM_RUNTIME_DIR", why, remedy);
    return status;
}

static bool is_system_directory(const char *path)
{
    struct stat given, system;
    return lstat(path, &given) == 0 && lstat(rsmcore_trust_system_directory, &system) == 0 &&
           given.st_dev == system.st_dev && given.st_ino == system.st_ino;
}

static enum rsm_status use_given_directory(struct rsmcore_runtime *runtime, const char *given)
{
    if (!set_directory(runtime, "", given, 0))
        return RSM_ST_INVALID;
    runtime->system = is_system_directory(given);
    return check_chosen(runtime, "remove it");
}

/* The directory that the login manager makes as the user's XDG_RUNTIME_DIR. Only root can make
 * it. */
static bool use_login_directory(struct rsmcore_runtime *runtime)
{
    char path[32], why[WHY_MAX];
    struct stat status;
    snprintf(path, sizeof path, "/run/user/%u", (unsigned)geteuid());
    return rsmcore_trust_directory(path, why, sizeof why) == RSM_ST_OK &&
           lstat(path, &status) == 0 && status.st_uid == geteuid() &&
           set_directory(runtime, "/rsm", path, 0) &&
           rsmcore_trust_directory(runtime->directory, why, sizeof why) != RSM_ST_DENIED;
}

/* In a directory that all may write, the first user to take the name has it. If that is another
 * user, all processes of this user choose the same next place. The home directory does not serve:
 * several hosts may share it. */
static enum rsm_status use_common_directory(struct rsmcore_runtime *runtime)
{
    char why[WHY_MAX];
    if (!set_directory(runtime, "/tmp/rsm-", NULL, (unsigned)geteuid()))
        return RSM_ST_INVALID;
    if (rsmcore_trust_directory(runtime->directory, why, sizeof why) != RSM_ST_DENIED)
        return RSM_ST_OK;
    const struct rsmcore_runtime taken = *runtime;
    if (use_login_directory(runtime)) {
        rsm_log_warning("runtime directory %s; %s is used instead", why, runtime->directory);
        return RSM_ST_OK;
    }
    *runtime = taken;
    return check_chosen(runtime, "only root and its owner can remove it");
}

static enum rsm_status use_private_directory(struct rsmcore_runtime *runtime)
{
    const char *session = session_directory();
    if (session == NULL)
        return use_common_directory(runtime);
    return set_directory(runtime, "/rsm", session, 0) ? check_chosen(runtime, "remove it")
                                                      : RSM_ST_INVALID;
}

enum rsm_status rsmcore_runtime_find(struct rsmcore_runtime *runtime)
{
    memset(runtime, 0, sizeof *runtime);
    rsmcore_environment_check_once();
    const char *node = secure_getenv("RSM_NODE");
    runtime->node = node == NULL ? 1 : rsmcore_node_id_parse(node);
    if (runtime->node == 0) {
        rsm_log_error("RSM_NODE=%s is not a node id (1 to %d)", node, RSM_NODE_ID_MAX);
        return RSM_ST_INVALID;
    }
    const char *given = secure_getenv("RSM_RUNTIME_DIR");
    if (given != NULL && *given != '\0')
        return use_given_directory(runtime, given);
    enum rsm_status status = use_system_directory(runtime, node == NULL);
    return status == RSM_ST_NOT_FOUND ? use_private_directory(runtime) : status;
}

enum rsm_status rsmcore_runtime_prepare(const struct rsmcore_runtime *runtime)
{
    char why[WHY_MAX];
    if (mkdir(runtime->directory, 0700) < 0 && errno != EEXIST) {
        rsm_log_error("cannot create runtime directory %s: %m", runtime->directory);
        return rsmcore_status_from_errno(errno);
    }
    enum rsm_status status = rsmcore_trust_directory(runtime->directory, why, sizeof why);
    if (status != RSM_ST_OK)
        rsm_log_error("runtime directory %s", status == RSM_ST_DENIED ? why : "has gone");
    return status == RSM_ST_OK ? RSM_ST_OK : RSM_ST_DENIED;
}

static void name_below(const struct rsmcore_runtime *runtime, uint32_t node, const char *suffix,
                       char *path)
{
    snprintf(path, RSM_PROTO_PATH_MAX, "%s/node-%u.%s", runtime->directory, (unsigned)node, suffix);
}

void rsmcore_runtime_socket(const struct rsmcore_runtime *runtime, uint32_t node, char *path)
{
    name_below(runtime, node, "sock", path);
}

void rsmcore_runtime_lock(const struct rsmcore_runtime *runtime, uint32_t node, char *path)
{
    name_below(runtime, node, "lock", path);
}
