/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <rsm/rsmapi.h>

#define ERROR_LIST(X)                                                                              \
    X(RSM_SUCCESS, "no error")                                                                     \
    X(RSMERR_BAD_LIBRARY_VERSION, "the transport was built for another version of the library")    \
    X(RSMERR_BAD_TOPOLOGY_PTR, "no place was given for the topology")                              \
    X(RSMERR_BAD_CTLR_HNDL, "that is no controller")                                               \
    X(RSMERR_CTLR_NOT_PRESENT,                                                                     \
      "this node has no such controller, or its rsmd cannot be reached or started; check -d, -u "  \
      "and RSM_NODE, and set RSM_LOG=error to see the library's own words")                        \
    X(RSMERR_BAD_SEG_HNDL, "that is no segment in a fitting state")                                \
    X(RSMERR_SEG_ALREADY_PUBLISHED, "the segment is published already")                            \
    X(RSMERR_SEG_NOT_PUBLISHED, "the node has published no segment of this id; start the "         \
                                "exporter there, or check -n and -k")                              \
    X(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, "the segment is not published to this node")               \
    X(RSMERR_SEG_ALREADY_MAPPED, "the segment is mapped already")                                  \
    X(RSMERR_SEG_STILL_MAPPED, "the segment is still mapped")                                      \
    X(RSMERR_SEG_NOT_MAPPED, "the segment is not mapped")                                          \
    X(RSMERR_NOT_CREATOR, "only the process that created the segment may do this")                 \
    X(RSMERR_BAD_BARRIER_PTR, "no barrier was given")                                              \
    X(RSMERR_BAD_SGIO, "the scatter-gather request is not valid")                                  \
    X(RSMERR_BAD_LOCALMEM_HNDL, "that is no local memory handle")                                  \
    X(RSMERR_BAD_ADDR, "an address is not valid")                                                  \
    X(RSMERR_BAD_MEM_ALIGNMENT, "an address or offset is not aligned")                             \
    X(RSMERR_BAD_OFFSET, "the range is outside the segment; give both sides the same -b and -l")   \
    X(RSMERR_MISALIGNED_OFFSET, "the offset is not aligned")                                       \
    X(RSMERR_BAD_LENGTH, "the length does not fit the segment; give both sides the same -b")       \
    X(RSMERR_BAD_ACL, "an access list names nodes 1 to 64; check -n")                              \
    X(RSMERR_BAD_SEGID, "no place was given for the segment id")                                   \
    X(RSMERR_RESERVED_SEGID, "the segment id is reserved; use 0x400000 to 0x7fffffff (-k)")        \
    X(RSMERR_SEGID_IN_USE,                                                                         \
      "another exporter on this node uses the segment id; end that one or choose another (-k)")    \
    X(RSMERR_BAD_MODE, "that is no barrier mode")                                                  \
    X(RSMERR_BAD_PERMS, "the mapping asks for more rights than the connection has")                \
    X(RSMERR_PERM_DENIED,                                                                          \
      "access is not allowed; run both sides as the same user, or the exporter with umask 0")      \
    X(RSMERR_LOCKS_NOT_SUPPORTED, "locks are not supported")                                       \
    X(RSMERR_LOCKS_NOT_ENABLED, "locks are not enabled")                                           \
    X(RSMERR_REBIND_NOT_ALLOWED, "the segment was created without permission to rebind")           \
    X(RSMERR_INSUFFICIENT_RESOURCES,                                                               \
      "the node or this process has run out of segments or descriptors (ulimit -n)")               \
    X(RSMERR_INSUFFICIENT_MEM, "memory or the limit of exported memory is used up")                \
    X(RSMERR_MAP_FAILED, "the segment cannot be mapped here; try -O, which needs no mapping")      \
    X(RSMERR_POLLFD_IN_USE, "the segment's poll descriptor is still in use")                       \
    X(RSMERR_BARRIER_UNINITIALIZED, "the barrier was not initialised")                             \
    X(RSMERR_BARRIER_OPEN_FAILED, "the barrier could not be opened; the link may be down")         \
    X(RSMERR_BARRIER_NOT_OPENED, "the barrier was not opened")                                     \
    X(RSMERR_BARRIER_FAILURE, "an access may have failed on its way; it must be repeated")         \
    X(RSMERR_REMOTE_NODE_UNREACHABLE,                                                              \
      "the node cannot be reached; check -n, and that rsmd or a program runs there")               \
    X(RSMERR_CONN_ABORTED, "the connection is gone: the exporter or its node has ended")           \
    X(RSMERR_INTERRUPTED, "a signal came")                                                         \
    X(RSMERR_TIMEOUT, "the time was over")                                                         \
    X(RSMERR_BAD_APPID, "there is no reservation for this application")                            \
    X(RSMERR_BAD_CONF, "the file of reserved segment ids is missing or not valid")                 \
    X(RSMERR_SEG_NOT_CONNECTED, "the segment is not connected")                                    \
    X(RSMERR_INTERNAL_ERROR, "the controller has no path to that node; check -n and -d")           \
    X(RSMERR_BAD_DRIVER_VERSION, "the other node runs another version of rsmd")                    \
    X(RSMERR_BAD_ARGS_ERRORS, "the descriptors to wait for are not valid")

static bool verbose_wanted;

const char *rsm_error_name(int error)
{
    switch (error) {
#define NAME_CASE(name, text)                                                                      \
    case name:                                                                                     \
        return #name;
        ERROR_LIST(NAME_CASE)
#undef NAME_CASE
    default:
        return "unknown error";
    }
}

const char *rsm_error_text(int error)
{
    switch (error) {
#define TEXT_CASE(name, text)                                                                      \
    case name:                                                                                     \
        return text;
        ERROR_LIST(TEXT_CASE)
#undef TEXT_CASE
    default:
        return "a transport's own error; set RSM_LOG=error to see the library's own words";
    }
}

int report_call(const char *call, int error)
{
    if (error != RSM_SUCCESS)
        complain("%s: %s (%d): %s", call, rsm_error_name(error), error, rsm_error_text(error));
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
