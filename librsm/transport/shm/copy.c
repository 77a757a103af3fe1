/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/copy.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

bool shm_vectors_work(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx") != 0;
}

bool shm_vectors_pay(void)
{
    return shm_vectors_work() && __builtin_cpu_is("amd") != 0;
}

/* 32 bytes at any address. */
typedef long long vector __attribute__((vector_size(32), aligned(1), may_alias));

enum { VECTOR = sizeof(vector), STEP = 4 * VECTOR };

__attribute__((target("avx"), always_inline)) static inline void copy_step(uint8_t *to,
                                                                           const uint8_t *from)
{
    const vector *source = (const void *)from;
    vector *target = (void *)to;
    vector first = source[0], second = source[1], third = source[2], fourth = source[3];
    target[0] = first;
    target[1] = second;
    target[2] = third;
    target[3] = fourth;
}

__attribute__((target("avx"))) void shm_copy_by_vectors(void *to, const void *from, size_t length)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    uint8_t *last = target + length - STEP;
    const uint8_t *last_source = source + length - STEP;
    copy_step(target, source);
    /* Stores are aligned from here on. */
    size_t done = STEP - (uintptr_t)target % VECTOR;
    for (target += done, source += done; target < last; target += STEP, source += STEP)
        copy_step(target, source);
    copy_step(last, last_source);
}

#else

bool shm_vectors_work(void)
{
    return false;
}

bool shm_vectors_pay(void)
{
    return false;
}

void shm_copy_by_vectors(void *to, const void *from, size_t length)
{
    memcpy(to, from, length);
}

#endif
