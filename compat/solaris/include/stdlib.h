/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<stdlib.h>` and what Solaris declares there. */
#ifndef _RSM_SOLARIS_STDLIB_H
#define _RSM_SOLARIS_STDLIB_H
#pragma GCC system_header

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Path of the program that this process runs; NULL if it is not known. The text is the library's,
 *  always the same. */
const char *getexecname(void);

/* glibc's own functions, which it declares in <malloc.h> and <unistd.h>. */
extern void *memalign(size_t alignment, size_t size) __THROW;
#if __GLIBC_PREREQ(2, 34)
extern void closefrom(int lowest) __THROW;
#endif

#ifdef __cplusplus
}
#endif

#endif
