/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "info.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define NEW_FROM_DEVICE _IO(0xAA, 0x00) /* USERFAULTFD_IOC_NEW, of kernel 6.1 */
#define PAGEMAP_SCAN_ANY                                                                           \
    _IOWR(                                                                                         \
        'f', 16, struct { uint64_t words[12]; }) /* PAGEMAP_SCAN, of kernel 6.7 */

/* A setting of the kernel, or "-" where there is none. */
static const char *setting(const char *path, char text[32])
{
    return info_first_line(path, text, 32) ? text : "-";
}

/* Of several choices, the one in brackets. */
static const char *choice(const char *path, char text[128])
{
    if (!info_first_line(path, text, 128))
        return "-";
    char *begin = strchr(text, '[');
    char *end = begin != NULL ? strchr(begin, ']') : NULL;
    if (end == NULL)
        return text;
    *end = '\0';
    return begin + 1;
}

/* ------------------------------------------------------------------ userfaultfd */

static const char *outcome(int fd)
{
    if (fd < 0)
        return strerror(errno);
    close(fd);
    return "yes";
}

static int from_device(void)
{
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0)
        return -1;
    int fd = ioctl(device, NEW_FROM_DEVICE, O_CLOEXEC);
    int error = errno;
    close(device);
    errno = error;
    return fd;
}

static void show_features(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
        info_line("", "features: unknown (%s)", strerror(errno));
    else
        info_line("", "features: 0x%llx%s", (unsigned long long)api.features,
                  (api.features & UFFD_FEATURE_PAGEFAULT_FLAG_WP) != 0 ? ", write protection" : "");
    if (fd >= 0)
        close(fd);
}

static void show_userfaultfd(void)
{
    char text[32];
    struct stat device;
    info_line("userfaultfd", "of this user alone: %s; of system calls: %s",
              outcome((int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)),
              outcome((int)syscall(SYS_userfaultfd, O_CLOEXEC)));
    info_line("", "vm.unprivileged_userfaultfd: %s",
              setting("/proc/sys/vm/unprivileged_userfaultfd", text));
    if (stat("/dev/userfaultfd", &device) == 0)
        info_line("", "/dev/userfaultfd: mode %04o, user %u, group %u, usable: %s",
                  (unsigned)device.st_mode & 07777, (unsigned)device.st_uid,
                  (unsigned)device.st_gid, outcome(from_device()));
    else
        info_line("", "/dev/userfaultfd: %s", strerror(errno));
    show_features();
}

/* ------------------------------------------------------------------ the rest */

static void show_pagemap_scan(void)
{
    static const struct {
        uint64_t words[12];
    } nothing; /* a request that no kernel accepts, so that it says whether it knows it */
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    errno = 0;
    bool known = fd >= 0 && (ioctl(fd, PAGEMAP_SCAN_ANY, &nothing) == 0 || errno != ENOTTY);
    info_line("PAGEMAP_SCAN", "%s", fd < 0 ? strerror(errno) : known ? "yes" : "no");
    if (fd >= 0)
        close(fd);
}

static void show_memfd(void)
{
    char text[32];
    int fd = memfd_create("rsminfo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool sealed = fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
    info_line("memfd", "sealing: %s; vm.memfd_noexec: %s", sealed ? "yes" : strerror(errno),
              setting("/proc/sys/vm/memfd_noexec", text));
    if (fd >= 0)
        close(fd);
}

static void limit_text(rlim_t value, char text[24])
{
    if (value == RLIM_INFINITY)
        snprintf(text, 24, "no limit");
    else
        snprintf(text, 24, "%ju", (uintmax_t)value);
}

static void show_limit(const char *label, int resource)
{
    struct rlimit limit;
    char soft[24], hard[24];
    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return;
    limit_text(limit.rlim_cur, soft);
    limit_text(limit.rlim_max, hard);
    info_line(label, "%s, at most %s", soft, hard);
}

void info_kernel(void)
{
    struct utsname about;
    char text[128];
    if (uname(&about) == 0)
        info_line("kernel", "%s %s, %s, %ld processors, pages of %ld bytes", about.sysname,
                  about.release, about.machine, sysconf(_SC_NPROCESSORS_ONLN),
                  sysconf(_SC_PAGESIZE));
    info_line("memory", "%lld MiB, transparent huge pages of shared memory: %s",
              (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / (1 << 20),
              choice("/sys/kernel/mm/transparent_hugepage/shmem_enabled", text));
    show_userfaultfd();
    show_pagemap_scan();
    show_memfd();
    show_limit("memlock", RLIMIT_MEMLOCK);
    show_limit("descriptors", RLIMIT_NOFILE);
}
