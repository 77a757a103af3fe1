/* SPDX-License-Identifier: BSD-3-Clause */
/* Two rounds are computed ahead, without what they load. All that is computed is a sum of registers
 * and numbers, or this is not such a loop. So if the second round changes the registers by what the
 * first has changed them by, all others do, and all addresses and sums grow by a constant, too. */
#include "mapping/loop_induction.h"

#include "mapping/loop_state.h"

/* What is compared is below that, so products do not overflow. */
#define BOUND    (INT64_C(1) << 61)
#define STEP_MAX (INT64_C(1) << 31)

enum { NOT_LOADED = 0xff };

struct study {
    struct mapping_loop *loop;
    struct mapping_induction *found;
    uint32_t written; /* registers that a round changes, a bit for each */
    uint32_t varying; /* those that now have a value which was loaded in this round */
    uint32_t vectors; /* vectors that a round loads */
    uint32_t loaded;  /* those that it has loaded by now */
    uint8_t reg_by[16], vector_by[MAPPING_LOOP_VECTORS]; /* the load that did */
    uint8_t source[MAPPING_ROUND_OPS]; /* of a store: the load that it has its value from */
    uint32_t at_first;                 /* `varying` when a round begins */
    const struct mapping_op *flags;    /* the last that changes them */
};

/* ---------------------------------------------------------------- what belongs to a round */

static bool is_load(const struct mapping_op *op)
{
    return op->kind == MAPPING_OP_LOAD || op->kind == MAPPING_OP_LOAD_VECTOR;
}

static bool is_store(const struct mapping_op *op)
{
    return op->kind == MAPPING_OP_STORE || op->kind == MAPPING_OP_STORE_VECTOR;
}

static bool only_compares(const struct mapping_op *op)
{
    return op->kind == MAPPING_OP_COMPARE || op->kind == MAPPING_OP_TEST;
}

static bool adds(const struct mapping_op *op)
{
    return op->kind == MAPPING_OP_ADD || op->kind == MAPPING_OP_INCREMENT;
}

/* The instructions from where the branch goes to up to it. */
static bool collect(struct study *study, const struct mapping_op *branch)
{
    struct mapping_induction *found = study->found;
    uintptr_t at = (uintptr_t)branch->value;
    for (found->ops = 0; at != branch->at; found->ops++) {
        const struct mapping_op *op = &study->loop->op[mapping_loop_op(study->loop, at)];
        if (at > branch->at || found->ops == MAPPING_ROUND_OPS || op->kind == MAPPING_OP_UNKNOWN ||
            op->kind == MAPPING_OP_BRANCH)
            return false;
        found->op[found->ops] = op;
        at += op->length;
    }
    return true;
}

static uint32_t bit(unsigned number)
{
    return UINT32_C(1) << number;
}

static bool has(uint32_t set, uint8_t number)
{
    return number != MAPPING_OP_NONE && (set & bit(number)) != 0;
}

static bool address_has(uint32_t set, const struct mapping_op *op)
{
    return has(set, op->base) || has(set, op->index);
}

/* Whether it loads, with each round, from another place. */
static bool is_varying(const struct study *study, const struct mapping_op *op)
{
    return op->kind == MAPPING_OP_LOAD_VECTOR ||
           (op->kind == MAPPING_OP_LOAD && address_has(study->written, op));
}

/* What a round changes, and what it fills by loads from places that change. */
static void note_targets(struct study *study)
{
    const struct mapping_induction *found = study->found;
    for (unsigned i = 0; i < found->ops; i++) {
        const struct mapping_op *op = found->op[i];
        if (op->kind == MAPPING_OP_LOAD_VECTOR)
            study->vectors |= bit(op->target);
        else if (!is_store(op) && !only_compares(op) && op->kind != MAPPING_OP_NOTHING)
            study->written |= bit(op->target);
    }
    for (unsigned i = 0; i < found->ops; i++)
        if (found->op[i]->kind == MAPPING_OP_LOAD && is_varying(study, found->op[i]))
            study->at_first |= bit(found->op[i]->target);
}

/* ---------------------------------------------------------------- a round, computed */

/* From a place that is always the same: memory at one moment, as all that is loaded. */
static bool load_again(struct study *study, struct mapping_round *round,
                       const struct mapping_op *op)
{
    uintptr_t address = mapping_loop_address(round->reg, op);
    const uint8_t *from = mapping_loop_load(study->loop, address, op->width);
    if (from == NULL)
        return false;
    round->reg[op->target] = mapping_loop_value(from, op->width);
    study->varying &= ~bit(op->target);
    return true;
}

static bool play_load(struct study *study, struct mapping_round *round, unsigned i)
{
    const struct mapping_op *op = study->found->op[i];
    if (address_has(study->varying, op))
        return false;
    round->result[i] = mapping_loop_address(round->reg, op);
    if (op->kind == MAPPING_OP_LOAD_VECTOR) {
        study->loaded |= bit(op->target);
        study->vector_by[op->target] = (uint8_t)i;
        return true;
    }
    if (!address_has(study->written, op))
        return load_again(study, round, op);
    study->varying |= bit(op->target);
    study->reg_by[op->target] = (uint8_t)i;
    return true;
}

/* A vector that was loaded in an earlier round is not followed, nor a register. */
static bool play_store(struct study *study, struct mapping_round *round, unsigned i)
{
    const struct mapping_op *op = study->found->op[i];
    bool vector = op->kind == MAPPING_OP_STORE_VECTOR;
    uint8_t by = NOT_LOADED;
    if (address_has(study->varying, op))
        return false;
    round->result[i] = mapping_loop_address(round->reg, op);
    if (vector && has(study->vectors, op->source))
        by = has(study->loaded, op->source) ? study->vector_by[op->source] : MAPPING_ROUND_OPS;
    else if (!vector && has(study->varying, op->source))
        by = study->reg_by[op->source];
    else if (!vector)
        round->stored[i] = mapping_loop_operand(round->reg, op);
    study->source[i] = by;
    return by == NOT_LOADED || (by < i && study->found->op[by]->width == op->width);
}

static bool play_sum(struct study *study, struct mapping_round *round, unsigned i)
{
    const struct mapping_op *op = study->found->op[i];
    uint64_t a = round->reg[op->target], b = mapping_loop_operand(round->reg, op), sum = a - b;
    if (has(study->varying, op->target) || has(study->varying, op->source) ||
        (op->kind == MAPPING_OP_TEST && op->source != op->target))
        return false;
    if (op->kind == MAPPING_OP_TEST)
        b = 0, sum = a;
    if (adds(op))
        sum = a + b;
    study->flags = op;
    round->a = mapping_flags_cut(a, op->width);
    round->b = mapping_flags_cut(b, op->width);
    round->compared = sum;
    round->result[i] = sum;
    if (!only_compares(op))
        round->reg[op->target] = mapping_flags_cut(sum, op->width);
    return true;
}

static bool play_move(struct study *study, struct mapping_round *round, unsigned i)
{
    const struct mapping_op *op = study->found->op[i];
    bool address = op->kind == MAPPING_OP_ADDRESS;
    if (address ? address_has(study->varying, op) : has(study->varying, op->source))
        return false;
    round->result[i] =
        address ? mapping_loop_address(round->reg, op) : mapping_loop_operand(round->reg, op);
    round->reg[op->target] = mapping_flags_cut(round->result[i], op->width);
    study->varying &= ~bit(op->target);
    return true;
}

static bool play_one(struct study *study, struct mapping_round *round, unsigned i)
{
    switch (study->found->op[i]->kind) {
    case MAPPING_OP_NOTHING:
        return true;
    case MAPPING_OP_LOAD:
    case MAPPING_OP_LOAD_VECTOR:
        return play_load(study, round, i);
    case MAPPING_OP_STORE:
    case MAPPING_OP_STORE_VECTOR:
        return play_store(study, round, i);
    case MAPPING_OP_MOVE:
    case MAPPING_OP_ADDRESS:
        return play_move(study, round, i);
    case MAPPING_OP_ADD:
    case MAPPING_OP_SUBTRACT:
    case MAPPING_OP_COMPARE:
    case MAPPING_OP_TEST:
    case MAPPING_OP_INCREMENT:
    case MAPPING_OP_DECREMENT:
        return play_sum(study, round, i);
    default:
        return false;
    }
}

static bool play(struct study *study, struct mapping_round *round, const uint64_t reg[16])
{
    memcpy(round->reg, reg, sizeof round->reg);
    study->varying = study->at_first;
    study->loaded = 0;
    study->flags = NULL;
    for (unsigned i = 0; i < study->found->ops; i++)
        if (!play_one(study, round, i))
            return false;
    return true;
}

/* Whether each register grows as it did the time before. */
static bool is_steady(struct study *study)
{
    const uint64_t *now = study->loop->reg, *then = study->found->round[0].reg,
                   *later = study->found->round[1].reg;
    for (unsigned i = 0; i < 16; i++) {
        bool known = !has(study->at_first, (uint8_t)i);
        study->found->grows[i] = known ? then[i] - now[i] : 0;
        if (known && later[i] - then[i] != study->found->grows[i])
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- how many rounds */

/* How often a number that grows by @p step is in [low, high]. */
static uint64_t times_within(int64_t value, int64_t step, int64_t low, int64_t high)
{
    if (value < low || value > high || step > STEP_MAX || step < -STEP_MAX)
        return 0;
    if (step == 0)
        return UINT64_MAX;
    return (uint64_t)(step > 0 ? (high - value) / step : (value - low) / -step) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How often a - b has the sign that it has now. Never, if it is 0 and does not stay so: that is one
 * round. */
static uint64_t times_of_sign(int64_t difference, int64_t step)
{
    if (difference == 0)
        return step == 0 ? UINT64_MAX : 0;
    return difference > 0 ? times_within(difference, step, 1, 2 * BOUND)
                          : times_within(difference, step, -2 * BOUND, -1);
}

/* What is beyond them becomes another number that is. */
static int64_t number_of(uint64_t value, size_t width, bool is_signed)
{
    if (is_signed && width == 4)
        return (int32_t)value;
    return (int64_t)value > 2 * BOUND    ? 2 * BOUND
           : (int64_t)value < -2 * BOUND ? -2 * BOUND
                                         : (int64_t)value;
}

/* How many rounds compare as this one does, by numbers with or without a sign. */
static uint64_t times_compared(const struct study *study, bool is_signed)
{
    size_t width = study->flags->width;
    const struct mapping_round *now = &study->found->round[0], *then = &study->found->round[1];
    int64_t low = is_signed ? (width == 4 ? INT32_MIN : -BOUND) : 0;
    int64_t high = width == 8 ? BOUND : is_signed ? INT32_MAX : UINT32_MAX;
    int64_t a = number_of(now->a, width, is_signed), b = number_of(now->b, width, is_signed);
    int64_t a_step = number_of(then->a, width, is_signed) - a;
    int64_t b_step = number_of(then->b, width, is_signed) - b;
    uint64_t times = least(times_within(a, a_step, low, high), times_within(b, b_step, low, high));
    if (times == 0)
        return 0;
    if (adds(study->flags))
        b = -b, b_step = -b_step;
    return least(times, times_of_sign(a - b, a_step - b_step));
}

/* Of the conditions, by pairs: those that ask for more than how two numbers compare end it. */
static uint64_t times_taken(const struct study *study, const struct mapping_op *branch)
{
    const struct mapping_op *op = study->flags;
    struct mapping_flags flags = {.known = 0};
    if (branch->condition == MAPPING_OP_ALWAYS)
        return UINT64_MAX;
    if (op == NULL)
        return 0;
    mapping_flags_after(&flags, op, study->found->round[0].a, study->found->round[0].b,
                        study->found->round[0].compared);
    if (!mapping_flags_hold(&flags, branch->condition))
        return 0;
    switch (branch->condition / 2) {
    case 1: /* carry */
    case 3: /* carry or zero */
        return adds(op) || op->kind == MAPPING_OP_DECREMENT ? 0 : times_compared(study, false);
    case 4: /* sign */
        return op->width == 8 ? times_compared(study, true) : 0;
    case 2: /* zero */
    case 6: /* less */
    case 7: /* less or zero */
        return times_compared(study, true);
    default:
        return 0;
    }
}

/* How long sums of 4 bytes do not begin again at 0. */
static uint64_t times_narrow(const struct study *study)
{
    const struct mapping_induction *found = study->found;
    uint64_t times = UINT64_MAX;
    for (unsigned i = 0; i < found->ops; i++) {
        const struct mapping_op *op = found->op[i];
        uint64_t now = study->found->round[0].result[i],
                 step = study->found->round[1].result[i] - now;
        if (op->width == 4 && step != 0 && !is_load(op) && !is_store(op) && !only_compares(op))
            times = least(times, times_within((int64_t)now, (int64_t)step, 0, UINT32_MAX));
    }
    return times;
}

/* ---------------------------------------------------------------- what is stored */

static const struct mapping_op *op_of(const struct study *study, unsigned i)
{
    return study->found->op[i];
}

/* The stores follow one another, and those of the next round follow them. */
static bool is_stretch(struct study *study)
{
    struct mapping_induction *found = study->found;
    const uint64_t *address = study->found->round[0].result;
    uint64_t low = 0, high = 0, step = 0;
    found->stores = 0;
    for (unsigned i = 0; i < found->ops; i++) {
        uint64_t from = address[i], to = from + op_of(study, i)->width;
        if (!is_store(op_of(study, i)))
            continue;
        uint64_t grows = found->round[1].result[i] - from;
        if (found->stores++ == 0)
            low = from, high = to, step = grows;
        else if (grows == step && from == high && (int64_t)step > 0)
            high = to;
        else if (grows == step && to == low && (int64_t)step < 0)
            low = from;
        else
            return false;
    }
    found->to = low;
    found->length = high - low;
    found->down = (int64_t)step < 0;
    return found->length > 0 && (found->down ? -step : step) == found->length;
}

static bool is_aligned(const struct study *study)
{
    for (unsigned i = 0; i < study->found->ops; i++)
        if (op_of(study, i)->aligned &&
            (study->found->round[0].result[i] | study->found->round[1].result[i]) %
                    op_of(study, i)->width !=
                0)
            return false;
    return true;
}

/* What is loaded lies as it is stored, and all of it is stored. */
static bool find_source(struct study *study)
{
    struct mapping_induction *found = study->found;
    const uint64_t *now = study->found->round[0].result, *then = study->found->round[1].result;
    unsigned loads = 0, stores = 0;
    for (unsigned i = 0; i < found->ops; i++) {
        loads += is_load(op_of(study, i));
        if (!is_store(op_of(study, i)))
            continue;
        uint8_t by = study->source[i];
        if (by == NOT_LOADED)
            return false;
        uintptr_t from = now[by] - (now[i] - found->to);
        if (then[by] - now[by] != then[i] - now[i] || (stores++ > 0 && from != found->from))
            return false;
        found->from = from;
    }
    return loads == stores;
}

static bool find_values(struct study *study)
{
    struct mapping_induction *found = study->found;
    for (unsigned i = 0, stores = 0; i < found->ops; i++) {
        const struct mapping_op *op = op_of(study, i);
        if (is_varying(study, op))
            return false;
        if (!is_store(op))
            continue;
        const uint8_t *bytes = NULL;
        if (op->kind == MAPPING_OP_STORE_VECTOR &&
            (bytes = mapping_loop_vector(study->loop, op->source, op->width)) == NULL)
            return false;
        found->store[stores++] = (struct mapping_induction_store){
            .op = op,
            .place = study->found->round[0].result[i] - found->to,
            .value = study->found->round[0].stored[i],
            .grows = study->found->round[1].stored[i] - study->found->round[0].stored[i],
            .bytes = bytes};
    }
    return true;
}

bool mapping_induction_find(struct mapping_loop *loop, const struct mapping_op *branch,
                            struct mapping_induction *found)
{
    struct study study = {.loop = loop, .found = found};
    if (!collect(&study, branch))
        return false;
    note_targets(&study);
    if (!play(&study, &found->round[0], loop->reg))
        return false;
    unsigned refills = loop->refills;
    if (!play(&study, &found->round[1], found->round[0].reg) || loop->refills != refills ||
        !is_steady(&study) || !is_stretch(&study) || !is_aligned(&study))
        return false;
    found->rounds = least(times_taken(&study, branch), times_narrow(&study));
    found->copies = find_source(&study);
    return found->copies || find_values(&study);
}
