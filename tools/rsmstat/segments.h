/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Exports and connections, as a daemon reports them page by page. */
#ifndef RSMSTAT_SEGMENTS_H
#define RSMSTAT_SEGMENTS_H

#include "collect.h"
#include "daemon.h"

/** False: out of memory. */
bool segments_add(struct segments *segments, uint32_t exporter,
                  const struct rsm_inspect_item *item);

/**
 * Add all exports of a daemon, or the connections to them, in the order in which they were made.
 * @param what  enum rsm_inspect_what
 * @param node  0, or the node whose processes are wanted
 * @return false: @p why has the reason. Some may have been added.
 */
bool segments_collect(struct daemon *from, uint32_t what, uint32_t node, struct segments *segments,
                      char *why, size_t why_size);

#endif
