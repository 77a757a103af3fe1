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
