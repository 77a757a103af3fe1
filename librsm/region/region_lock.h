/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The lock of the registry of regions, fork(2), and requests to rsmd amid an operation.
 *
 *  One thread at a time carries an operation out on the registry, from rsmcore_region_lock() to
 *  rsmcore_region_unlock(). fork(2) in another thread waits while pages and registry change, but
 *  not for rsmd: rsmcore_region_call() lets it in while a request is under way. Other operations
 *  wait for their turn meanwhile, so the registry is after a request what it was before. */
#pragma once

#include "control/control.h"

/** Begin an operation. No cancellation point. */
void rsmcore_region_lock(void);
/** End it. */
void rsmcore_region_unlock(void);

/**
 * rsmcore_control_call() amid an operation. A child of fork(2) may get the registry as it is now,
 * and drops it all: each region in it has to be whole, and what is not in it yet, or not any more,
 * is memory that the child loses.
 *
 * An operation waits for a daemon that does not answer once: its further requests to that daemon
 * are sent and return RSM_ST_TIMEOUT.
 */
enum rsm_status rsmcore_region_call(struct rsmcore_control *control, struct rsm_msg *msg,
                                    struct rsm_packet_fds *receive);

/** In a forked child: empty the registry. Of region/region_set.c. */
void rsmcore_region_forget_all(void);
