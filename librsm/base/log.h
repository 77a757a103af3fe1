/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Log hook shared by library and daemon.
 *
 *  The library prints nothing of its own accord: messages go to the hook if one is set, else to
 *  stderr if the environment variable RSM_LOG asks for their level (error, warning, info, debug),
 *  else nowhere. An error is logged once, where it is decided; callers only return it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

enum rsmcore_log_level {
    RSMCORE_LOG_ERROR,
    RSMCORE_LOG_WARNING,
    RSMCORE_LOG_INFO,
    RSMCORE_LOG_DEBUG,
};

typedef void (*rsmcore_log_hook)(enum rsmcore_log_level level, const char *text);

/** Send messages of @p most and graver levels to @p hook; NULL goes back to RSM_LOG.
 *  Not thread-safe against itself: set it before other threads use the library. */
void rsmcore_log_to(rsmcore_log_hook hook, enum rsmcore_log_level max);

/** Parse a level name; -1 if it is none. */
int rsmcore_log_level_named(const char *name);

/** Log one line (no newline). Keeps errno. Thread-safe. */
void rsmcore_log(enum rsmcore_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define rsm_log_error(...)   rsmcore_log(RSMCORE_LOG_ERROR, __VA_ARGS__)
#define rsm_log_warning(...) rsmcore_log(RSMCORE_LOG_WARNING, __VA_ARGS__)
#define rsm_log_info(...)    rsmcore_log(RSMCORE_LOG_INFO, __VA_ARGS__)
#define rsm_log_debug(...)   rsmcore_log(RSMCORE_LOG_DEBUG, __VA_ARGS__)

RSMCORE_EXPORTS_END

/** Keep in @p text, of @p size bytes and set to "", what this thread logs from now on: the first
 *  error, or the first warning if there is no error, whatever level is logged. NULL ends that. For
 *  callers of a transport that have to report to a client why a call failed. */
void rsmcore_log_keep(char *text, size_t size);

/** Whether what this thread logs is kept now. */
bool rsmcore_log_keeps(void);
