/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <rsmapi.h>
#include <sisci_api.h>
#include <sisci_error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {RSMERR_CTLR_NOT_PRESENT, "RSMERR_CTLR_NOT_PRESENT",
     "this node has no such controller (-c), or its rsmd cannot be reached or started; check "
     "RSM_NODE, and set RSM_LOG=error to see the library's own words"},
    {RSMERR_BAD_LIBRARY_VERSION, "RSMERR_BAD_LIBRARY_VERSION",
     "the controller's transport was built for another librsm"},
    {RSMERR_SEG_NOT_PUBLISHED, "RSMERR_SEG_NOT_PUBLISHED",
     "no 'rsmperf --serve' runs on that node, or not with this --id"},
    {RSMERR_SEGID_IN_USE, "RSMERR_SEGID_IN_USE",
     "another 'rsmperf --serve' runs on this node, or a '--member'; end it or give both sides "
     "another --id"},
    {RSMERR_PERM_DENIED, "RSMERR_PERM_DENIED",
     "access is not allowed; run both sides as the same user, or the server with umask 0"},
    {RSMERR_REMOTE_NODE_UNREACHABLE, "RSMERR_REMOTE_NODE_UNREACHABLE",
     "the node cannot be reached; is its rsmd running, and does rsmstat --topology show it?"},
    {RSMERR_INTERNAL_ERROR, "RSMERR_INTERNAL_ERROR", "the controller has no path to that node"},
    {RSMERR_CONN_ABORTED, "RSMERR_CONN_ABORTED",
     "the connection is gone: the far side or its node has ended"},
    {RSMERR_BARRIER_FAILURE, "RSMERR_BARRIER_FAILURE", "a transfer failed on its way"},
    {RSMERR_INSUFFICIENT_MEM, "RSMERR_INSUFFICIENT_MEM",
     "memory, or what may be exported of it, is used up; try smaller --sizes"},
    {RSMERR_INSUFFICIENT_RESOURCES, "RSMERR_INSUFFICIENT_RESOURCES",
     "the node or this process has run out of segments, descriptors or locked memory"},
    {RSMERR_BAD_LENGTH, "RSMERR_BAD_LENGTH",
     "the controller takes no segment of that size; try smaller --sizes"},
    {RSMERR_MAP_FAILED, "RSMERR_MAP_FAILED", "this controller cannot map the segment"},
    {RSMERR_BAD_DRIVER_VERSION, "RSMERR_BAD_DRIVER_VERSION",
     "the other node runs another version of rsmd"},
    {RSMERR_TIMEOUT, "RSMERR_TIMEOUT", "this node's rsmd does not answer in time"},
};

/* Below the others: what remains when the bit that all errors of SISCI have is left out. */
enum { SISCI_BASE = -0x10000 };

int trouble_of_sisci(unsigned error)
{
    return SISCI_BASE - (int)(error & 0xffff);
}

static const char *trouble_text(int trouble)
{
    if (trouble <= SISCI_BASE)
        return SCIGetErrorString((sci_error_t)(SISCI_ERR_MASK | (unsigned)(SISCI_BASE - trouble)));
    switch (trouble) {
    case TROUBLE_NO_ANSWER:
        return "the far side does not answer";
    case TROUBLE_PARTNER:
        return "the process beside which this is compared has gone";
    case TROUBLE_BUSY:
        return "the server has no room for another importer, or not the same version";
    case TROUBLE_NO_TCP:
        return "it runs without --limit tcp";
    default:
        return strerror(errno);
    }
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list values)
{
    flockfile(stderr);
    fputs("rsmperf: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
}

void report_error(char text[REPORT_BYTES], const char *call, int error)
{
    if (error < 0) {
        snprintf(text, REPORT_BYTES, "%s: %s", call, trouble_text(error));
        return;
    }
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) {
            snprintf(text, REPORT_BYTES, "%s: %s: %s", call, errors[i].name, errors[i].text);
            return;
        }
    snprintf(text, REPORT_BYTES, "%s: error %d; RSM_LOG=error shows the library's own words", call,
             error);
}
