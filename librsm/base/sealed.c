/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sealed.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

bool rsm_is_sealed_memory(int fd, uint64_t length)
{
    struct stat file;
    struct statfs system;
    /* The seal first: once it is there the size can only grow. And only memory has seals, so no
     * server of a file system can keep the later calls waiting. */
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & RSM_SEALS_NEEDED) == RSM_SEALS_NEEDED && fstat(fd, &file) == 0 &&
           S_ISREG(file.st_mode) && (uint64_t)file.st_size >= length && fstatfs(fd, &system) == 0 &&
           system.f_type == TMPFS_MAGIC;
}
