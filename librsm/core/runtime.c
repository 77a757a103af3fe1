/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/status.h"

#ifndef RSM_SYSTEM_RUNTIME_DIR
#define RSM_SYSTEM_RUNTIME_DIR "/run/rsm"
#endif

uint32_t rsmcore_node_id_parse(const char *text)
{
    char *end;
    errno = 0;
    unsigned long id = strtoul(text, &end, 10);
    bool valid = end != text && *end == '\0' && *text >= '0' && *text <= '9' && errno == 0 &&
                 id >= 1 && id <= RSM_NODE_ID_MAX;
    return valid ? (uint32_t)id : 0;
}

static bool set_directory(struct rsmcore_runtime *runtime, const char *format, const char *text,
                          unsigned number)
{
    char *into = runtime->directory;
    size_t size = sizeof runtime->directory;
    int length = text != NULL ? snprintf(into, size, "%s%s", text, format)
                              : snprintf(into, size, "%s%u", format, number);
    return length > 0 && (size_t)length < size;
}

/* The node whose daemon has its socket in the directory, the lowest if there are several; 0: none.
 */
static uint32_t node_listening_in(const char *directory)
{
    DIR *entries = opendir(directory);
    const struct dirent *entry;
    uint32_t lowest = 0;
    if (entries == NULL)
        return 0;
    while ((entry = readdir(entries)) != NULL) {
        char number[4] = "";
        int end = 0;
        if (sscanf(entry->d_name, "node-%2[0-9].sock%n", number, &end) != 1 || end == 0 ||
            entry->d_name[end] != '\0')
            continue;
        uint32_t node = rsmcore_node_id_parse(number);
        if (node != 0 && (lowest == 0 || node < lowest))
            lowest = node;
    }
    closedir(entries);
    return lowest;
}

/* Whether a system rsmd is installed to listen: its directory is there and holds a socket, of the
 * node asked for if one was. */
static bool use_system_directory(struct rsmcore_runtime *runtime, bool any_node)
{
    char path[RSM_PROTO_PATH_MAX];
    struct stat status;
    uint32_t node = any_node ? node_listening_in(RSM_SYSTEM_RUNTIME_DIR) : runtime->node;
    set_directory(runtime, "", RSM_SYSTEM_RUNTIME_DIR, 0);
    rsmcore_runtime_socket(runtime, node, path);
    if (node == 0 || stat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    runtime->node = node;
    return true;
}

enum rsm_status rsmcore_runtime_find(struct rsmcore_runtime *runtime)
{
    memset(runtime, 0, sizeof *runtime);
    const char *node = secure_getenv("RSM_NODE");
    runtime->node = node == NULL ? 1 : rsmcore_node_id_parse(node);
    if (runtime->node == 0) {
        rsm_log_error("RSM_NODE=%s is not a node id (1 to %d)", node, RSM_NODE_ID_MAX);
        return RSM_ST_INVALID;
    }
    const char *given = secure_getenv("RSM_RUNTIME_DIR");
    const char *session = secure_getenv("XDG_RUNTIME_DIR");
    bool fits;
    if (given != NULL && *given != '\0') {
        fits = set_directory(runtime, "", given, 0);
    } else if (use_system_directory(runtime, node == NULL)) {
        runtime->system = true;
        return RSM_ST_OK;
    } else if (session != NULL && *session == '/') {
        fits = set_directory(runtime, "/rsm", session, 0);
    } else {
        fits = set_directory(runtime, "/tmp/rsm-", NULL, (unsigned)geteuid());
    }
    if (!fits) {
        rsm_log_error("runtime directory name is too long for a socket: at most %zu characters",
                      sizeof runtime->directory - 1);
        return RSM_ST_INVALID;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_runtime_prepare(const struct rsmcore_runtime *runtime)
{
    struct stat status;
    if (mkdir(runtime->directory, 0700) < 0 && errno != EEXIST) {
        rsm_log_error("cannot create runtime directory %s: %m", runtime->directory);
        return rsmcore_status_from_errno(errno);
    }
    if (lstat(runtime->directory, &status) < 0)
        return RSM_ST_DENIED;
    bool ours = status.st_uid == geteuid() || status.st_uid == 0;
    if (!S_ISDIR(status.st_mode) || !ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        rsm_log_error("runtime directory %s is not safe: it must be a directory that only this "
                      "user can write",
                      runtime->directory);
        return RSM_ST_DENIED;
    }
    return RSM_ST_OK;
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
