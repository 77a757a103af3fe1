/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What kind of memory a mapping is. */
#pragma once

#include "pageswap/vma.h"

enum rsmcore_backing {
    RSMCORE_BACKING_PRIVATE,    /**< anonymous, or a private map of a regular file */
    RSMCORE_BACKING_MEMORY,     /**< shared: System V, anonymous, memfd, file on tmpfs */
    RSMCORE_BACKING_FILE,       /**< shared: a regular file on another file system */
    RSMCORE_BACKING_UNSUITABLE, /**< device memory, huge pages, kernel objects */
};

enum rsmcore_backing rsmcore_backing_of(const struct rsmcore_vma *vma);

/** Whether the mapping is a System V segment; its inode is then the segment's id. */
bool rsmcore_backing_is_sysv(const struct rsmcore_vma *vma);
