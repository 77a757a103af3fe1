/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What sockets programs take from `<stropts.h>`: ioctl() and #INFTIM. Linux has no STREAMS, so what
 * belongs to them is not declared.
 */
#ifndef _RSM_SOLARIS_STROPTS_H
#define _RSM_SOLARIS_STROPTS_H

#include <sys/ioctl.h>

/** Time limit of poll() that says "for ever". */
#ifndef INFTIM
#define INFTIM (-1)
#endif

#endif
