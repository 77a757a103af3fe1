/* SPDX-License-Identifier: BSD-3-Clause */
/* Processors for which there is no decoder: every page that is stored to gets a twin. */
#include "mapping/decode.h"

bool mapping_decode(const ucontext_t *context, uintptr_t fault, struct mapping_store *store)
{
    (void)context, (void)fault, (void)store;
    return false;
}

uintptr_t mapping_instruction(const ucontext_t *context)
{
    (void)context;
    return 0;
}

void mapping_retire(ucontext_t *context, const struct mapping_store *store, uint64_t elements)
{
    (void)context, (void)store, (void)elements;
}

bool mapping_is_atomic(const ucontext_t *context)
{
    (void)context;
    return false;
}

bool mapping_is_store(const ucontext_t *context, bool guess)
{
#if defined(__x86_64__)
    (void)guess;
    return context->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return guess;
#endif
}
