/* SPDX-License-Identifier: BSD-3-Clause */
/* What a signal's frame has beside the general registers: records one behind the other, each with
 * its kind and its size. */
#include "mapping/decode_arm64.h"

#include <signal.h>
#include <string.h>

#include <asm/sigcontext.h>

enum { SYNDROME_WRITE = 1 << 6, SYNDROME_CACHE_MAINTENANCE = 1 << 8 };
enum { VECTORS = 32, VECTOR_BYTES = 16 };

static const void *find_in(const uint8_t *at, size_t left, uint32_t kind)
{
    struct _aarch64_ctx head;
    while (left >= sizeof head) {
        memcpy(&head, at, sizeof head);
        if (head.magic == kind)
            return at;
        if (head.magic == 0 || head.size < sizeof head || head.size > left)
            return NULL;
        at += head.size;
        left -= head.size;
    }
    return NULL;
}

/* Large records lie elsewhere, where another one says. */
static const void *find(const ucontext_t *context, uint32_t kind)
{
    const uint8_t *records = context->uc_mcontext.__reserved;
    size_t size = sizeof context->uc_mcontext.__reserved;
    const void *found = find_in(records, size, kind);
    const struct extra_context *extra = found == NULL ? find_in(records, size, EXTRA_MAGIC) : NULL;
    return extra == NULL ? found
                         : find_in((const uint8_t *)(uintptr_t)extra->datap, extra->size, kind);
}

/* There is nothing to ask the processor: the records of the frame say where each register is. */
void mapping_vector_init(void)
{
}

bool mapping_vector_value(const ucontext_t *context, unsigned number, size_t length, uint8_t *bytes)
{
    const struct fpsimd_context *vectors = find(context, FPSIMD_MAGIC);
    if (vectors == NULL || number >= VECTORS || length > VECTOR_BYTES)
        return false;
    memcpy(bytes, &vectors->vregs[number], length);
    return true;
}

bool a64_scalable_value(const ucontext_t *context, unsigned number, unsigned predicate,
                        struct a64_scalable *value)
{
    const struct sve_context *scalable = find(context, SVE_MAGIC);
    if (scalable == NULL || !sve_vl_valid(scalable->vl))
        return false;
    unsigned quads = sve_vq_from_vl(scalable->vl);
    if (scalable->head.size < SVE_SIG_CONTEXT_SIZE(quads))
        return false;
    const uint8_t *registers = (const uint8_t *)scalable;
    value->length = scalable->vl;
    value->bytes = registers + SVE_SIG_ZREG_OFFSET(quads, number);
    value->predicate = registers + SVE_SIG_PREG_OFFSET(quads, predicate);
    return true;
}

/* Maintenance of the cache counts as a write in the syndrome, and needs no more than to read. */
bool mapping_is_store(const ucontext_t *context, bool guess)
{
    const struct esr_context *fault = find(context, ESR_MAGIC);
    if (fault == NULL)
        return guess;
    return (fault->esr & SYNDROME_WRITE) != 0 && (fault->esr & SYNDROME_CACHE_MAINTENANCE) == 0;
}
