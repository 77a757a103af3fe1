/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "server/logging.h"

#include <errno.h>
#include <paths.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/complaints.h"
#include "base/packet.h"
#include "transport/module.h"

enum { SYSLOG_LINE_MAX = 1280 };

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

/* ------------------------------------------------------------------ syslog */

/* Do not use syslog(3): it waits for a logger that does not keep up or hangs, and the node would
 * wait, too.
 */

static pthread_mutex_t syslog_lock = PTHREAD_MUTEX_INITIALIZER;
static int syslog_socket = -1; /* under the lock */

/* Return the connected socket, or -1. */
static int need_syslog(void)
{
    struct sockaddr_un address;
    if (syslog_socket >= 0 || rsm_unix_address(&address, _PATH_LOG) < 0)
        return syslog_socket;
    int fd = rsmcore_fd_above_stdio(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        fd = -1;
    }
    syslog_socket = fd;
    return fd;
}

static bool send_to_syslog(int priority, const char *text)
{
    char line[SYSLOG_LINE_MAX], date[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%h %e %T", &local);
    int length = snprintf(line, sizeof line, "<%d>%s rsmd[%d]: %s", LOG_DAEMON | priority, date,
                          (int)getpid(), text);
    size_t size = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    int fd = need_syslog();
    if (fd >= 0 && send(fd, line, size, MSG_NOSIGNAL) >= 0)
        return true;
    if (fd < 0 || errno == EAGAIN || errno == ENOBUFS)
        return false;
    /* The logger was restarted. */
    close(fd);
    syslog_socket = -1;
    fd = need_syslog();
    return fd >= 0 && send(fd, line, size, MSG_NOSIGNAL) >= 0;
}

static void log_to_syslog(enum rsmcore_log_level level, const char *text)
{
    static unsigned lost; /* under the lock */
    char missing[80];
    pthread_mutex_lock(&syslog_lock);
    if (lost > 0) {
        snprintf(missing, sizeof missing, "%u lines are missing here: nobody took them", lost);
        lost = send_to_syslog(LOG_WARNING, missing) ? 0 : lost;
    }
    lost += lost > 0 || !send_to_syslog(priority_of(level), text);
    pthread_mutex_unlock(&syslog_lock);
}

/* ------------------------------------------------------------------ standard error */

/* Whether standard error accepts a line now. It may be a pipe without a reader, and the node must
 * not wait for that. */
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

/* A file, or a pipe to another program. */
static void log_to_file(enum rsmcore_log_level level, const char *text)
{
    char date[48];
    time_t now = time(NULL);
    struct tm local;
    (void)level;
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z ", &local);
    write_line(date, text);
}

static void log_to_journal(enum rsmcore_log_level level, const char *text)
{
    char before[16];
    snprintf(before, sizeof before, "<%d>", priority_of(level));
    write_line(before, text);
}

/* Whether standard error is the journal's, by systemd.exec(5). The journal adds the time, and reads
 * "<N>". */
static bool is_journal(void)
{
    char *end;
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    if (stream == NULL || fstat(STDERR_FILENO, &status) != 0)
        return false;
    unsigned long long device = strtoull(stream, &end, 10);
    return *end == ':' && status.st_dev == device && status.st_ino == strtoull(end + 1, NULL, 10);
}

/* ------------------------------------------------------------------ transports */

/* Log a line of a transport module. Clients and other hosts can cause lines, for instance by each
 * connection. The cause is not known here, so each sentence has a bound, whatever the thread. Lines
 * logged while a controller is opened or checked are kept by the caller of that instead. */
static void log_of_module(int level, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct rsmd_buckets said; /* under the lock */
    unsigned dropped = 0;
    if (level < RSMCORE_LOG_ERROR || level > RSMCORE_LOG_DEBUG)
        return;
    if (level < RSMCORE_LOG_DEBUG && !rsmcore_log_keeps()) {
        pthread_mutex_lock(&lock);
        bool taken = rsmd_bucket_take(rsmd_bucket_of_text(&said, text), rsm_clock_ms(), &dropped);
        pthread_mutex_unlock(&lock);
        if (!taken)
            return;
    }
    rsmcore_log((enum rsmcore_log_level)level, "%s", text);
    if (dropped > 0)
        rsm_log_info("%u other lines like that are not shown", dropped);
}

/* ------------------------------------------------------------------ start */

void rsmd_logging_start(bool to_syslog, enum rsmcore_log_level max)
{
    rsmcore_module_log_to(log_of_module);
    tzset(); /* reads a file now, not at the first line logged, amid a request */
    if (to_syslog) {
        rsmcore_log_to(log_to_syslog, max);
    } else {
        rsmcore_log_to(isatty(STDERR_FILENO) == 1 ? log_to_terminal
                       : is_journal()             ? log_to_journal
                                                  : log_to_file,
                       max);
    }
}
