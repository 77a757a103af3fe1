/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
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
    int level = wanted == NULL ? -1 : rsmcore_log_level_named(wanted);
    /* protocol/environment.h warns of unknown values. */
    return wanted != NULL && *wanted != '\0' && level < 0 ? RSMCORE_LOG_WARNING : level;
}

void rsmcore_log_to(rsmcore_log_hook hook, enum rsmcore_log_level max)
{
    atomic_store(&log_hook, hook);
    atomic_store(&log_max_level, hook == NULL ? max_level_from_environment() : (int)max);
}

static void log_to_stderr(enum rsmcore_log_level level, const char *text)
{
    char line[LOG_LINE_MAX + 64];
    int len =
        snprintf(line, sizeof line, "librsm[%d] %s: %s\n", (int)getpid(), level_names[level], text);
    /* One write, so that lines of several processes do not mix. A failure cannot be reported. */
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)len);
    (void)ignored;
}

/* Of this thread. */
static _Thread_local struct {
    char *text; /* NULL: nothing is kept */
    size_t size;
    enum rsmcore_log_level level; /* of the text, if that is not "" */
} kept;

void rsmcore_log_keep(char *text, size_t size)
{
    kept.text = text;
    kept.size = size;
    if (text != NULL)
        text[0] = '\0';
}

bool rsmcore_log_keeps(void)
{
    return kept.text != NULL;
}

static bool is_to_be_kept(enum rsmcore_log_level level)
{
    return kept.text != NULL && level <= RSMCORE_LOG_WARNING &&
           (kept.text[0] == '\0' || level < kept.level);
}

/* Parts of it may come from other processes and hosts: none of them begins a line, or speaks to the
 * terminal. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

void rsmcore_log(enum rsmcore_log_level level, const char *format, ...)
{
    int max = atomic_load_explicit(&log_max_level, memory_order_relaxed);
    if (max == -2) {
        max = max_level_from_environment();
        atomic_store(&log_max_level, max);
    }
    bool keep = is_to_be_kept(level);
    if ((int)level > max && !keep)
        return;
    int saved = errno;
    char text[LOG_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    errno = saved; /* for %m */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    make_one_line(text);
    if (keep) {
        kept.level = level;
        snprintf(kept.text, kept.size, "%s", text);
    }
    rsmcore_log_hook hook = atomic_load(&log_hook);
    if ((int)level <= max)
        (hook != NULL ? hook : log_to_stderr)(level, text);
    errno = saved;
}
