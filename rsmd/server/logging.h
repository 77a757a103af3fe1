/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The destination of the daemon's log. */
#pragma once

#include <stdbool.h>

#include "base/log.h"

/** Log messages of level @p max and graver ones to syslog or to stderr. On stderr they are
 *  unchanged on a terminal, with the priority as "<N>" if systemd's journal reads it, else with the
 *  time. Each line of a transport module is logged at most ten times a minute. */
void rsmd_logging_start(bool to_syslog, enum rsmcore_log_level max);
