/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/node/chardev.h"

#include <errno.h>
#include <fcntl.h>
#include <rsm_ntb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"

enum { REFUSED_BYTES = 256 };

/* A descriptor of the device without a role; -1 with errno. */
int chardev_open(const char *name)
{
    return rsmcore_fd_above_stdio(open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/* What the module says of a bridge that it has not taken. */
static const char *refused_by_module(char *text, int size)
{
    FILE *file = fopen("/sys/module/rsm_ntb/parameters/refused", "re");
    char *line = file != NULL ? fgets(text, size, file) : NULL;
    if (file != NULL)
        fclose(file);
    if (line == NULL || line[0] == '\n')
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Which part is missing is seen in sysfs. */
static const char *what_is_missing(char *text, int size)
{
    bool bus = access("/sys/bus/ntb/devices/.", F_OK) == 0;
    if (access("/sys/module/rsm_ntb", F_OK) < 0)
        return bus ? "the kernel module is not loaded: modprobe rsm_ntb; if there is none, install "
                     "rsm-ntb as rsm-ntb(7) says"
                   : "the kernel has no ntb bus, and the module rsm_ntb is not loaded: modprobe "
                     "rsm_ntb brings both; if there is none, install rsm-ntb as rsm-ntb(7) says";
    const char *refused = refused_by_module(text, size);
    if (refused != NULL)
        return refused;
    return "the kernel has found no such bridge: load the hardware's driver, and see what the "
           "kernel's "
           "log says of ntb and rsm_ntb";
}

void chardev_explain_open(const char *name, int error)
{
    char text[REFUSED_BYTES];
    const char *what =
        error == ENOENT ? what_is_missing(text, sizeof text)
        : error == EACCES || error == EPERM
            ? "rsmd must run as root, or in the group of the device (60-rsm-ntb.rules: rsm-ntb)"
        : error == ENODEV || error == ENXIO ? "its hardware driver has gone: load it again"
                                            : "see rsm-ntb(7)";
    rsm_log_error("ntb: cannot open %s (%s): %s", name, strerror(error), what);
}

bool chardev_is_of_this_version(const char *name, int fd)
{
    struct rsm_ntb_info info;
    memset(&info, 0, sizeof info);
    if (ioctl(fd, RSM_NTB_INFO, &info) < 0) {
        rsm_log_error("ntb: %s is no device of the module rsm_ntb, or of another version: install "
                      "the rsm-ntb module of this release (%s)",
                      name, strerror(errno));
        return false;
    }
    if (info.abi != RSM_NTB_ABI) {
        rsm_log_error("ntb: %s: the module rsm_ntb has interface version %u, and this program "
                      "knows %u: install the module of this release and load it anew",
                      name, (unsigned)info.abi, RSM_NTB_ABI);
        return false;
    }
    if ((info.caps & RSM_NTB_CAP_UNTRANSLATED) != 0)
        rsm_log_warning("ntb: %s (%s): no IOMMU translates what the other host accesses: it may "
                        "reach all memory of this host. Enable the IOMMU unless you trust it",
                        name, info.device);
    return true;
}

/* Why the other host is out of reach, if the module knows; one line, or "". */
void chardev_trouble(const char *name, int fd, char *text, size_t size)
{
    struct rsm_ntb_trouble trouble;
    text[0] = '\0';
    if (ioctl(fd, RSM_NTB_TROUBLE, &trouble) == 0 && trouble.text[0] != '\0')
        snprintf(text, size, "ntb: %s: %.*s", name, (int)sizeof trouble.text, trouble.text);
}

void chardev_report_trouble(const char *name, int fd)
{
    char text[sizeof(struct rsm_ntb_trouble) + 64];
    chardev_trouble(name, fd, text, sizeof text);
    if (text[0] != '\0')
        rsm_log_error("%s", text);
}

/* Why nothing can be pinned, NULL if something can. The module's own reason is in the kernel's
 * log. */
static const char *no_pinning(const struct rsm_ntb_info *info)
{
    char text[16] = "";
    if ((info->caps & RSM_NTB_CAP_PIN) != 0 && info->pin_size > 0)
        return NULL;
    FILE *file = fopen("/sys/module/rsm_ntb/parameters/pin_mib", "re");
    if (file == NULL)
        return "this module rsm_ntb cannot: install the one of this release and load it anew";
    bool wanted = fgets(text, sizeof text, file) != NULL && strtoul(text, NULL, 10) > 0;
    fclose(file);
    return wanted
               ? "no IOMMU translates for this bridge in a way that the module can use: boot with "
                 "intel_iommu=on or amd_iommu=on and without iommu=pt; the kernel's log has more "
                 "behind \"pin_mib is ignored\""
               : "the module has no room for it: load rsm_ntb with pin_mib=N, in MiB";
}

void chardev_report_pinning(const char *name, int fd, const struct ntb_options *options)
{
    struct rsm_ntb_info info;
    memset(&info, 0, sizeof info);
    if (options->pin == 0 || ioctl(fd, RSM_NTB_INFO, &info) < 0)
        return;
    const char *why = no_pinning(&info);
    if (why != NULL)
        rsm_log_warning("ntb: %s: option pin has no effect, segments lie in the pool alone: %s",
                        name, why);
    else
        rsm_log_info("ntb: %s: %llu MiB of segments can be pinned in place", name,
                     (unsigned long long)(info.pin_size >> 20));
}
