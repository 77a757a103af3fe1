/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Names of system and machine. Not to be had together with Linux's `<sys/sysinfo.h>`, whose
 *  only function has the same name. */
#ifndef _RSM_SOLARIS_SYS_SYSTEMINFO_H
#define _RSM_SOLARIS_SYS_SYSTEMINFO_H

#include <sys/utsname.h>

#define SI_SYSNAME             1 /* "Linux" */
#define SI_HOSTNAME            2
#define SI_RELEASE             3   /* of the kernel */
#define SI_VERSION             4   /* of the kernel: when and how it was built */
#define SI_MACHINE             5   /* as "uname -m" prints it */
#define SI_ARCHITECTURE        6   /* family of the processor: "i386"; else as SI_MACHINE */
#define SI_HW_SERIAL           7   /* host id, decimal */
#define SI_HW_PROVIDER         8   /* who made the machine */
#define SI_SRPC_DOMAIN         9   /* NIS domain; "(none)" without one */
#define SI_PLATFORM            513 /* model of the machine */
#define SI_ISALIST             514 /* instruction sets that run here, best first */
#define SI_ARCHITECTURE_32     516 /* 32-bit instruction set; fails where there is none */
#define SI_ARCHITECTURE_64     517 /* 64-bit instruction set: "amd64"; fails where there is none */
#define SI_ARCHITECTURE_K      518 /* instruction set of the kernel */
#define SI_ARCHITECTURE_NATIVE 519 /* best instruction set of this kernel's programs */

/* For privileged processes. */
#define SI_SET_HOSTNAME    258
#define SI_SET_SRPC_DOMAIN 265

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get or set a string.
 *
 * @param buf    where to put the string, with a NUL, cut off where it does not fit; for the SET
 *               commands the new value.
 * @param count  size of @p buf; with 0 nothing is written.
 * @return bytes that the whole string needs, its NUL included: a result above @p count says "cut
 *         off". Or -1 with errno EINVAL (unknown command, negative count, the machine does not
 *         provide it, new value too long or not ended within @p count bytes), EFAULT (NULL buffer),
 *         EPERM (may not set).
 */
int sysinfo(int command, char *buf, long count) __asm__("rsm_solaris_sysinfo");

#ifdef __cplusplus
}
#endif

#endif
