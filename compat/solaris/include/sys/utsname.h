/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/utsname.h>`, and the size of its strings by Solaris's name also in strict
 *  dialects. */
#ifndef _RSM_SOLARIS_SYS_UTSNAME_H
#define _RSM_SOLARIS_SYS_UTSNAME_H
#pragma GCC system_header

#include_next <sys/utsname.h>

/** Bytes of a string in struct utsname: 65 on Linux, 257 on Solaris. */
#ifndef SYS_NMLN
#define SYS_NMLN 65
#endif

#endif
