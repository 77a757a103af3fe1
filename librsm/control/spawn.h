/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Starting the daemon of an embedded node. */
#pragma once

#include "protocol/runtime.h"

/**
 * Start `rsmd --embedded` for the node of @p runtime, detached from this process: this process gets
 * no SIGCHLD and no child to wait for, and it shares no descriptor with the daemon.
 * @param max_ms  what it may take until it listens.
 * @return RSM_ST_OK: it listened; RSM_ST_BUSY: another one is this node already or about to be;
 *         RSM_ST_STALE: it ended before it listened and did not say why; RSM_ST_UNREACHABLE,
 *         RSM_ST_NO_RESOURCES: it could not be started, with the reason logged.
 */
enum rsm_status rsmcore_daemon_start(const struct rsmcore_runtime *runtime, uint32_t max_ms);

/** Log that the daemons that rsmcore_daemon_start() starts end without a report, again and
 *  again. */
void rsmcore_daemon_is_silent(void);
