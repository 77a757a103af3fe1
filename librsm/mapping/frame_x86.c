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

/* Where the frame has a part. NULL: nowhere. */
static uint8_t *find_part(uint8_t *frame, unsigned which)
{
    struct software software;
    memcpy(&software, frame + SOFTWARE_AT, sizeof software);
    if (part[which].size == 0 || software.magic != EXTENDED_MAGIC ||
        (software.features >> which & 1) == 0 ||
        part[which].offset + part[which].size > software.state_size)
        return NULL;
    return frame + part[which].offset;
}

/* Whether the frame says of it: all zero, and so not saved. */
static bool is_initial(const uint8_t *frame, unsigned which)
{
    uint64_t saved;
    memcpy(&saved, frame + LEGACY_BYTES, sizeof saved);
    return (saved >> which & 1) == 0;
}

static bool copy_part(uint8_t *frame, unsigned which, size_t at, size_t length, uint8_t *bytes)
{
    const uint8_t *from = find_part(frame, which);
    if (from == NULL)
        return false;
    if (is_initial(frame, which))
        memset(bytes, 0, length);
    else
        memcpy(bytes, from + at, length);
    return true;
}

size_t mapping_vector_whole(const ucontext_t *context, unsigned number, uint8_t *bytes)
{
    uint8_t *frame = (uint8_t *)context->uc_mcontext.fpregs;
    memset(bytes, 0, 64);
    if (frame == NULL || number >= 32)
        return 0;
    if (number >= 16)
        return copy_part(frame, PART_HIGH_16, (number - 16) * 64u, 64, bytes) ? 64 : 0;
    memcpy(bytes, frame + XMM_AT + number * 16u, 16);
    if (!copy_part(frame, PART_UPPER_128, number * 16u, 16, bytes + 16))
        return 16;
    return copy_part(frame, PART_UPPER_256, number * 32u, 32, bytes + 32) ? 64 : 32;
}

bool mapping_vector_value(const ucontext_t *context, unsigned number, size_t length, uint8_t *bytes)
{
    uint8_t whole[64];
    if (length > mapping_vector_whole(context, number, whole))
        return false;
    memcpy(bytes, whole, length);
    return true;
}

/* A part that was not saved is as good as zero, until the frame says that it was. */
static void change_part(uint8_t *frame, unsigned which, size_t at, size_t length,
                        const uint8_t *bytes)
{
    uint8_t *into = find_part(frame, which);
    uint64_t saved;
    if (into == NULL)
        return;
    if (is_initial(frame, which)) {
        memset(into, 0, part[which].size);
        memcpy(&saved, frame + LEGACY_BYTES, sizeof saved);
        saved |= UINT64_C(1) << which;
        memcpy(frame + LEGACY_BYTES, &saved, sizeof saved);
    }
    memcpy(into + at, bytes, length);
}

void mapping_vector_change(ucontext_t *context, unsigned number, size_t length,
                           const uint8_t *bytes)
{
    uint8_t *frame = (uint8_t *)context->uc_mcontext.fpregs;
    if (number >= 16) {
        change_part(frame, PART_HIGH_16, (number - 16) * 64u, 64, bytes);
        return;
    }
    memcpy(frame + XMM_AT + number * 16u, bytes, 16);
    if (length > 16)
        change_part(frame, PART_UPPER_128, number * 16u, 16, bytes + 16);
    if (length > 32)
        change_part(frame, PART_UPPER_256, number * 32u, 32, bytes + 32);
}
