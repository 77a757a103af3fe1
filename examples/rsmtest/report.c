/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <rsm/rsm_strerror.h>
#include <rsm/rsmapi.h>

static bool verbose_wanted;

const char *error_hint(int error)
{
    switch (error) {
    case RSMERR_CTLR_NOT_PRESENT:
        return "; check -d, -u and RSM_NODE, and set RSM_LOG=error to see the library's own words";
    case RSMERR_SEG_NOT_PUBLISHED:
        return "; start the exporter there, or check -n and -k";
    case RSMERR_BAD_OFFSET:
        return "; give both sides the same -b and -l";
    case RSMERR_BAD_LENGTH:
        return "; give both sides the same -b";
    case RSMERR_BAD_ACL:
        return "; check -n";
    case RSMERR_RESERVED_SEGID:
        return "; -k names it";
    case RSMERR_SEGID_IN_USE:
        return "; end that one or choose another (-k)";
    case RSMERR_PERM_DENIED:
        return "; run both sides as the same user, or the exporter with umask 0";
    case RSMERR_INSUFFICIENT_RESOURCES:
        return "; see ulimit -n";
    case RSMERR_MAP_FAILED:
        return "; try -O, which needs no mapping";
    case RSMERR_REMOTE_NODE_UNREACHABLE:
        return "; check -n, and that rsmd or a program runs there";
    case RSMERR_INTERNAL_ERROR:
        return "; check -n and -d";
    default:
        return "";
    }
}

int report_call(const char *call, int error)
{
    if (error != RSM_SUCCESS)
        complain("%s: %s (%d): %s%s", call, rsm_strerrorname(error), error, rsm_strerror(error),
                 error_hint(error));
    return error;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list values)
{
    /* The dialogue's last line may be unfinished on the same screen; show it first. */
    (void)fflush(stdout);
    flockfile(stderr);
    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    (void)vfprintf(stderr, format, values);
    (void)fputc('\n', stderr);
    funlockfile(stderr);
}

void complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
}

void narrate(const char *format, ...)
{
    if (!verbose_wanted)
        return;
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
}

void report_verbose(bool verbose)
{
    verbose_wanted = verbose;
}
