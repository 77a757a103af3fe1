/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<string.h>` and the bounded copies, which glibc has since 2.38. */
#ifndef _RSM_SOLARIS_STRING_H
#define _RSM_SOLARIS_STRING_H
#pragma GCC system_header

#include_next <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !__GLIBC_PREREQ(2, 38)
/** Copy @p src to @p dst of @p size bytes, cut off where it does not fit; @p dst ends with a NUL
 *  unless size is 0. Returns strlen(src): a result that is not below @p size says "cut off". */
size_t strlcpy(char *dst, const char *src, size_t size);

/** Append @p src to @p dst of @p size bytes in all. Returns the length that was wanted, which is
 *  @p size + strlen(src) where @p dst has no NUL within its size. */
size_t strlcat(char *dst, const char *src, size_t size);
#endif

/* With _GNU_SOURCE, which rsm-solaris.pc sets, glibc's strerror_r() is another function than the
 * one of POSIX and of Solaris. */
#ifdef __USE_GNU
extern int __xpg_strerror_r(int error, char *buffer, size_t size) __THROW;
#define strerror_r __xpg_strerror_r
#endif

#ifdef __cplusplus
}
#endif

#endif
