/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Properties of the machine, in Solaris's manner: a macro is defined or it is not. Exactly one of
 * `_LITTLE_ENDIAN` and `_BIG_ENDIAN` is, and one of `_LP64` and `_ILP32`. The endian macros have a
 * value nevertheless, so that headers that compare them with something do not break.
 */
#ifndef _RSM_SOLARIS_SYS_ISA_DEFS_H
#define _RSM_SOLARIS_SYS_ISA_DEFS_H

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#ifndef _LITTLE_ENDIAN
#define _LITTLE_ENDIAN 1234
#endif
#ifndef _BIT_FIELDS_LTOH
#define _BIT_FIELDS_LTOH
#endif
#else
#ifndef _BIG_ENDIAN
#define _BIG_ENDIAN 4321
#endif
#ifndef _BIT_FIELDS_HTOL
#define _BIT_FIELDS_HTOL
#endif
#endif

/* The compiler itself defines _LP64 where longs and pointers have 64 bits. */
#if !defined(_LP64) && !defined(_ILP32)
#define _ILP32
#endif

#ifdef __CHAR_UNSIGNED__
#define _CHAR_IS_UNSIGNED
#else
#define _CHAR_IS_SIGNED
#endif

#endif
