/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The daemon from its options to its end. */
#ifndef RSMD_DAEMON_H
#define RSMD_DAEMON_H

#include "conf/options.h"

/** Run the daemon until it ends. Returns the exit status. */
int rsmd_run(const struct rsmd_options *options);

#endif
