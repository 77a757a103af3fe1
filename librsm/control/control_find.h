/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Finding the daemon of the own node, or starting it: a part of control.c. */
#ifndef RSMCORE_CONTROL_FIND_H
#define RSMCORE_CONTROL_FIND_H

#include "control/control.h"

/** Connect to a socket and say hello as a process of @p node; the answer may take @p max_ms. By the
 *  thread that makes links. RSM_ST_DENIED also says that who listens there is not trusted. */
enum rsm_status rsmcore_control_make(const char *path, uint32_t node, uint32_t max_ms,
                                     struct rsmcore_control **made);

/** A new link to the own node's daemon, which is found, started or waited for; fails as
 *  rsmcore_control_local(). */
enum rsm_status rsmcore_control_find(struct rsmcore_control **control);

#endif
