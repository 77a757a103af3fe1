/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The private interface of librsm.so.2: what stands between these two macros in a header is
 *  exported in the version node RSM_PRIVATE_<version>, for the faces, the mapping engine and
 *  modules of this version of librsm. All names there begin with rsmcore_, so that no program
 *  defines one by chance.
 *
 *  RSMCORE_BUILDS_LIBRSM is set for the objects that librsm.so.2 is made of. Elsewhere, in rsmd and
 *  in modules that bring their own base, the same functions stay hidden. */
#pragma once

#ifdef RSMCORE_BUILDS_LIBRSM
#define RSMCORE_EXPORTS_BEGIN _Pragma("GCC visibility push(default)")
#define RSMCORE_EXPORTS_END   _Pragma("GCC visibility pop")
#else
#define RSMCORE_EXPORTS_BEGIN
#define RSMCORE_EXPORTS_END
#endif
