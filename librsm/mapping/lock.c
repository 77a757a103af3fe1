/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, HELD, CONTENDED };

void mapping_lock(struct mapping_lock *lock)
{
    uint32_t seen = FREE;
    if (atomic_compare_exchange_strong_explicit(&lock->word, &seen, HELD, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&lock->word, CONTENDED, memory_order_acquire) != FREE)
        (void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, CONTENDED, NULL, NULL, 0);
}

void mapping_unlock(struct mapping_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, FREE, memory_order_release) == CONTENDED)
        (void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
