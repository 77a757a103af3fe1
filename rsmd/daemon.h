/* SPDX-License-Identifier: BSD-3-Clause */
/** @file From options to a running daemon and back to nothing. */
#ifndef RSMD_DAEMON_H
#define RSMD_DAEMON_H

#include "conf/options.h"

/** Be the daemon until it ends. The exit status. */
int rsmd_run(const struct rsmd_options *options);

#endif
