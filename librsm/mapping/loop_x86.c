/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/loop.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mapping/decode.h"
#include "mapping/loop_code.h"
#include "mapping/loop_flags.h"
#include "mapping/mapping_internal.h"
#include "mapping/x86.h"

enum { CODE = 512, OPS = 128 };         /* bytes of code around the store, instructions there */
enum { SOURCE = 32 * 1024, NEAR = 64 }; /* bytes that are read for loads at once */
enum { REFILLS = 128 };                 /* and how often in one run */
enum { ROUNDS = 32 * 1024 };            /* branches that are taken in one run */
enum { IDLE = 64 };                     /* instructions in a row, but branches, without a store */
enum { VECTORS = 32, VECTOR = 64 };
enum { PAGE = 4096, TRAP_FLAG = 0x100 };

struct mapping_loop {
    /* The program's code, and what is known of it. It may change between two runs. */
    uintptr_t code_from;
    size_t code_length; /* bytes up to the end of what could be read */
    uint8_t code[CODE];
    uint8_t op_at[CODE];           /* which of ops begins there; 0: that has not been looked up */
    struct mapping_op op[OPS + 1]; /* the first and those behind the last are not known */
    unsigned ops;

    /* What loads find: the memory at one moment. A later part replaces an earlier one as a whole,
     * so no load finds older memory than one before it. */
    uintptr_t source_from;
    size_t source_length;
    unsigned refills;
    uint8_t source[SOURCE];

    uintptr_t at; /* the instruction to carry out next */
    uint64_t reg[16];
    struct mapping_flags flags;
    uint8_t vector[VECTORS][VECTOR];
    uint8_t vector_bytes[VECTORS];           /* how much of it the frame has */
    uint32_t vectors_known, vectors_changed; /* a bit for each */

    ucontext_t *context;
    struct mapping_loop_sink *sink;
    uint64_t stores;
    unsigned idle; /* instructions since the last one */
};

size_t mapping_loop_bytes(void)
{
    return sizeof(struct mapping_loop);
}

/* How much of this process's memory could be read. It may end anywhere, or may not be there. */
static size_t read_memory(uintptr_t from, void *into, size_t length)
{
    struct iovec local = {into, length}, remote = {(void *)from, length};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* ---------------------------------------------------------------- code */

/* Have the code around @p at. What cannot be read in front of it is 0, and as code an instruction
 * that is not known. */
static void read_code(struct mapping_loop *loop, uintptr_t at)
{
    uint8_t code[CODE] = {0};
    uintptr_t from = at - CODE / 2;
    if (loop->ops > 0 && at - loop->code_from < CODE - NEAR && at - loop->code_from >= NEAR)
        from = loop->code_from;
    /* Backwards the memory may begin anywhere. */
    size_t before = at - from;
    if (read_memory(from, code, before) < before) {
        size_t page = at % PAGE < before ? at % PAGE : before;
        memset(code, 0, before);
        (void)read_memory(at - page, code + before - page, page);
    }
    loop->code_length = before + read_memory(at, code + before, CODE - before);
    if (loop->ops > 0 && from == loop->code_from && memcmp(code, loop->code, CODE) == 0)
        return;
    loop->code_from = from;
    memcpy(loop->code, code, CODE);
    memset(loop->op_at, 0, sizeof loop->op_at);
    memset(loop->op, 0, sizeof loop->op);
    loop->ops = 1;
}

/* The number of the instruction there; 0: none that is known. */
static uint8_t number_at(struct mapping_loop *loop, uintptr_t at)
{
    uintptr_t place = at - loop->code_from;
    if (place >= loop->code_length)
        return 0;
    if (loop->op_at[place] == 0 && loop->ops < OPS) {
        loop->op[loop->ops] = mapping_loop_code(loop->code + place, loop->code_length - place, at);
        loop->op_at[place] = (uint8_t)loop->ops++;
    }
    return loop->op_at[place];
}

/* ---------------------------------------------------------------- loads */

static bool read_source(struct mapping_loop *loop, uintptr_t from, size_t length)
{
    loop->source_from = from;
    /* The kernel would wait for a thread that waits for the lock which this one holds. */
    bool ours = mapping_view_shows(from, length);
    loop->source_length = ours ? 0 : read_memory(from, loop->source, length);
    return loop->source_length == length;
}

static bool is_there(const struct mapping_loop *loop, uintptr_t from, size_t length)
{
    size_t at = from - loop->source_from;
    return at <= loop->source_length && length <= loop->source_length - at;
}

/* Have the memory [from, from + length), and what lies behind it in the direction in which the loop
 * seems to go. */
static bool refill(struct mapping_loop *loop, uintptr_t from, size_t length)
{
    uintptr_t first = from;
    size_t wanted = SOURCE;
    if (++loop->refills > REFILLS)
        return false;
    if (loop->source_length == 0) { /* the direction is not known */
        first = from - NEAR;
        wanted = 2 * NEAR + length;
    } else if (from < loop->source_from) {
        first = from + length - SOURCE;
    }
    if (read_source(loop, first, wanted) || is_there(loop, from, length))
        return true;
    /* What lies before it is not there, or some of all that is in a view. */
    first = from - from % PAGE;
    return read_source(loop, first, from + length - first);
}

static const uint8_t *load(struct mapping_loop *loop, uintptr_t from, size_t length)
{
    if (!is_there(loop, from, length) && !refill(loop, from, length))
        return NULL;
    return loop->source + (from - loop->source_from);
}

/* ---------------------------------------------------------------- registers */

/* Of 1, 2, 4 or 8 bytes. The compiler makes a string instruction of a copy whose length it does not
 * know, which takes longer than all the rest. */
static uint64_t value_at(const uint8_t *from, size_t width)
{
    uint64_t value = *from;
    if (width == 8)
        memcpy(&value, from, 8);
    else if (width == 4)
        memcpy(&value, from, 4);
    else if (width == 2)
        memcpy(&value, from, 2);
    return width == 8 ? value : value & ((UINT64_C(1) << (width * 8)) - 1);
}

/* Of 16, 32 or 64 bytes; what lies above them becomes 0 unless it is kept. */
static void copy_vector(uint8_t *into, const uint8_t *from, size_t width, bool keeps_upper)
{
    memcpy(into, from, 16);
    if (width > 16)
        memcpy(into + 16, from + 16, 16);
    else if (!keeps_upper)
        memset(into + 16, 0, 16);
    if (width > 32)
        memcpy(into + 32, from + 32, 32);
    else if (!keeps_upper)
        memset(into + 32, 0, 32);
}

/* NULL: the frame has not so much of it. */
static uint8_t *vector_of(struct mapping_loop *loop, unsigned number, size_t width)
{
    if ((loop->vectors_known >> number & 1) == 0) {
        loop->vector_bytes[number] =
            (uint8_t)mapping_vector_whole(loop->context, number, loop->vector[number]);
        loop->vectors_known |= UINT32_C(1) << number;
    }
    return width <= loop->vector_bytes[number] ? loop->vector[number] : NULL;
}

static bool load_vector(struct mapping_loop *loop, const struct mapping_op *op, const uint8_t *from)
{
    uint8_t *vector = vector_of(loop, op->target, op->width);
    if (vector == NULL)
        return false;
    copy_vector(vector, from, op->width, op->keeps_upper);
    loop->vectors_changed |= UINT32_C(1) << op->target;
    return true;
}

static uintptr_t address_of(const struct mapping_loop *loop, const struct mapping_op *op)
{
    uint64_t address = (uint64_t)op->offset;
    if (op->base != MAPPING_OP_NONE)
        address += loop->reg[op->base];
    if (op->index != MAPPING_OP_NONE)
        address += loop->reg[op->index] * op->scale;
    return address;
}

static uint64_t source_of(const struct mapping_loop *loop, const struct mapping_op *op)
{
    return op->source != MAPPING_OP_NONE ? loop->reg[op->source] : (uint64_t)op->value;
}

/* ---------------------------------------------------------------- instructions */

static bool do_load(struct mapping_loop *loop, const struct mapping_op *op)
{
    uintptr_t address = address_of(loop, op);
    if (op->aligned && address % op->width != 0)
        return false;
    const uint8_t *from = load(loop, address, op->width);
    if (from == NULL)
        return false;
    if (op->kind == MAPPING_OP_LOAD_VECTOR)
        return load_vector(loop, op, from);
    loop->reg[op->target] = value_at(from, op->width);
    return true;
}

static bool do_store(struct mapping_loop *loop, const struct mapping_op *op)
{
    uintptr_t address = address_of(loop, op);
    uint64_t value;
    const void *bytes = &value;
    if (op->aligned && address % op->width != 0)
        return false;
    if (op->kind == MAPPING_OP_STORE_VECTOR)
        bytes = vector_of(loop, op->source, op->width);
    else
        value = source_of(loop, op);
    if (bytes == NULL || !mapping_loop_take(loop->sink, address, bytes, op->width))
        return false;
    loop->stores++;
    loop->idle = 0;
    return true;
}

static void compute(struct mapping_loop *loop, const struct mapping_op *op)
{
    uint64_t a = loop->reg[op->target], b = source_of(loop, op), r;
    switch (op->kind) {
    case MAPPING_OP_ADD:
        r = a + b;
        break;
    case MAPPING_OP_AND:
    case MAPPING_OP_TEST:
        r = a & b;
        break;
    case MAPPING_OP_OR:
        r = a | b;
        break;
    case MAPPING_OP_XOR:
        r = a ^ b;
        break;
    default:
        r = a - b;
    }
    mapping_flags_after(&loop->flags, op, a, b, r);
    if (op->kind != MAPPING_OP_COMPARE && op->kind != MAPPING_OP_TEST)
        loop->reg[op->target] = loop->flags.r;
}

/* Those that leave the carry as it was. */
static void count(struct mapping_loop *loop, const struct mapping_op *op)
{
    uint64_t a = loop->reg[op->target];
    (void)mapping_flags_get(&loop->flags);
    mapping_flags_after(&loop->flags, op, a, 1, op->kind == MAPPING_OP_INCREMENT ? a + 1 : a - 1);
    loop->reg[op->target] = loop->flags.r;
}

/* Carry out one that is no branch. False: not this one, nothing has happened. */
static inline bool step(struct mapping_loop *loop, const struct mapping_op *op)
{
    if (++loop->idle > IDLE)
        return false;
    switch (op->kind) {
    case MAPPING_OP_UNKNOWN:
        return false;
    case MAPPING_OP_NOTHING:
        return true;
    case MAPPING_OP_LOAD:
    case MAPPING_OP_LOAD_VECTOR:
        return do_load(loop, op);
    case MAPPING_OP_STORE:
    case MAPPING_OP_STORE_VECTOR:
        return do_store(loop, op);
    case MAPPING_OP_MOVE:
        loop->reg[op->target] = mapping_flags_cut(source_of(loop, op), op->width);
        return true;
    case MAPPING_OP_ADDRESS:
        loop->reg[op->target] = mapping_flags_cut(address_of(loop, op), op->width);
        return true;
    case MAPPING_OP_INCREMENT:
    case MAPPING_OP_DECREMENT:
        count(loop, op);
        return true;
    default:
        compute(loop, op);
        return true;
    }
}

/* The one at `at`, which mostly is the one that was looked up after @p op. */
static const struct mapping_op *op_at(struct mapping_loop *loop, const struct mapping_op *op)
{
    return op[1].at == loop->at ? op + 1 : &loop->op[number_at(loop, loop->at)];
}

/* False: it has gone round often enough, and the program goes on itself. */
static bool carry_out(struct mapping_loop *loop)
{
    const struct mapping_op *op = &loop->op[number_at(loop, loop->at)];
    for (unsigned rounds = 0; rounds < ROUNDS; op = op_at(loop, op)) {
        if (op->kind != MAPPING_OP_BRANCH) {
            if (!step(loop, op))
                return true;
        } else if (mapping_flags_hold(&loop->flags, op->condition)) {
            loop->at = (uintptr_t)op->value;
            rounds++;
            continue;
        }
        loop->at += op->length;
    }
    return false;
}

/* ---------------------------------------------------------------- */

static void begin(struct mapping_loop *loop, ucontext_t *context, struct mapping_loop_sink *sink)
{
    const greg_t *gregs = context->uc_mcontext.gregs;
    loop->context = context;
    loop->sink = sink;
    loop->at = (uintptr_t)gregs[REG_RIP];
    loop->stores = 0;
    loop->idle = 0;
    loop->source_length = 0;
    loop->refills = 0;
    loop->vectors_known = loop->vectors_changed = 0;
    for (unsigned i = 0; i < 16; i++)
        loop->reg[i] = (uint64_t)gregs[mapping_x86_greg[i]];
    mapping_flags_set(&loop->flags, (uint64_t)gregs[REG_EFL]);
}

static void end(struct mapping_loop *loop)
{
    greg_t *gregs = loop->context->uc_mcontext.gregs;
    for (unsigned i = 0; i < 16; i++)
        gregs[mapping_x86_greg[i]] = (greg_t)loop->reg[i];
    gregs[REG_EFL] = (greg_t)mapping_flags_get(&loop->flags);
    gregs[REG_RIP] = (greg_t)loop->at;
    for (unsigned i = 0; i < VECTORS; i++)
        if (loop->vectors_changed >> i & 1)
            mapping_vector_change(loop->context, i, loop->vector_bytes[i], loop->vector[i]);
}

struct mapping_loop_run mapping_loop_run(struct mapping_loop *loop, ucontext_t *context,
                                         struct mapping_loop_sink *sink)
{
    if (context->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG) /* a debugger looks at each */
        return (struct mapping_loop_run){.cut = true};
    begin(loop, context, sink);
    read_code(loop, loop->at);
    bool cut = carry_out(loop);
    if (loop->stores > 0)
        end(loop);
    return (struct mapping_loop_run){.stores = loop->stores, .cut = cut};
}
