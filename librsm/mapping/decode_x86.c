/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/decode.h"

#include <asm/prctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapping/x86.h"

enum { PAGE = 4096, TRAP_FLAG_STORE = 2, DIRECTION_FLAG = 0x400 };

const int mapping_x86_greg[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};

static uint64_t greg(const ucontext_t *context, int index)
{
    return (uint64_t)context->uc_mcontext.gregs[index];
}

ZyanStatus mapping_x86_decode(const void *bytes, size_t length, struct mapping_x86_decoded *decoded)
{
    ZydisDecoder decoder;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return ZYDIS_STATUS_BAD_REGISTER;
    return ZydisDecoderDecodeFull(&decoder, bytes, length, &decoded->instruction,
                                  decoded->operands);
}

/* The bytes up to the end of the page are there, for the processor fetched the first of them; the
 * next page is there if the instruction goes on in it. */
static bool decode(uintptr_t address, struct mapping_x86_decoded *decoded)
{
    size_t length = PAGE - address % PAGE;
    if (length > ZYDIS_MAX_INSTRUCTION_LENGTH)
        length = ZYDIS_MAX_INSTRUCTION_LENGTH;
    ZyanStatus status = mapping_x86_decode((const void *)address, length, decoded);
    if (status == ZYDIS_STATUS_NO_MORE_DATA && length < ZYDIS_MAX_INSTRUCTION_LENGTH)
        status = mapping_x86_decode((const void *)address, ZYDIS_MAX_INSTRUCTION_LENGTH, decoded);
    return ZYAN_SUCCESS(status);
}

static const ZydisMnemonic plain_moves[] = {
    ZYDIS_MNEMONIC_MOV,       ZYDIS_MNEMONIC_MOVNTI,    ZYDIS_MNEMONIC_MOVD,
    ZYDIS_MNEMONIC_MOVQ,      ZYDIS_MNEMONIC_MOVSS,     ZYDIS_MNEMONIC_MOVSD,
    ZYDIS_MNEMONIC_MOVLPS,    ZYDIS_MNEMONIC_MOVLPD,    ZYDIS_MNEMONIC_MOVAPS,
    ZYDIS_MNEMONIC_MOVAPD,    ZYDIS_MNEMONIC_MOVUPS,    ZYDIS_MNEMONIC_MOVUPD,
    ZYDIS_MNEMONIC_MOVDQA,    ZYDIS_MNEMONIC_MOVDQU,    ZYDIS_MNEMONIC_MOVNTPS,
    ZYDIS_MNEMONIC_MOVNTPD,   ZYDIS_MNEMONIC_MOVNTDQ,   ZYDIS_MNEMONIC_VMOVD,
    ZYDIS_MNEMONIC_VMOVQ,     ZYDIS_MNEMONIC_VMOVSS,    ZYDIS_MNEMONIC_VMOVSD,
    ZYDIS_MNEMONIC_VMOVLPS,   ZYDIS_MNEMONIC_VMOVLPD,   ZYDIS_MNEMONIC_VMOVAPS,
    ZYDIS_MNEMONIC_VMOVAPD,   ZYDIS_MNEMONIC_VMOVUPS,   ZYDIS_MNEMONIC_VMOVUPD,
    ZYDIS_MNEMONIC_VMOVDQA,   ZYDIS_MNEMONIC_VMOVDQA32, ZYDIS_MNEMONIC_VMOVDQA64,
    ZYDIS_MNEMONIC_VMOVDQU,   ZYDIS_MNEMONIC_VMOVDQU8,  ZYDIS_MNEMONIC_VMOVDQU16,
    ZYDIS_MNEMONIC_VMOVDQU32, ZYDIS_MNEMONIC_VMOVDQU64, ZYDIS_MNEMONIC_VMOVNTPS,
    ZYDIS_MNEMONIC_VMOVNTPD,  ZYDIS_MNEMONIC_VMOVNTDQ};

bool mapping_x86_is_plain_move(const ZydisDecodedInstruction *instruction)
{
    for (size_t i = 0; i < sizeof plain_moves / sizeof plain_moves[0]; i++)
        if (plain_moves[i] == instruction->mnemonic)
            return true;
    return false;
}

bool mapping_x86_is_masked(const ZydisDecodedInstruction *instruction)
{
    return instruction->avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
           instruction->avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
}

static bool register_value(const ucontext_t *context, ZydisRegister reg, uint64_t next,
                           uint64_t *value)
{
    if (reg == ZYDIS_REGISTER_NONE) {
        *value = 0;
        return true;
    }
    ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    if (kind == ZYDIS_REGCLASS_IP) {
        *value = next;
        return true;
    }
    if (kind != ZYDIS_REGCLASS_GPR64 && kind != ZYDIS_REGCLASS_GPR32)
        return false;
    *value = greg(context, mapping_x86_greg[ZydisRegisterGetId(reg)]);
    if (kind == ZYDIS_REGCLASS_GPR32)
        *value &= UINT32_MAX;
    return true;
}

static bool segment_base(ZydisRegister segment, uint64_t *base)
{
    *base = 0;
    if (segment == ZYDIS_REGISTER_FS)
        return syscall(SYS_arch_prctl, ARCH_GET_FS, base) == 0;
    if (segment == ZYDIS_REGISTER_GS)
        return syscall(SYS_arch_prctl, ARCH_GET_GS, base) == 0;
    return true;
}

static bool address_of(const ucontext_t *context, const struct mapping_x86_decoded *decoded,
                       uintptr_t *address)
{
    const ZydisDecodedOperandMem *memory = &decoded->operands[0].mem;
    uint64_t next = greg(context, REG_RIP) + decoded->instruction.length;
    uint64_t base, index, segment;
    if (memory->type != ZYDIS_MEMOP_TYPE_MEM ||
        !register_value(context, memory->base, next, &base) ||
        !register_value(context, memory->index, next, &index) ||
        !segment_base(memory->segment, &segment))
        return false;
    uint64_t offset = base + index * memory->scale;
    if (memory->disp.has_displacement)
        offset += (uint64_t)memory->disp.value;
    if (decoded->instruction.address_width == 32)
        offset &= UINT32_MAX;
    *address = segment + offset;
    return true;
}

static bool general_value(const ucontext_t *context, ZydisRegister reg, struct mapping_store *store)
{
    bool high = reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
        return false;
    uint64_t value = greg(context, mapping_x86_greg[ZydisRegisterGetId(whole)]) >> (high ? 8 : 0);
    memcpy(store->bytes, &value, sizeof value);
    return store->width <= sizeof value;
}

static bool value_of(const ucontext_t *context, const struct mapping_x86_decoded *decoded,
                     struct mapping_store *store)
{
    /* A mask register, which here masks nothing, may come between. */
    const ZydisDecodedOperand *source =
        &decoded->operands[decoded->instruction.operand_count_visible - 1];
    if (source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        memcpy(store->bytes, &source->imm.value, sizeof source->imm.value);
        return store->width <= sizeof source->imm.value;
    }
    if (source->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    switch (ZydisRegisterGetClass(source->reg.value)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return general_value(context, source->reg.value, store);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return mapping_vector_value(context, (unsigned)ZydisRegisterGetId(source->reg.value),
                                    store->width, store->bytes);
    default:
        return false;
    }
}

/* String instructions that store. */
static const struct string_store {
    ZydisMnemonic mnemonic;
    uint8_t width;
    bool moves; /* from memory, not from a register */
} string_stores[] = {
    {ZYDIS_MNEMONIC_MOVSB, 1, true}, {ZYDIS_MNEMONIC_STOSB, 1, false},
    {ZYDIS_MNEMONIC_MOVSW, 2, true}, {ZYDIS_MNEMONIC_STOSW, 2, false},
    {ZYDIS_MNEMONIC_MOVSD, 4, true}, {ZYDIS_MNEMONIC_STOSD, 4, false},
    {ZYDIS_MNEMONIC_MOVSQ, 8, true}, {ZYDIS_MNEMONIC_STOSQ, 8, false},
};

static const struct string_store *find_string_store(ZydisMnemonic mnemonic)
{
    for (size_t i = 0; i < sizeof string_stores / sizeof string_stores[0]; i++)
        if (string_stores[i].mnemonic == mnemonic)
            return &string_stores[i];
    return NULL;
}

static bool decode_string(const ucontext_t *context, const struct mapping_x86_decoded *decoded,
                          struct mapping_store *store)
{
    ZydisInstructionAttributes attributes = decoded->instruction.attributes;
    const struct string_store *known = find_string_store(decoded->instruction.mnemonic);
    if (known == NULL || (attributes & ZYDIS_ATTRIB_HAS_SEGMENT) ||
        decoded->instruction.address_width != 64 || (attributes & ZYDIS_ATTRIB_HAS_REPNE) ||
        (greg(context, REG_EFL) & DIRECTION_FLAG))
        return false;
    bool moves = known->moves;
    store->width = known->width;
    store->string = true;
    store->repeated = (attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
    store->address = greg(context, REG_RDI);
    store->elements = store->repeated ? greg(context, REG_RCX) : 1;
    uint64_t value = greg(context, REG_RAX);
    memcpy(store->bytes, &value, sizeof value);
    store->source = moves ? greg(context, REG_RSI) : 0;
    return store->elements > 0 && !(moves && store->source == 0);
}

bool mapping_decode(const ucontext_t *context, uintptr_t fault, struct mapping_store *store)
{
    struct mapping_x86_decoded decoded;
    if (!decode(greg(context, REG_RIP), &decoded) ||
        (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK))
        return false;
    memset(store, 0, sizeof *store);
    store->instruction = decoded.instruction.length;
    if (decoded.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP)
        return decode_string(context, &decoded, store) && store->address == fault;
    store->elements = 1;
    const ZydisDecodedOperand *target = &decoded.operands[0];
    if (!mapping_x86_is_plain_move(&decoded.instruction) ||
        mapping_x86_is_masked(&decoded.instruction) ||
        decoded.instruction.operand_count_visible < 2 || target->type != ZYDIS_OPERAND_TYPE_MEMORY)
        return false;
    store->width = target->size / 8;
    return store->width > 0 && store->width <= MAPPING_STORE_MAX &&
           address_of(context, &decoded, &store->address) && fault >= store->address &&
           fault - store->address < store->width && value_of(context, &decoded, store);
}

bool mapping_is_atomic(const ucontext_t *context)
{
    struct mapping_x86_decoded decoded;
    return decode(greg(context, REG_RIP), &decoded) &&
           ((decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
            decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG);
}

uintptr_t mapping_instruction(const ucontext_t *context)
{
    return (uintptr_t)greg(context, REG_RIP);
}

void mapping_retire(ucontext_t *context, const struct mapping_store *store, uint64_t elements)
{
    greg_t *gregs = context->uc_mcontext.gregs;
    if (store->string) {
        gregs[REG_RDI] += (greg_t)(elements * store->width);
        if (store->source != 0)
            gregs[REG_RSI] += (greg_t)(elements * store->width);
        if (store->repeated)
            gregs[REG_RCX] -= (greg_t)elements;
    }
    if (elements == store->elements)
        gregs[REG_RIP] += store->instruction;
}

bool mapping_is_store(const ucontext_t *context, bool guess)
{
    (void)guess;
    return greg(context, REG_ERR) & TRAP_FLAG_STORE;
}
