/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/loop_code.h"

#include "mapping/x86.h"

/* Instructions of one form: up to two operands, the first a register. */
static const struct {
    ZydisMnemonic mnemonic;
    uint8_t kind;
} plain[] = {
    {ZYDIS_MNEMONIC_ADD, MAPPING_OP_ADD},       {ZYDIS_MNEMONIC_SUB, MAPPING_OP_SUBTRACT},
    {ZYDIS_MNEMONIC_CMP, MAPPING_OP_COMPARE},   {ZYDIS_MNEMONIC_AND, MAPPING_OP_AND},
    {ZYDIS_MNEMONIC_TEST, MAPPING_OP_TEST},     {ZYDIS_MNEMONIC_OR, MAPPING_OP_OR},
    {ZYDIS_MNEMONIC_XOR, MAPPING_OP_XOR},       {ZYDIS_MNEMONIC_INC, MAPPING_OP_INCREMENT},
    {ZYDIS_MNEMONIC_DEC, MAPPING_OP_DECREMENT}, {ZYDIS_MNEMONIC_MOV, MAPPING_OP_MOVE},
};

/* By the number that the processor has for them. */
static const ZydisMnemonic branches[] = {
    ZYDIS_MNEMONIC_JO, ZYDIS_MNEMONIC_JNO, ZYDIS_MNEMONIC_JB,  ZYDIS_MNEMONIC_JNB,
    ZYDIS_MNEMONIC_JZ, ZYDIS_MNEMONIC_JNZ, ZYDIS_MNEMONIC_JBE, ZYDIS_MNEMONIC_JNBE,
    ZYDIS_MNEMONIC_JS, ZYDIS_MNEMONIC_JNS, ZYDIS_MNEMONIC_JP,  ZYDIS_MNEMONIC_JNP,
    ZYDIS_MNEMONIC_JL, ZYDIS_MNEMONIC_JNL, ZYDIS_MNEMONIC_JLE, ZYDIS_MNEMONIC_JNLE};

/* They say what will be needed, and change nothing. */
static const ZydisMnemonic hints[] = {
    ZYDIS_MNEMONIC_NOP,        ZYDIS_MNEMONIC_ENDBR64,     ZYDIS_MNEMONIC_PREFETCHT0,
    ZYDIS_MNEMONIC_PREFETCHT1, ZYDIS_MNEMONIC_PREFETCHT2,  ZYDIS_MNEMONIC_PREFETCHNTA,
    ZYDIS_MNEMONIC_PREFETCHW,  ZYDIS_MNEMONIC_PREFETCHWT1, ZYDIS_MNEMONIC_PREFETCH};

static bool is_general(ZydisRegister reg, size_t width)
{
    ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    switch (width) {
    case 1: /* the high halves of the lowest 16 bits are not among these */
        return kind == ZYDIS_REGCLASS_GPR8 && (reg < ZYDIS_REGISTER_AH || reg > ZYDIS_REGISTER_BH);
    case 2:
        return kind == ZYDIS_REGCLASS_GPR16;
    case 4:
        return kind == ZYDIS_REGCLASS_GPR32;
    default:
        return width == 8 && kind == ZYDIS_REGCLASS_GPR64;
    }
}

/* Registers of 8 bits are numbered apart, with the high halves among them. */
static uint8_t number_of(ZydisRegister reg)
{
    return (uint8_t)ZydisRegisterGetId(
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
}

static bool is_vector(ZydisRegister reg, size_t width)
{
    ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    return (width == 16 && kind == ZYDIS_REGCLASS_XMM) ||
           (width == 32 && kind == ZYDIS_REGCLASS_YMM) ||
           (width == 64 && kind == ZYDIS_REGCLASS_ZMM);
}

static bool address_register(ZydisRegister reg, uint8_t *number)
{
    *number = reg == ZYDIS_REGISTER_NONE ? MAPPING_OP_NONE : number_of(reg);
    return reg == ZYDIS_REGISTER_NONE || is_general(reg, 8);
}

/* Whether an operand is an address that can be computed here. Segments are for the processor. */
static bool address_of(const struct mapping_x86_decoded *decoded,
                       const ZydisDecodedOperand *operand, uintptr_t next, struct mapping_op *op)
{
    const ZydisDecodedOperandMem *memory = &operand->mem;
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || decoded->instruction.address_width != 64 ||
        memory->segment == ZYDIS_REGISTER_FS || memory->segment == ZYDIS_REGISTER_GS ||
        (memory->type != ZYDIS_MEMOP_TYPE_MEM && memory->type != ZYDIS_MEMOP_TYPE_AGEN))
        return false;
    op->offset = memory->disp.has_displacement ? memory->disp.value : 0;
    op->scale = memory->scale;
    if (memory->base == ZYDIS_REGISTER_RIP) {
        op->base = op->index = MAPPING_OP_NONE;
        op->offset += (int64_t)next;
        return memory->index == ZYDIS_REGISTER_NONE;
    }
    return address_register(memory->base, &op->base) && address_register(memory->index, &op->index);
}

/* A register or a number, as wide as the operation. */
static bool source_of(const ZydisDecodedOperand *operand, struct mapping_op *op)
{
    if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        op->source = MAPPING_OP_NONE;
        op->value = operand->imm.value.s;
        return true;
    }
    if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || !is_general(operand->reg.value, op->width))
        return false;
    op->source = number_of(operand->reg.value);
    return true;
}

/* To a register of 4 or 8 bytes, by what is in registers or the instruction. */
static bool compute(const struct mapping_x86_decoded *decoded, struct mapping_op *op)
{
    const ZydisDecodedOperand *to = &decoded->operands[0];
    op->width = (uint8_t)(to->size / 8);
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || op->width < 4 ||
        !is_general(to->reg.value, op->width))
        return false;
    op->target = number_of(to->reg.value);
    if (decoded->instruction.operand_count_visible == 2)
        return source_of(&decoded->operands[1], op);
    op->source = MAPPING_OP_NONE;
    op->value = 1;
    return op->kind == MAPPING_OP_INCREMENT || op->kind == MAPPING_OP_DECREMENT;
}

static bool must_be_aligned(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
        return true;
    default:
        return false;
    }
}

/* Between memory and a vector register as a whole. */
static bool move_vector(const struct mapping_x86_decoded *decoded,
                        const ZydisDecodedOperand *memory, const ZydisDecodedOperand *reg,
                        struct mapping_op *op)
{
    ZydisRegister name = reg->reg.value;
    if (!is_vector(name, op->width))
        return false;
    op->aligned = must_be_aligned(decoded->instruction.mnemonic);
    op->keeps_upper = decoded->instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    op->target = op->source = (uint8_t)ZydisRegisterGetId(name);
    op->kind = memory == &decoded->operands[0] ? MAPPING_OP_STORE_VECTOR : MAPPING_OP_LOAD_VECTOR;
    return true;
}

/* A mask register, which here masks nothing, may come before it. */
static const ZydisDecodedOperand *last_operand(const struct mapping_x86_decoded *decoded)
{
    return &decoded->operands[decoded->instruction.operand_count_visible - 1];
}

static bool load(const struct mapping_x86_decoded *decoded, uintptr_t next, struct mapping_op *op)
{
    const ZydisDecodedOperand *to = &decoded->operands[0], *from = last_operand(decoded);
    op->width = (uint8_t)(from->size / 8);
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || !address_of(decoded, from, next, op))
        return false;
    if (decoded->instruction.mnemonic != ZYDIS_MNEMONIC_MOVZX && op->width > 8)
        return move_vector(decoded, from, to, op);
    op->kind = MAPPING_OP_LOAD;
    op->target = number_of(to->reg.value);
    return op->width <= 8 && (is_general(to->reg.value, 4) || is_general(to->reg.value, 8));
}

static bool store(const struct mapping_x86_decoded *decoded, uintptr_t next, struct mapping_op *op)
{
    const ZydisDecodedOperand *to = &decoded->operands[0], *from = last_operand(decoded);
    op->width = (uint8_t)(to->size / 8);
    if (!address_of(decoded, to, next, op))
        return false;
    if (op->width > 8)
        return from->type == ZYDIS_OPERAND_TYPE_REGISTER && move_vector(decoded, to, from, op);
    op->kind = MAPPING_OP_STORE;
    return source_of(from, op);
}

static bool move(const struct mapping_x86_decoded *decoded, uintptr_t next, struct mapping_op *op)
{
    if (mapping_x86_is_masked(&decoded->instruction))
        return false;
    return decoded->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? store(decoded, next, op)
                                                                  : load(decoded, next, op);
}

static bool branch(const struct mapping_x86_decoded *decoded, uintptr_t next, struct mapping_op *op)
{
    const ZydisDecodedOperand *to = &decoded->operands[0];
    op->condition = MAPPING_OP_ALWAYS;
    for (uint8_t i = 0; i < sizeof branches / sizeof branches[0]; i++)
        if (decoded->instruction.mnemonic == branches[i])
            op->condition = i;
    if (op->condition == MAPPING_OP_ALWAYS && decoded->instruction.mnemonic != ZYDIS_MNEMONIC_JMP)
        return false;
    op->kind = MAPPING_OP_BRANCH;
    op->value = (int64_t)next + to->imm.value.s;
    return to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->imm.is_relative;
}

static bool is_hint(ZydisMnemonic mnemonic)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hints[i] == mnemonic)
            return true;
    return false;
}

static uint8_t plain_kind(ZydisMnemonic mnemonic)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (plain[i].mnemonic == mnemonic)
            return plain[i].kind;
    return MAPPING_OP_UNKNOWN;
}

static bool understand(const struct mapping_x86_decoded *decoded, uintptr_t next,
                       struct mapping_op *op)
{
    const ZydisDecodedInstruction *instruction = &decoded->instruction;
    if (instruction->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP |
                                   ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        return false;
    if (is_hint(instruction->mnemonic))
        return op->kind = MAPPING_OP_NOTHING, true;
    if (instruction->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        return branch(decoded, next, op);
    if (instruction->operand_count_visible == 0)
        return false;
    if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA) {
        op->kind = MAPPING_OP_ADDRESS;
        op->target = number_of(decoded->operands[0].reg.value);
        op->width = (uint8_t)(decoded->operands[0].size / 8);
        return op->width >= 4 && address_of(decoded, &decoded->operands[1], next, op);
    }
    if (instruction->mnemonic == ZYDIS_MNEMONIC_MOVZX)
        return load(decoded, next, op);
    op->kind = plain_kind(instruction->mnemonic);
    if (op->kind != MAPPING_OP_UNKNOWN && compute(decoded, op))
        return true;
    return instruction->meta.category != ZYDIS_CATEGORY_STRINGOP &&
           mapping_x86_is_plain_move(instruction) && move(decoded, next, op);
}

struct mapping_op mapping_loop_code(const uint8_t *bytes, size_t length, uintptr_t address)
{
    struct mapping_x86_decoded decoded;
    struct mapping_op op = {.kind = MAPPING_OP_UNKNOWN, .at = address};
    if (!ZYAN_SUCCESS(mapping_x86_decode(bytes, length, &decoded)))
        return op;
    op.length = decoded.instruction.length;
    if (!understand(&decoded, address + op.length, &op))
        op.kind = MAPPING_OP_UNKNOWN;
    return op;
}
