/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/sysmacros.h>` and Solaris's arithmetic. Arguments are evaluated more than once;
 *  alignments are powers of two. */
#ifndef _RSM_SOLARIS_SYS_SYSMACROS_H
#define _RSM_SOLARIS_SYS_SYSMACROS_H
#pragma GCC system_header

#include_next <sys/sysmacros.h>
#include <stddef.h>
#include <sys/param.h> /* MIN, MAX, howmany, roundup */

#ifndef ABS
#define ABS(a) ((a) < 0 ? -(a) : (a))
#endif
/** Is @p x a power of two (or 0)? */
#ifndef ISP2
#define ISP2(x) (((x) & ((x)-1)) == 0)
#endif
#ifndef IS_P2ALIGNED
#define IS_P2ALIGNED(address, align) ((((size_t)(address)) & ((size_t)(align)-1)) == 0)
#endif
/** Largest multiple of @p align that is not above @p x. */
#ifndef P2ALIGN
#define P2ALIGN(x, align) ((x) & ~((align)-1))
#endif
/** Distance of @p x from that multiple. */
#ifndef P2PHASE
#define P2PHASE(x, align) ((x) & ((align)-1))
#endif
/** Distance of @p x to the smallest multiple that is not below it. */
#ifndef P2NPHASE
#define P2NPHASE(x, align) (-(x) & ((align)-1))
#endif
/** Smallest multiple of @p align that is not below @p x. */
#ifndef P2ROUNDUP
#define P2ROUNDUP(x, align) (((x) + ((align)-1)) & ~((align)-1))
#endif
/** Last number below the next multiple of @p align. */
#ifndef P2END
#define P2END(x, align) ((x) | ((align)-1))
#endif

#endif
