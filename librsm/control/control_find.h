/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Find or start the daemon of the local node. A part of control.c. */
#pragma once

#include "control/control.h"

/** Connect to a socket and send HELLO as a process of @p node; wait @p max_ms for the answer.
 *  Called by the thread that makes control connections. RSM_ST_DENIED: refused, or the process that
 *  listens is not trusted. */
enum rsm_status rsmcore_control_make(const char *path, uint32_t node, uint32_t max_ms,
                                     struct rsmcore_control **made);

/** Make a control connection to the local node's daemon, which is found, started or waited for.
 *  Fails as rsmcore_control_local(). */
enum rsm_status rsmcore_control_find(struct rsmcore_control **control);
