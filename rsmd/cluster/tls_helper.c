/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/tls_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "conf/conf.h"
#include "tls/control.h"

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

bool rsmd_tls_helper_start(struct rsm_helper *helper, char *why, size_t why_size)
{
    char path[PATH_MAX];
    *helper = RSM_HELPER_NONE;
    if (!find_program(path)) {
        snprintf(why, why_size, "rsm-tlsd: too long a path");
        return false;
    }
    int error = rsm_helper_start(helper, path, NULL);
    if (error != 0)
        snprintf(why, why_size, "auth = tls needs the program %s: %s", path, strerror(error));
    return error == 0;
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

bool rsmd_tls_helper_load(const struct rsm_helper *helper, const struct rsmd_conf *conf,
                          uint32_t node, char *why, size_t why_size)
{
    struct rsmd_tls_control load = {.type = RSMD_TLS_LOAD, .node = node};
    struct rsm_packet_fds fds = {.count = 0};
    int fd = 0, error = 0;
    while (fds.count < RSMD_TLS_FILES && fd >= 0) {
        char path[RSM_PROTO_PATH_MAX];
        enum rsmd_conf_tls_file file = (enum rsmd_conf_tls_file)fds.count;
        rsmd_conf_tls_path(conf, file, node, path);
        if ((fd = open_file(file, path, why, why_size)) >= 0)
            fds.fds[fds.count++] = fd;
    }
    if (fd >= 0 && (error = rsmd_tls_control_send(helper->control, &load, &fds)) != 0)
        snprintf(why, why_size, "rsm-tlsd takes no certificates: %s", strerror(error));
    rsm_packet_fds_close(&fds);
    return fd >= 0 && error == 0;
}
