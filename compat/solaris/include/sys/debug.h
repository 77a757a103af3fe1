/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Assertions. VERIFY() and its relatives always look; ASSERT() and its relatives only where DEBUG
 * is defined. What fails is written to stderr with file and line, and the process ends by abort().
 *
 * VERIFY3S(), VERIFY3U() and VERIFY3P() compare signed numbers, unsigned ones and pointers, and
 * show both sides: VERIFY3S(count, <=, limit).
 */
#ifndef _RSM_SOLARIS_SYS_DEBUG_H
#define _RSM_SOLARIS_SYS_DEBUG_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Report a failed assertion and end the process. It never returns; it has a result so that it can
 *  be an operand. */
int assfail(const char *assertion, const char *file, int line);

/** The same with the values of both sides and the comparison between them. */
void assfail3(const char *assertion, u_longlong_t left, const char *comparison, u_longlong_t right,
              const char *file, int line);

#ifdef __cplusplus
}
#endif

/* clang-format off */
#define VERIFY(EX) ((void)((EX) || assfail(#EX, __FILE__, __LINE__)))

#define RSM_SOLARIS_VERIFY3(left, comparison, right, type)                                         \
    do {                                                                                           \
        const type rsm_left_ = (type)(left);                                                       \
        const type rsm_right_ = (type)(right);                                                     \
        if (!(rsm_left_ comparison rsm_right_))                                                    \
            assfail3(#left " " #comparison " " #right, (u_longlong_t)rsm_left_, #comparison, \
                     (u_longlong_t)rsm_right_, __FILE__, __LINE__);                          \
    } while (0)
#define VERIFY3S(left, comparison, right) RSM_SOLARIS_VERIFY3(left, comparison, right, longlong_t)
#define VERIFY3U(left, comparison, right) RSM_SOLARIS_VERIFY3(left, comparison, right, u_longlong_t)
#define VERIFY3P(left, comparison, right) RSM_SOLARIS_VERIFY3(left, comparison, right, ulong_t)
#define VERIFY0(value) VERIFY3U(value, ==, 0)

#ifdef DEBUG
#define ASSERT(EX) VERIFY(EX)
#define ASSERT3S(left, comparison, right) VERIFY3S(left, comparison, right)
#define ASSERT3U(left, comparison, right) VERIFY3U(left, comparison, right)
#define ASSERT3P(left, comparison, right) VERIFY3P(left, comparison, right)
#define ASSERT0(value) VERIFY0(value)
#else
#define ASSERT(EX) ((void)0)
#define ASSERT3S(left, comparison, right) ((void)0)
#define ASSERT3U(left, comparison, right) ((void)0)
#define ASSERT3P(left, comparison, right) ((void)0)
#define ASSERT0(value) ((void)0)
#endif
/* clang-format on */

#endif
