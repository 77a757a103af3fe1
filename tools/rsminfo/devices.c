/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "info.h"

enum { PATH_BYTES = 512, GIDS_SHOWN = 4 };

/* Whether each of its groups of digits is 0: an entry of the table that is not used. */
static bool is_unused(const char *gid)
{
    return strspn(gid, "0:") == strlen(gid);
}

static void show_gids(const char *port)
{
    char path[PATH_BYTES], gid[64], type[32], device[32];
    for (int i = 0, shown = 0; i < 256 && shown < GIDS_SHOWN; i++) {
        snprintf(path, sizeof path, "%s/gids/%d", port, i);
        if (!info_first_line(path, gid, sizeof gid))
            return;
        if (is_unused(gid))
            continue;
        snprintf(path, sizeof path, "%s/gid_attrs/types/%d", port, i);
        if (!info_first_line(path, type, sizeof type))
            strcpy(type, "-");
        snprintf(path, sizeof path, "%s/gid_attrs/ndevs/%d", port, i);
        if (!info_first_line(path, device, sizeof device))
            strcpy(device, "-");
        info_line("", "  GID %d: %s, %s, %s", i, gid, type, device);
        shown++;
    }
}

/* @p port: a directory like /sys/class/infiniband/mlx5_0/ports/1. */
static void show_port(const char *port)
{
    char path[PATH_BYTES], state[32], rate[32], kind[32];
    const char *device = strstr(port, "infiniband/") + strlen("infiniband/");
    snprintf(path, sizeof path, "%s/state", port);
    if (!info_first_line(path, state, sizeof state))
        strcpy(state, "-");
    snprintf(path, sizeof path, "%s/rate", port);
    if (!info_first_line(path, rate, sizeof rate))
        strcpy(rate, "-");
    snprintf(path, sizeof path, "%s/link_layer", port);
    if (!info_first_line(path, kind, sizeof kind))
        strcpy(kind, "-");
    info_line("", "%.*s port %s: %s, %s, %s", (int)strcspn(device, "/"), device,
              strrchr(port, '/') + 1, state, kind, rate);
    show_gids(port);
}

/* Files that a user needs to open. */
static void show_access(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            info_line("", "%s: %s", found.gl_pathv[i],
                      access(found.gl_pathv[i], R_OK | W_OK) == 0 ? "usable" : strerror(errno));
    globfree(&found);
}

static void show_ports(void)
{
    glob_t ports;
    bool any = glob("/sys/class/infiniband/*/ports/*", 0, NULL, &ports) == 0;
    info_line("RDMA", "%s", any ? "" : "no device");
    for (size_t i = 0; any && i < ports.gl_pathc; i++)
        show_port(ports.gl_pathv[i]);
    globfree(&ports);
    show_access("/dev/infiniband/rdma_cm");
    show_access("/dev/infiniband/uverbs*");
}

static void show_bridges(void)
{
    glob_t found;
    bool any = glob("/dev/rsm_ntb*", 0, NULL, &found) == 0;
    globfree(&found);
    info_line("NTB", "%s",
              access("/sys/module/rsm_ntb", F_OK) != 0 ? "the module rsm_ntb is not loaded"
              : any                                    ? ""
                                                       : "the module rsm_ntb has no device");
    show_access("/dev/rsm_ntb*");
}

void info_devices(void)
{
    show_ports();
    show_bridges();
}
