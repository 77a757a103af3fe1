/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/decode.h"

#include <cpuid.h>
#include <string.h>

/* Parts of the saved state, by their bit in its header. */
enum { PART_UPPER_128 = 2, PART_UPPER_256 = 6, PART_HIGH_16 = 7, PARTS = 8 };
enum { LEGACY_BYTES = 512, XMM_AT = 160, SOFTWARE_AT = 464, XSAVE_LEAF = 0xd };
#define EXTENDED_MAGIC 0x46505853u

/* What the kernel says at SOFTWARE_AT about the rest of the frame. */
struct software {
    uint32_t magic, extended_size;
    uint64_t features;
    uint32_t state_size;
};

static struct {
    uint32_t offset, size; /* size 0: this processor does not have it */
} part[PARTS];

void mapping_vector_init(void)
{
    for (unsigned i = PART_UPPER_128; i < PARTS; i++) {
        unsigned size = 0, offset = 0, flags, unused;
        if (__get_cpuid_count(XSAVE_LEAF, i, &size, &offset, &flags, &unused) && size > 0) {
            part[i].offset = offset;
            part[i].size = size;
        }
    }
}

/* Where the frame has a part; NULL with *initial where the part is all zero and so not saved. */
static const uint8_t *find_part(const uint8_t *frame, unsigned which, bool *initial)
{
    struct software software;
    uint64_t saved;
    *initial = false;
    memcpy(&software, frame + SOFTWARE_AT, sizeof software);
    if (part[which].size == 0 || software.magic != EXTENDED_MAGIC ||
        (software.features >> which & 1) == 0 ||
        part[which].offset + part[which].size > software.state_size)
        return NULL;
    memcpy(&saved, frame + LEGACY_BYTES, sizeof saved);
    *initial = (saved >> which & 1) == 0;
    return *initial ? NULL : frame + part[which].offset;
}

static bool copy_part(const uint8_t *frame, unsigned which, size_t at, size_t length,
                      uint8_t *bytes)
{
    bool initial;
    const uint8_t *from = find_part(frame, which, &initial);
    if (from == NULL && !initial)
        return false;
    if (initial)
        memset(bytes, 0, length);
    else
        memcpy(bytes, from + at, length);
    return true;
}

bool mapping_vector_value(const ucontext_t *context, unsigned number, size_t length, uint8_t *bytes)
{
    const uint8_t *frame = (const uint8_t *)context->uc_mcontext.fpregs;
    uint8_t whole[64];
    if (frame == NULL || number >= 32 || length > sizeof whole)
        return false;
    if (number >= 16) {
        if (!copy_part(frame, PART_HIGH_16, (number - 16) * 64u, 64, whole))
            return false;
    } else {
        memcpy(whole, frame + XMM_AT + number * 16u, 16);
        if (length > 16 && !copy_part(frame, PART_UPPER_128, number * 16u, 16, whole + 16))
            return false;
        if (length > 32 && !copy_part(frame, PART_UPPER_256, number * 32u, 32, whole + 32))
            return false;
    }
    memcpy(bytes, whole, length);
    return true;
}
