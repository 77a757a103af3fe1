/* SPDX-License-Identifier: BSD-3-Clause */
#include "logging.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
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

/* Whether standard error takes a line now. It may be a pipe that nobody reads any more, and the
 * node must not wait for that. */
static bool is_taken(void)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) != 0;
}

static void write_line(const char *before, const char *text)
{
    static atomic_uint lost;
    if (!is_taken()) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    unsigned missing = atomic_exchange(&lost, 0);
    if (missing > 0)
        dprintf(STDERR_FILENO, "%srsmd: %u lines are missing here: nobody took them\n", before,
                missing);
    dprintf(STDERR_FILENO, "%srsmd: %s\n", before, text);
}

static void log_to_terminal(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    write_line("", text);
}

static void log_to_journal(enum rsmcore_log_level level, const char *text)
{
    char before[16];
    snprintf(before, sizeof before, "<%d>", priority_of(level));
    write_line(before, text);
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
