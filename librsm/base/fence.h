/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Fences for memory that others access: shared memory, stores past the cache, and windows of
 *  devices. A fence of C11 orders what processors of this host see. On arm64 that is too little for
 *  a window: its memory is not cached, and a device observes it. These order both.
 *  doc/memory-order.md says where they are needed. */
#pragma once

#define RSM_FENCE __attribute__((always_inline)) static inline

/** Everything before it has been performed before anything after it: stores past the cache, too. */
RSM_FENCE void rsm_fence_full(void)
{
#if defined(__x86_64__)
    /* Two instructions that together do what mfence does, in a quarter of its time: sfence for
     * non-temporal stores, which memcpy() may use for large copies and programs on their mappings,
     * and a locked instruction, which nothing passes, for the rest. Its operand is a line of the
     * stack that no load waits for: the line at the top holds the return address, and using that
     * costs 3 ns. */
    __asm__ volatile("sfence\n\tlock orl $0, -64(%%rsp)" ::: "memory", "cc");
#elif defined(__i386__)
    __asm__ volatile("sfence\n\tlock orl $0, (%%esp)" ::: "memory", "cc");
#elif defined(__aarch64__)
    __asm__ volatile("dmb sy" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/** Stores before it have left the processor's buffers before it goes on, and other hosts see them
 *  before those after it. */
RSM_FENCE void rsm_fence_stores(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/** Loads before it, of a window, too, have been performed before anything after it. */
RSM_FENCE void rsm_fence_loads(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb ld" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/** Loads of memory before it have been performed before anything after it. x86 keeps that order for
 *  cached memory by itself. */
RSM_FENCE void rsm_fence_acquire(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dmb ld" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/** In a loop that waits for another processor. */
RSM_FENCE void rsm_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* takes about as long; yield takes no time on most */
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#undef RSM_FENCE
