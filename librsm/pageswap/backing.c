/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/vma.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.h"

/* The kernel's own tmpfs, mounted nowhere, on which shared anonymous memory, System V segments and
 * memfds live. Other objects called "/dev/zero (deleted)" or "/SYSV..." do not have this device. */
static dev_t kernel_tmpfs(void)
{
    static _Atomic dev_t known;
    dev_t device = atomic_load_explicit(&known, memory_order_relaxed);
    if (device != 0)
        return device;
    int fd = rsmcore_fd_place(memfd_create("rsm", MFD_CLOEXEC));
    if (fd < 0)
        return 0;
    struct stat status;
    if (fstat(fd, &status) == 0)
        device = status.st_dev;
    close(fd);
    atomic_store_explicit(&known, device, memory_order_relaxed);
    return device;
}

/* The file system type in a line of mountinfo, which is the word behind " - ", if the line is about
 * this device, else NULL. The device is the third word. */
static char *type_if_device(char *line, dev_t device)
{
    char *word = line;
    for (int skip = 0; skip < 2 && word != NULL; skip++) {
        word = strchr(word, ' ');
        if (word != NULL)
            word++;
    }
    if (word == NULL)
        return NULL;
    char *end;
    unsigned long device_major = strtoul(word, &end, 10);
    if (*end != ':')
        return NULL;
    unsigned long device_minor = strtoul(end + 1, &end, 10);
    if (device_major != major(device) || device_minor != minor(device))
        return NULL;
    char *type = strstr(end, " - ");
    if (type == NULL)
        return NULL;
    type += 3;
    type[strcspn(type, " ")] = '\0';
    return type;
}

/* Name of the type of the file system on this device, "" if it is not mounted here. Mounts are
 * looked through instead of asking statfs() about the path, as the file may be deleted. */
static void file_system_type(dev_t device, char type[32])
{
    struct rsmcore_procfile file;
    char line[2048];
    type[0] = '\0';
    if (!rsmcore_procfile_open(&file, AT_FDCWD, "/proc/self/mountinfo"))
        return;
    while (type[0] == '\0' && rsmcore_procfile_line(&file, line, sizeof line)) {
        const char *found = type_if_device(line, device);
        if (found != NULL)
            strncat(type, found, 31);
    }
    rsmcore_procfile_close(&file);
}

enum node_type {
    NODE_REGULAR_OR_GONE,
    NODE_DEVICE,
    NODE_ZERO_DEVICE, /* /dev/zero, which is plain memory */
};

static enum node_type node_type_of(const struct rsmcore_vma *vma)
{
    struct stat status;
    if (stat(vma->path, &status) != 0 || status.st_ino != vma->inode || S_ISREG(status.st_mode))
        return NODE_REGULAR_OR_GONE;
    bool zero = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 5);
    return zero ? NODE_ZERO_DEVICE : NODE_DEVICE;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Memory of huge pages that is not a file on a mounted hugetlbfs. */
static bool is_unmounted_hugetlb(const struct rsmcore_vma *vma)
{
    return begins_with(vma->path, "/anon_hugepage") || begins_with(vma->path, "/memfd:") ||
           begins_with(vma->path, "/SYSV");
}

static enum rsmcore_backing private_backing(const struct rsmcore_vma *vma)
{
    if (vma->inode == 0 || vma->device == kernel_tmpfs())
        return RSMCORE_BACKING_PRIVATE;
    char type[32];
    file_system_type(vma->device, type);
    if (vma->path[0] != '/' || strcmp(type, "hugetlbfs") == 0 ||
        (type[0] == '\0' && is_unmounted_hugetlb(vma)))
        return RSMCORE_BACKING_UNSUITABLE;
    return node_type_of(vma) == NODE_DEVICE ? RSMCORE_BACKING_UNSUITABLE : RSMCORE_BACKING_PRIVATE;
}

static enum rsmcore_backing shared_backing(const struct rsmcore_vma *vma)
{
    if (vma->device == kernel_tmpfs())
        return RSMCORE_BACKING_MEMORY;
    char type[32];
    file_system_type(vma->device, type);
    if (vma->path[0] != '/' || type[0] == '\0' || strcmp(type, "hugetlbfs") == 0 ||
        strcmp(type, "devtmpfs") == 0 || node_type_of(vma) != NODE_REGULAR_OR_GONE)
        return RSMCORE_BACKING_UNSUITABLE;
    bool in_memory = strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0;
    return in_memory ? RSMCORE_BACKING_MEMORY : RSMCORE_BACKING_FILE;
}

enum rsmcore_backing rsmcore_backing_of(const struct rsmcore_vma *vma)
{
    return vma->shared ? shared_backing(vma) : private_backing(vma);
}

bool rsmcore_backing_is_sysv(const struct rsmcore_vma *vma)
{
    return vma->shared && vma->device == kernel_tmpfs() && begins_with(vma->path, "/SYSV");
}
