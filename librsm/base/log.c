/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 1024 };

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static _Atomic(rsmcore_log_hook) log_hook;
static atomic_int log_max_level = -2; /* -2: environment not read yet; -1: silent */

int rsmcore_log_level_named(const char *name)
{
    for (int level = 0; level <= RSMCORE_LOG_DEBUG; level++)
        if (strcmp(name, level_names[level]) == 0)
            return level;
    return -1;
}

static int max_level_from_environment(void)
{
    const char *wanted = secure_getenv("RSM_LOG");
    return wanted == NULL ? -1 : rsmcore_log_level_named(wanted);
}

void rsmcore_log_to(rsmcore_log_hook hook, enum rsmcore_log_level most)
{
    atomic_store(&log_hook, hook);
    atomic_store(&log_max_level, hook == NULL ? max_level_from_environment() : (int)most);
}

static void log_to_stderr(enum rsmcore_log_level level, const char *text)
{
    char line[LOG_LINE_MAX + 64];
    int len =
        snprintf(line, sizeof line, "librsm[%d] %s: %s\n", (int)getpid(), level_names[level], text);
    /* One write, so that lines of several processes do not mix. Nobody can be told of a failure. */
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)len);
    (void)ignored;
}

void rsmcore_log(enum rsmcore_log_level level, const char *format, ...)
{
    int most = atomic_load_explicit(&log_max_level, memory_order_relaxed);
    if (most == -2) {
        most = max_level_from_environment();
        atomic_store(&log_max_level, most);
    }
    if ((int)level > most)
        return;
    int saved = errno;
    char text[LOG_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    errno = saved; /* for %m */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rsmcore_log_hook hook = atomic_load(&log_hook);
    (hook != NULL ? hook : log_to_stderr)(level, text);
    errno = saved;
}
