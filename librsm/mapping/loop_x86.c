/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/loop_state.h"

#include <sys/uio.h>
#include <unistd.h>

#include "mapping/decode.h"
#include "mapping/mapping_internal.h"
#include "mapping/x86.h"

enum { NEAR = 64 };          /* bytes around the first load that are read for it */
enum { REFILLS = 128 };      /* how often memory is read for loads in one run */
enum { ROUNDS = 32 * 1024 }; /* branches that are taken in one run */
enum { AT_ONCE = 16 };       /* rounds that are done at once take as long as one in so many */
enum { IDLE = 64 };          /* instructions in a row, but branches, without a store */
enum { PAGE = 4096, TRAP_FLAG = 0x100 };

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
    uint8_t code[MAPPING_LOOP_CODE] = {0};
    uintptr_t from = at - MAPPING_LOOP_CODE / 2;
    if (loop->ops > 0 && at - loop->code_from < MAPPING_LOOP_CODE - NEAR &&
        at - loop->code_from >= NEAR)
        from = loop->code_from;
    /* Backwards the memory may begin anywhere. */
    size_t before = at - from;
    if (read_memory(from, code, before) < before) {
        size_t page = at % PAGE < before ? at % PAGE : before;
        memset(code, 0, before);
        (void)read_memory(at - page, code + before - page, page);
    }
    loop->code_length = before + read_memory(at, code + before, MAPPING_LOOP_CODE - before);
    if (loop->ops > 0 && from == loop->code_from &&
        memcmp(code, loop->code, MAPPING_LOOP_CODE) == 0)
        return;
    loop->code_from = from;
    memcpy(loop->code, code, MAPPING_LOOP_CODE);
    memset(loop->op_at, 0, sizeof loop->op_at);
    memset(loop->op, 0, sizeof loop->op);
    loop->ops = 1;
}

uint8_t mapping_loop_op(struct mapping_loop *loop, uintptr_t at)
{
    uintptr_t place = at - loop->code_from;
    if (place >= loop->code_length)
        return 0;
    if (loop->op_at[place] == 0 && loop->ops < MAPPING_LOOP_OPS) {
        loop->op[loop->ops] = mapping_loop_code(loop->code + place, loop->code_length - place, at);
        loop->op_at[place] = (uint8_t)loop->ops++;
    }
    return loop->op_at[place];
}

/* ---------------------------------------------------------------- loads */

/* The kernel would wait for a thread that waits for the lock which this one holds. */
size_t mapping_loop_read(struct mapping_loop *loop, uintptr_t from, void *into, size_t length)
{
    if (loop->refills == REFILLS || mapping_view_shows(from, length))
        return 0;
    loop->refills++;
    return read_memory(from, into, length);
}

void mapping_loop_has_read(struct mapping_loop *loop, uintptr_t from, const void *bytes,
                           size_t length)
{
    loop->source_from = from;
    loop->source_length = length;
    memcpy(loop->source, bytes, length);
}

static bool read_source(struct mapping_loop *loop, uintptr_t from, size_t length)
{
    loop->source_from = from;
    loop->source_length = mapping_loop_read(loop, from, loop->source, length);
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
    size_t wanted = MAPPING_LOOP_SOURCE;
    if (loop->source_length == 0) { /* the direction is not known */
        first = from - NEAR;
        wanted = 2 * NEAR + length;
    } else if (from < loop->source_from) {
        first = from + length - MAPPING_LOOP_SOURCE;
    }
    if (read_source(loop, first, wanted) || is_there(loop, from, length))
        return true;
    /* What lies before it is not there, or some of all that is in a view. */
    first = from - from % PAGE;
    return read_source(loop, first, from + length - first);
}

const uint8_t *mapping_loop_load(struct mapping_loop *loop, uintptr_t from, size_t length)
{
    if (!is_there(loop, from, length) && !refill(loop, from, length))
        return NULL;
    return loop->source + (from - loop->source_from);
}

/* ---------------------------------------------------------------- registers */

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

uint8_t *mapping_loop_vector(struct mapping_loop *loop, unsigned number, size_t width)
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
    uint8_t *vector = mapping_loop_vector(loop, op->target, op->width);
    if (vector == NULL)
        return false;
    copy_vector(vector, from, op->width, op->keeps_upper);
    loop->vectors_changed |= UINT32_C(1) << op->target;
    return true;
}

/* ---------------------------------------------------------------- instructions */

static bool do_load(struct mapping_loop *loop, const struct mapping_op *op)
{
    uintptr_t address = mapping_loop_address(loop->reg, op);
    if (op->aligned && address % op->width != 0)
        return false;
    const uint8_t *from = mapping_loop_load(loop, address, op->width);
    if (from == NULL)
        return false;
    if (op->kind == MAPPING_OP_LOAD_VECTOR)
        return load_vector(loop, op, from);
    loop->reg[op->target] = mapping_loop_value(from, op->width);
    return true;
}

static bool do_store(struct mapping_loop *loop, const struct mapping_op *op)
{
    uintptr_t address = mapping_loop_address(loop->reg, op);
    uint64_t value;
    const void *bytes = &value;
    if (op->aligned && address % op->width != 0)
        return false;
    if (op->kind == MAPPING_OP_STORE_VECTOR)
        bytes = mapping_loop_vector(loop, op->source, op->width);
    else
        value = mapping_loop_operand(loop->reg, op);
    if (bytes == NULL || !mapping_loop_take(loop->sink, address, bytes, op->width))
        return false;
    loop->stores++;
    loop->idle = 0;
    return true;
}

static void compute(struct mapping_loop *loop, const struct mapping_op *op)
{
    uint64_t a = loop->reg[op->target], b = mapping_loop_operand(loop->reg, op), r;
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

bool mapping_loop_step(struct mapping_loop *loop, const struct mapping_op *op)
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
        loop->reg[op->target] = mapping_flags_cut(mapping_loop_operand(loop->reg, op), op->width);
        return true;
    case MAPPING_OP_ADDRESS:
        loop->reg[op->target] = mapping_flags_cut(mapping_loop_address(loop->reg, op), op->width);
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
    return op[1].at == loop->at ? op + 1 : &loop->op[mapping_loop_op(loop, loop->at)];
}

/* False: it has gone round often enough, and the program goes on itself. */
static bool carry_out(struct mapping_loop *loop)
{
    const struct mapping_op *op = &loop->op[mapping_loop_op(loop, loop->at)];
    for (unsigned rounds = 0; rounds < ROUNDS; op = op_at(loop, op)) {
        if (op->kind != MAPPING_OP_BRANCH) {
            if (!mapping_loop_step(loop, op))
                return true;
        } else if (mapping_flags_hold(&loop->flags, op->condition)) {
            loop->at = (uintptr_t)op->value;
            rounds += 1 + (unsigned)(mapping_loop_rounds(loop, op) / AT_ONCE);
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
    loop->branch = NULL;
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
    for (unsigned i = 0; i < MAPPING_LOOP_VECTORS; i++)
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
