/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Atomic operations on memory that threads or processes share. Each is a full barrier, as on the
 * machines that programs using them were written for.
 *
 * atomic_OP_TYPE() returns nothing, atomic_OP_TYPE_nv() the new value; atomic_cas and atomic_swap
 * return the old one. A compare and swap has happened if the result is the expected value.
 */
#ifndef _RSM_SOLARIS_SYS_ATOMIC_H
#define _RSM_SOLARIS_SYS_ATOMIC_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define RSM_SOLARIS_ATOMIC_OP(op, builtin, suffix, type, operand)                                  \
    static __inline__ type op##_##suffix##_nv(volatile type *target, operand value)                \
    {                                                                                              \
        return builtin(target, (type)value, __ATOMIC_SEQ_CST);                                     \
    }                                                                                              \
    static __inline__ void op##_##suffix(volatile type *target, operand value)                     \
    {                                                                                              \
        (void)builtin(target, (type)value, __ATOMIC_SEQ_CST);                                      \
    }

#define RSM_SOLARIS_ATOMIC_STEP(op, builtin, suffix, type)                                         \
    static __inline__ type op##_##suffix##_nv(volatile type *target)                               \
    {                                                                                              \
        return builtin(target, (type)1, __ATOMIC_SEQ_CST);                                         \
    }                                                                                              \
    static __inline__ void op##_##suffix(volatile type *target)                                    \
    {                                                                                              \
        (void)builtin(target, (type)1, __ATOMIC_SEQ_CST);                                          \
    }

/* Everything for one unsigned type; atomic_add's name and operand are the signed one's. */
#define RSM_SOLARIS_ATOMICS(suffix, type, add_suffix, add_type)                                    \
    RSM_SOLARIS_ATOMIC_STEP(atomic_inc, __atomic_add_fetch, suffix, type)                          \
    RSM_SOLARIS_ATOMIC_STEP(atomic_dec, __atomic_sub_fetch, suffix, type)                          \
    RSM_SOLARIS_ATOMIC_OP(atomic_add, __atomic_add_fetch, add_suffix, type, add_type)              \
    RSM_SOLARIS_ATOMIC_OP(atomic_or, __atomic_or_fetch, suffix, type, type)                        \
    RSM_SOLARIS_ATOMIC_OP(atomic_and, __atomic_and_fetch, suffix, type, type)                      \
    static __inline__ type atomic_cas_##suffix(volatile type *target, type expected, type value)   \
    {                                                                                              \
        (void)__atomic_compare_exchange_n(target, &expected, value, 0, __ATOMIC_SEQ_CST,           \
                                          __ATOMIC_SEQ_CST);                                       \
        return expected;                                                                           \
    }                                                                                              \
    static __inline__ type atomic_swap_##suffix(volatile type *target, type value)                 \
    {                                                                                              \
        return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);                               \
    }
/* clang-format on */

RSM_SOLARIS_ATOMICS(8, uint8_t, 8, int8_t)
RSM_SOLARIS_ATOMICS(16, uint16_t, 16, int16_t)
RSM_SOLARIS_ATOMICS(32, uint32_t, 32, int32_t)
RSM_SOLARIS_ATOMICS(64, uint64_t, 64, int64_t)
RSM_SOLARIS_ATOMICS(uchar, unsigned char, char, signed char)
RSM_SOLARIS_ATOMICS(ushort, unsigned short, short, short)
RSM_SOLARIS_ATOMICS(uint, unsigned int, int, int)
RSM_SOLARIS_ATOMICS(ulong, unsigned long, long, long)

#undef RSM_SOLARIS_ATOMIC_OP
#undef RSM_SOLARIS_ATOMIC_STEP
#undef RSM_SOLARIS_ATOMICS

/** Move the pointer at @p target by @p bytes. */
static __inline__ void *atomic_add_ptr_nv(volatile void *target, ssize_t bytes)
{
    return __atomic_add_fetch((void *volatile *)target, bytes, __ATOMIC_SEQ_CST);
}

static __inline__ void atomic_add_ptr(volatile void *target, ssize_t bytes)
{
    (void)atomic_add_ptr_nv(target, bytes);
}

static __inline__ void *atomic_cas_ptr(volatile void *target, void *expected, void *value)
{
    (void)__atomic_compare_exchange_n((void *volatile *)target, &expected, value, 0,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

static __inline__ void *atomic_swap_ptr(volatile void *target, void *value)
{
    return __atomic_exchange_n((void *volatile *)target, value, __ATOMIC_SEQ_CST);
}

/** Set bit @p bit; 0, or -1 if it was set. */
static __inline__ int atomic_set_long_excl(volatile unsigned long *target, unsigned int bit)
{
    unsigned long mask = 1ul << bit;
    return (__atomic_fetch_or(target, mask, __ATOMIC_SEQ_CST) & mask) != 0 ? -1 : 0;
}

/** Clear bit @p bit; 0, or -1 if it was clear. */
static __inline__ int atomic_clear_long_excl(volatile unsigned long *target, unsigned int bit)
{
    unsigned long mask = 1ul << bit;
    return (__atomic_fetch_and(target, ~mask, __ATOMIC_SEQ_CST) & mask) != 0 ? 0 : -1;
}

/* ThreadSanitizer knows no fences, and gcc says so: there it is an access that orders others too.
 */
#ifdef __SANITIZE_THREAD__
#define RSM_SOLARIS_FENCE(order)                                                                   \
    do {                                                                                           \
        int fence = 0;                                                                             \
        (void)__atomic_exchange_n(&fence, 1, __ATOMIC_SEQ_CST);                                    \
    } while (0)
#else
#define RSM_SOLARIS_FENCE(order) __atomic_thread_fence(order)
#endif

/** After taking a lock: its acquisition before all later accesses. */
static __inline__ void membar_enter(void)
{
    RSM_SOLARIS_FENCE(__ATOMIC_SEQ_CST);
}

/** Before releasing a lock: all earlier accesses before its release. */
static __inline__ void membar_exit(void)
{
    RSM_SOLARIS_FENCE(__ATOMIC_SEQ_CST);
}

/** Earlier stores before later stores. */
static __inline__ void membar_producer(void)
{
    RSM_SOLARIS_FENCE(__ATOMIC_RELEASE);
}

/** Earlier loads before later loads. */
static __inline__ void membar_consumer(void)
{
    RSM_SOLARIS_FENCE(__ATOMIC_ACQUIRE);
}

#undef RSM_SOLARIS_FENCE

#ifdef __cplusplus
}
#endif

#endif
