/* SPDX-License-Identifier: BSD-3-Clause */
#include "scitest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    (void)vfprintf(stderr, format, arguments); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    (void)fputc('\n', stderr);
    va_end(arguments);
}

/* What the user of scitest can do about it. */
static const char *hint(sci_error_t error)
{
    switch (error) {
    case SCI_ERR_NO_SUCH_ADAPTERNO:
    case SCI_ERR_ILLEGAL_ADAPTERNO:
        return "; check -a: adapters are the controllers of this node, see rsmstat --controllers";
    case SCI_ERR_NO_SUCH_NODEID:
    case SCI_ERR_ILLEGAL_NODEID:
    case SCI_ERR_NO_REMOTE_LINK_ACCESS:
    case SCI_ERR_NODE_NOT_RESPONDING:
        return "; check -n, and that rsmd or a program runs there: see rsmstat --topology";
    case SCI_ERR_NO_SUCH_SEGMENT:
        return "; start the server there, or check -n and -k";
    case SCI_ERR_SEGMENTID_USED:
        return "; another server on this node uses the id: end that one or choose another (-k)";
    case SCI_ERR_CONNECTION_REFUSED:
    case SCI_ERR_ACCESS:
        return "; run both sides as the same user, or the server with umask 0";
    case SCI_ERR_NOSPC:
        return "; memory or a limit of the node is used up: see rsmstat --shares";
    case SCI_ERR_NO_LINK_ACCESS:
    case SCI_ERR_SYSTEM:
    case SCI_ERR_NOT_INITIALIZED:
        return "; rsmd of this node cannot be reached or started: check RSM_NODE, and set "
               "RSM_LOG=error "
               "to see the library's own words";
    default:
        return "";
    }
}

bool succeeded(const char *function, sci_error_t error)
{
    if (error != SCI_ERR_OK)
        complain("%s: %s (%#x)%s", function, SCIGetErrorString(error), (unsigned)error,
                 hint(error));
    return error == SCI_ERR_OK;
}
