/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where the daemon's messages go. */
#ifndef RSMD_LOGGING_H
#define RSMD_LOGGING_H

#include <stdbool.h>

#include "base/log.h"

/** Send messages of @p most and graver levels to syslog, or to stderr: with the service manager's
 *  "<N>" prefix when that is no terminal. */
void rsmd_logging_start(bool to_syslog, enum rsmcore_log_level most);

#endif
