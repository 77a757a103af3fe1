/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the tests of the page swap have in common. */
#ifndef PAGESWAP_SUPPORT_H
#define PAGESWAP_SUPPORT_H

#include "cases.h"

#include "pageswap/pageswap.h"

#define EXIT_SKIP 77

/** Freeze by the method named in argv[1] ("userfaultfd", "user-mode", "mprotect"), if given.
 *  Exits, saying why, if this process does not have it. */
void test_choose_method(int argc, char **argv);

size_t test_page_size(void);

/** A sealed memfd of this many bytes, like the ones that extents are. */
int test_memfd(size_t length);

/** Map the memfd as an importer does. */
void *test_import(int fd, uint64_t offset, size_t length);

/** Swap in, expecting success. */
struct rsmcore_origin_run *test_swap_in(void *at, size_t length, int fd, uint64_t offset,
                                        size_t *count);

/** Swap all runs out, expecting success, and free them. */
void test_swap_out(struct rsmcore_origin_run *runs, size_t count, int fd, uint64_t offset);

/** Whether the page at this address is one of the memfd, at this offset. */
bool test_is_memfd(const void *at, int fd, uint64_t offset);

/** Wait for a child. Returns its wait status. */
int test_wait(pid_t child);

#endif
