/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the daemons of other nodes know of a node's imports. */
#ifndef RSMSTAT_OTHERS_H
#define RSMSTAT_OTHERS_H

#include "collect.h"
#include "daemon.h"

/**
 * Ask the daemons of all nodes on this host that the controllers of @p into lead to, and add to its
 * imports. What could not be learned becomes a note. They are asked at the same time, so that
 * several that do not answer cost no more than one.
 * @param own  the daemon of the node itself, which knows where the others are
 * @return false: out of memory
 */
bool others_collect(struct snapshot *into, struct daemon *own);

#endif
