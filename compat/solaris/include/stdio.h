/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<stdio.h>` and getopt(), which Solaris declares there. */
#ifndef _RSM_SOLARIS_STDIO_H
#define _RSM_SOLARIS_STDIO_H
#pragma GCC system_header

#include_next <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not by <getopt.h>: programs have a "struct option" of their own. */
extern char *optarg;
extern int optind, opterr, optopt;
extern int getopt(int argc, char *const *argv, const char *options) __THROW;

#ifdef __cplusplus
}
#endif

#endif
