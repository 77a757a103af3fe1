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

bool succeeded(const char *function, sci_error_t error)
{
    if (error != SCI_ERR_OK)
        complain("%s: %s (%#x)", function, SCIGetErrorString(error), (unsigned)error);
    return error == SCI_ERR_OK;
}
