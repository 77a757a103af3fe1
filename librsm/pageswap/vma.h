/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is mapped where: /proc/PID/maps. Allocates nothing; works in signal handlers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/procfile.h"
#include "rsm/transport.h"

/** One mapping. */
struct rsmcore_vma {
    uintptr_t start, end;
    int protection;  /**< PROT_* */
    bool shared;     /**< MAP_SHARED */
    uint64_t offset; /**< of start in the file, bytes */
    dev_t device;    /**< of the file */
    uint64_t inode;  /**< of the file; 0: no file */
    char path[256];  /**< as the kernel prints it, cut off where it is longer */
};

struct rsmcore_vma_reader {
    struct rsmcore_procfile file;
    uintptr_t from; /* what ends at or below has been seen, or is not wanted */
    bool by_query;  /* the kernel can be asked for one mapping, instead of a text with all */
};

/** Begin with the mappings of process @p pid, 0 for this one, that end above @p from. False if they
 *  cannot be read. */
bool rsmcore_vma_open(struct rsmcore_vma_reader *reader, pid_t pid, uintptr_t from);

/** Next mapping in ascending order. False at the end, or after a read error, which sets
 *  reader->file.failed. */
bool rsmcore_vma_next(struct rsmcore_vma_reader *reader, struct rsmcore_vma *vma);

void rsmcore_vma_close(struct rsmcore_vma_reader *reader);

/** This process's mapping at @p address, or the first one above it. RSM_ST_NOT_FOUND: there is
 * none; RSM_ST_NO_MEMORY: the mappings cannot be read now, as without a free descriptor. */
enum rsm_status rsmcore_vma_find(uintptr_t address, struct rsmcore_vma *vma);

/** The same, for callers that treat a failure as if there were none. */
bool rsmcore_vma_from(uintptr_t address, struct rsmcore_vma *vma);

/** Narrow *vma to what it shares with [start, end), which must not be nothing. */
void rsmcore_vma_clip(struct rsmcore_vma *vma, uintptr_t start, uintptr_t end);

/* sharers.c */

enum rsmcore_sharers {
    RSMCORE_SHARERS_NONE,
    RSMCORE_SHARERS_SELF,   /**< this process maps some of these pages a second time */
    RSMCORE_SHARERS_OTHERS, /**< another process maps some of them */
};

/**
 * Find out whether other processes, or second mappings, map pages of this shared mapping now. A
 * child between fork and exec is another process.
 *
 * For System V segments the kernel's attach count decides. For other mappings, the page tables show
 * whether another process has touched a page, and /proc/PID/maps, of all processes that this one
 * may inspect, whether one could. If that fails for lack of descriptors or memory, the result is
 * RSMCORE_SHARERS_OTHERS.
 */
enum rsmcore_sharers rsmcore_sharers_of(const struct rsmcore_vma *vma);

/* backing.c: what kind of memory a mapping is */

enum rsmcore_backing {
    RSMCORE_BACKING_PRIVATE,    /**< anonymous, or a private map of a regular file */
    RSMCORE_BACKING_MEMORY,     /**< shared: System V, anonymous, memfd, file on tmpfs */
    RSMCORE_BACKING_FILE,       /**< shared: a regular file on another file system */
    RSMCORE_BACKING_UNSUITABLE, /**< device memory, huge pages, kernel objects */
};

enum rsmcore_backing rsmcore_backing_of(const struct rsmcore_vma *vma);

/** Whether the mapping is a System V segment; its inode is then the segment's id. */
bool rsmcore_backing_is_sysv(const struct rsmcore_vma *vma);
