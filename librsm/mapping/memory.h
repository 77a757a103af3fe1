/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The memory that a space works in. */
#pragma once

#include "mapping/space.h"

/** Make copy, twins, tables and buffer of a zeroed space whose page_size and page_count are set.
 *  *fd is what views of the copy are mapped from. After a failure too: mapping_memory_free(). */
enum rsm_status mapping_memory_make(struct mapping_space *space, int *fd);

/** @p inherited: this is a forked child, which has not got the copy. */
void mapping_memory_free(struct mapping_space *space, int fd, bool inherited);

/** Have copy and twins of these pages at once, not page by page as they are touched. False: there
 * is not enough memory. */
bool mapping_memory_populate(const struct mapping_space *space, uint32_t first, uint32_t count);

/** Nothing is known of any page: the kernel may have their memory back. */
void mapping_memory_trim(struct mapping_space *space);
