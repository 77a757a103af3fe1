/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator's functions. */
#include "inject_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* dlsym() may allocate before it has found the allocator. */
static _Alignas(16) char early[1 << 16];
static size_t early_used;
static bool looking;

static void *early_block(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof early - early_used)
        abort();
    early_used += size;
    return &early[early_used - size];
}

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

#define CALLER __builtin_return_address(0)

#define FIND(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (real == NULL && !looking) {                                                                \
        looking = true;                                                                            \
        *(void **)(void *)&real = faults_real(#name);                                              \
        looking = false;                                                                           \
    }

static void *note(void *block, const void *caller)
{
    faults_block_made(block, caller);
    return block;
}

void *malloc(size_t size)
{
    FIND(malloc)
    if (real == NULL)
        return early_block(size);
    return faults_fail(FAULT_malloc) ? NULL : note(real(size), CALLER);
}

void *calloc(size_t count, size_t size)
{
    FIND(calloc)
    if (real == NULL)
        return early_block(count * size); /* never used before: zero */
    return faults_fail(FAULT_malloc) ? NULL : note(real(count, size), CALLER);
}

void *realloc(void *block, size_t size)
{
    FIND(realloc)
    if (real == NULL || is_early(block)) {
        void *moved = malloc(size);
        if (moved != NULL && block != NULL)
            memcpy(moved, block, size); /* at most too much of `early` */
        return moved;
    }
    if (faults_fail(FAULT_malloc))
        return NULL;
    faults_block_gone(block);
    void *moved = real(block, size);
    return note(moved != NULL || size == 0 ? moved : block, CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    FIND(posix_memalign)
    if (faults_fail(FAULT_malloc))
        return ENOMEM;
    int error = real(block, alignment, size);
    if (error == 0)
        faults_block_made(*block, CALLER);
    return error;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    FIND(aligned_alloc)
    return faults_fail(FAULT_malloc) ? NULL : note(real(alignment, size), CALLER);
}

void *memalign(size_t alignment, size_t size)
{
    FIND(memalign)
    return faults_fail(FAULT_malloc) ? NULL : note(real(alignment, size), CALLER);
}

void *valloc(size_t size)
{
    FIND(valloc)
    return faults_fail(FAULT_malloc) ? NULL : note(real(size), CALLER);
}

void free(void *block)
{
    FIND(free)
    if (real == NULL || is_early(block))
        return;
    faults_block_gone(block);
    real(block);
}
