/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How a process signals the exporter over a window: by the kernel module, which has its counter; or,
 * where there is no module, by its counter in shared memory and a bell. No daemon has a part in it.
 */
#ifndef NTB_POSTER_H
#define NTB_POSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

struct ntb_poster {
    int device;        /**< import descriptor of the module; -1: none */
    int bell;          /**< eventfd; -1: none */
    uint64_t *counter; /**< common/posts.h */
    void *page;        /**< that has it, mapped; NULL: none */
    size_t page_size;
};

void ntb_poster_init(struct ntb_poster *poster);
/** By an import descriptor of the module, which stays the caller's. */
enum rsm_status ntb_poster_begin_device(struct ntb_poster *poster, int fd);
/** By the word at @p offset of shared memory. Descriptors stay the caller's. RSM_ST_PROTOCOL: they are
 *  not what they should be, and could harm this process. */
enum rsm_status ntb_poster_begin_shared(struct ntb_poster *poster, int memory, uint64_t offset,
                                        int bell, size_t page_size);
/** Give up what was begun, perhaps nothing. */
void ntb_poster_end(struct ntb_poster *poster);
/** Signal the exporter, behind all earlier stores of the caller. Any thread, and a child of fork(). */
enum rsm_status ntb_poster_post(const struct ntb_poster *poster, bool coalesce);

#endif
