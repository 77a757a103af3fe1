/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The memory of an extent that processes of this host may map: RSM_NODE_EXTENTS_SHAREABLE in
 *  <rsm/transport.h> says what is promised of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rsm/transport.h"

/** Make such memory of @p length bytes, sparse and zero. @return a descriptor above 2, or -1 with
 *  errno. */
int rsmcore_extent_memfd(uint64_t length);

/** Whether @p fd, which another transport has made, is such memory of at least @p length bytes. */
bool rsmcore_extent_is_shareable(int fd, uint64_t length);

/** A new descriptor of a memfd that was opened for reading and writing, to give away: for both, or
 *  opened anew for reading alone. The caller closes it; -1 with errno. */
int rsmcore_extent_memfd_share(int fd, bool writable);

/* extent_make, extent_adopt, extent_take and extent_free of a node half whose extents are such
 * memory and nothing else. @p page is the size in bytes of which a length is a multiple. Any thread
 * may call them. */

enum rsm_status rsmcore_extent_memfd_make(uint64_t page, uint64_t length,
                                          struct rsm_extent **extent);

/** @p fd stays the caller's, who keeps it open as long as the extent exists. */
enum rsm_status rsmcore_extent_memfd_adopt(uint64_t page, int fd, uint64_t length,
                                           struct rsm_extent **extent);

/** @p fd is the extent's, if the result is RSM_ST_OK. */
enum rsm_status rsmcore_extent_memfd_take(uint64_t page, int fd, uint64_t length,
                                          struct rsm_extent **extent);

void rsmcore_extent_memfd_free(struct rsm_node_port *port, struct rsm_extent *extent);
