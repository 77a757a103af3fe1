/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where the daemon's messages go. */
#ifndef RSMD_LOGGING_H
#define RSMD_LOGGING_H

#include <stdbool.h>

#include "base/log.h"

/** Send messages of @p most and graver levels to syslog, or to stderr: as they are on
 *  a terminal, with the priority as "<N>" where systemd's journal reads it, else with the time. Of
 *  each line of a transport's module ten a minute are logged. */
void rsmd_logging_start(bool to_syslog, enum rsmcore_log_level max);

#endif
