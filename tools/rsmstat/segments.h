/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Exports and connections, as daemons report them page by page. */
#ifndef RSMSTAT_SEGMENTS_H
#define RSMSTAT_SEGMENTS_H

#include "collect.h"
#include "daemon.h"

/**
 * Add all exports of a daemon, or the connections to them, in the order in which they were made.
 * @param what  enum rsm_inspect_what
 * @param node  0, or the node whose processes are wanted
 * @return false: @p why has the reason. Some may have been added.
 */
bool segments_collect(struct daemon *from, uint32_t what, uint32_t node, struct segments *segments,
                      char *why, size_t why_size);

/**
 * Ask the daemons of all nodes on this host that the controllers of @p into lead to, and add to its
 * imports. What could not be learned becomes a note. They are asked at the same time, so that
 * several that do not answer cost no more than one.
 * @param own  the daemon of the node itself, which knows where the others are
 * @return false: out of memory
 */
bool others_collect(struct snapshot *into, struct daemon *own);

#endif
