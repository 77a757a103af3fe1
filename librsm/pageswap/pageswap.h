/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The page swap: put other pages behind addresses that an application is using.
 *
 *  swap_in() replaces the pages of a range by pages of a memfd, swap_out() puts private (or the
 *  original shared) pages back. Both keep the contents and are atomic for every thread that stores,
 *  loads or is inside a system call on that memory: a store is never lost, a load never sees an
 *  older value, nothing faults. The measurements behind the method are in doc/design-notes.md.
 *
 *  Limits. Where userfaultfd may not make system calls wait (see rsmcore_swap_method()), one that
 *  stores into memory at the moment when it is frozen (microseconds per MiB) fails with EFAULT;
 *  memory that userfaultfd cannot protect (private file maps, System V) is always frozen by
 *  mprotect and a SIGSEGV handler, and so is everything without userfaultfd: then a thread that
 *  stores at that moment must not have SIGSEGV blocked. Input and output that the kernel does on
 *  its own on pinned pages (O_DIRECT, registered buffers) must not be under way. While memory is
 *  swapped in, a child of fork() shares it.
 *
 *  Knows no daemon, no segment and no transport. Callers serialise swaps of one process
 *  (region/region_lock.h is one lock); other threads may do what they like with the memory
 *  meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rsm/transport.h"

/** What lay under a swapped range, so that it can go back there. */
enum rsmcore_origin_kind {
    RSMCORE_ORIGIN_PRIVATE, /**< private pages: new private anonymous pages take their place */
    RSMCORE_ORIGIN_SHARED,  /**< a shared mapping (System V, shared anonymous, tmpfs): kept alive at
                                 `alias` and moved back */
};

struct rsmcore_origin {
    enum rsmcore_origin_kind kind;
    bool executable; /**< the range was mapped PROT_EXEC too */
    uintptr_t alias; /**< SHARED: where the original is kept mapped; same length as the range */
};

/** A run of the range whose pages all had the same kind of origin. */
struct rsmcore_origin_run {
    uintptr_t start;
    size_t length;
    struct rsmcore_origin origin;
};

/** The memfd that runs are swapped onto. */
struct rsmcore_swap_file {
    dev_t device;
    ino_t inode;
    int fd; /**< -1: closed; then its contents are reached through the mapping that is taken out,
                 which takes rsm_second_mapping_works() */
};

enum {
    /** Flags of rsmcore_range_check() and rsmcore_swap_in() (this first one of both). */
    RSMCORE_RANGE_ALLOW_SHARED_FILE = 1, /**< a regular file mapped MAP_SHARED is acceptable */
    RSMCORE_SWAP_FRESH =
        /** for rsmcore_swap_in(): only this process and the daemon have had the memfd, so no other
         *  process can see a word change in parts, or hold the lock that write(2) takes */
    2,
};

/** How long rsmcore_swap_in() waits for another process that shares the memory: children of this
 * one do so between fork and exec. */
enum { RSMCORE_SHARERS_WAIT_MS = 80 };

/**
 * Can [address, address + length) be exported?
 * @return RSM_ST_OK; RSM_ST_FAULT: not mapped in full, or a regular file (on a file system that
 *         is not memory) mapped MAP_SHARED, or device memory, or huge pages of hugetlbfs, or memory
 *         that the call itself stores into (the calling thread's live stack, errno);
 *         RSM_ST_DENIED: not both readable and writable; RSM_ST_ALIGNMENT: not whole pages;
 *         RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmcore_range_check(uintptr_t address, size_t length, unsigned flags);

/**
 * Put [offset, offset + length) of memfd @p fd under [address, address + length), contents kept.
 * @param flags as for rsmcore_range_check().
 * @param runs  on success *runs is an array (free() it) of *count runs that cover the range, in
 *              ascending order, for swap_out().
 * @return RSM_ST_OK; else nothing has changed: what rsmcore_range_check() says, RSM_ST_BUSY when
 * shared pages of the range are also mapped by another process, and still are after
 * RSMCORE_SHARERS_WAIT_MS, or a second time by this one, which would be cut off from them,
 * RSM_ST_RANGE: the memfd is shorter, RSM_ST_NO_MEMORY,
 * RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmcore_swap_in(uintptr_t address, size_t length, unsigned flags, int fd,
                                uint64_t offset, struct rsmcore_origin_run **runs, size_t *count);

/**
 * Take one run back out of its memfd @p file: private pages (or the original shared mapping) with
 * the present contents replace what is at [start, start + length). Parts of the run that the
 * application has meanwhile unmapped or mapped over (they are no longer this memfd at this offset)
 * are left alone. Importers may go on storing into the memfd meanwhile; what they store after the
 * call began is in the copy or is not.
 * The run may be a piece of one that swap_in() gave (start, length and alias moved on together);
 * @p offset is the place of run->start in the memfd. A success uses up the alias.
 * @return RSM_ST_OK, or RSM_ST_NO_MEMORY with nothing changed from the first failing part on; the
 *         call may be repeated.
 */
enum rsm_status rsmcore_swap_out(const struct rsmcore_origin_run *run,
                                 const struct rsmcore_swap_file *file, uint64_t offset);

/**
 * Move the memfd [offset, offset + length) that lies under @p from (a run swapped in earlier) under
 * @p to: the memory at @p to gives its contents to the memfd and its pages away, the memory at
 * @p from gets private (or its original) pages back with its contents. Outside processes that map
 * the memfd keep it and see the contents change. The ranges may overlap.
 * @return RSM_ST_OK: from_runs are used up, *runs are the new ones; else, as swap_in(), nothing has
 *         changed.
 */
enum rsm_status rsmcore_swap_move(const struct rsmcore_origin_run *from_runs, size_t from_count,
                                  uintptr_t to, int fd, uint64_t offset,
                                  struct rsmcore_origin_run **runs, size_t *count);

/** Describe an open memfd, whose descriptor stays the caller's. @return false with errno set. */
bool rsmcore_swap_file_of(int fd, struct rsmcore_swap_file *file);

/** How the freeze of this process works, for logs and tests: "userfaultfd", "userfaultfd user
 *  mode only" or "mprotect". */
const char *rsmcore_swap_method(void);
