/* SPDX-License-Identifier: BSD-3-Clause */
#include "logging.h"

#include <stdio.h>
#include <syslog.h>
#include <unistd.h>

static int priority_of(enum rsmcore_log_level level)
{
    switch (level) {
    case RSMCORE_LOG_ERROR:
        return LOG_ERR;
    case RSMCORE_LOG_WARNING:
        return LOG_WARNING;
    case RSMCORE_LOG_INFO:
        return LOG_INFO;
    case RSMCORE_LOG_DEBUG:
        break;
    }
    return LOG_DEBUG;
}

static void log_to_syslog(enum rsmcore_log_level level, const char *text)
{
    syslog(priority_of(level), "%s", text);
}

static void log_to_terminal(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    dprintf(STDERR_FILENO, "rsmd: %s\n", text);
}

static void log_to_journal(enum rsmcore_log_level level, const char *text)
{
    dprintf(STDERR_FILENO, "<%d>rsmd: %s\n", priority_of(level), text);
}

void rsmd_logging_start(bool to_syslog, enum rsmcore_log_level most)
{
    if (to_syslog) {
        openlog("rsmd", LOG_PID, LOG_DAEMON);
        rsmcore_log_to(log_to_syslog, most);
    } else {
        rsmcore_log_to(isatty(STDERR_FILENO) ? log_to_terminal : log_to_journal, most);
    }
}
