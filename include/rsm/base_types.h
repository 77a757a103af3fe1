/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The Solaris base types and constants that RSMAPI uses and that Linux lacks.
 *
 * Other packages that come from Solaris define the same names. Each type here is therefore guarded
 * by `__<name>_defined`, as in glibc: code that already has a type defines that macro before it
 * includes an RSMAPI header, and keeps its own type.
 */
#ifndef _RSM_BASE_TYPES_H
#define _RSM_BASE_TYPES_H

#if !defined(__LP64__)
#error "librsm needs 64-bit pointers: i686 and x32 are not supported"
#endif

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __uchar_t_defined
#define __uchar_t_defined
typedef unsigned char uchar_t;
#endif

#ifndef __ushort_t_defined
#define __ushort_t_defined
typedef unsigned short ushort_t;
#endif

#ifndef __uint_t_defined
#define __uint_t_defined
typedef unsigned int uint_t;
#endif

#ifndef __ulong_t_defined
#define __ulong_t_defined
typedef unsigned long ulong_t;
#endif

/* 64 bits in 32-bit programs too. */
#ifndef __offset_t_defined
#define __offset_t_defined
#ifdef __GNUC__
__extension__ typedef long long offset_t;
#else
typedef long long offset_t;
#endif
#endif

/* glibc has it, but not with -std=c99 and similar options. */
#if !defined(__daddr_t_defined) && !defined(__caddr_t_defined)
#define __caddr_t_defined
typedef char *caddr_t;
#endif

/* Size of the name arrays in the topology structures, terminating NUL included. */
#ifndef MAXNAMELEN
#define MAXNAMELEN 256
#elif MAXNAMELEN != 256
#error "MAXNAMELEN is part of RSMAPI's binary interface and must be 256"
#endif

#ifdef __cplusplus
}
#endif

#endif
