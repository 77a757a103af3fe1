/* SPDX-License-Identifier: BSD-3-Clause */
/* Many rounds of a loop at once: what they store is copied from what they load, or computed. */
#include "mapping/loop_state.h"

#include <limits.h>

enum { TAKEN = 3 };          /* rounds that are carried out before anything is expected of them */
enum { LEAST = 4 };          /* rounds that are worth it */
enum { PIECE = 256 * 1024 }; /* bytes at once */
enum { LATER = 32 };         /* rounds until it is tried again with a loop that is not like that */

/* The lowest byte that so many rounds store to, or load from, if the first has it at @p first. */
static uintptr_t lowest(const struct mapping_induction *found, uintptr_t first, uint64_t rounds)
{
    return found->down ? first - (uintptr_t)((rounds - 1) * found->length) : first;
}

/* What the rounds load is what they store. Returns for how many of them it could be read. If that
 * is none, the loop comes to memory that is not there, and is interpreted until it does. */
static uint64_t copy(struct mapping_loop *loop, const struct mapping_induction *found,
                     uint8_t *into, uint64_t rounds)
{
    size_t length = (size_t)rounds * found->length;
    size_t got = mapping_loop_read(loop, lowest(found, found->from, rounds), into, length);
    if (got < length)
        rounds = found->down ? 0 : got / found->length;
    if (rounds == 0) {
        loop->wait = UINT_MAX;
        return 0;
    }
    const uint8_t *last = found->down ? into : into + (rounds - 1) * found->length;
    uintptr_t from = found->from + (found->down ? -(rounds - 1) : rounds - 1) * found->length;
    mapping_loop_has_read(loop, from, last, found->length);
    return rounds;
}

/* Of a length that the compiler knows. */
static void put_value(uint8_t *into, uint64_t value, size_t width)
{
    if (width == 8)
        memcpy(into, &value, 8);
    else if (width == 4)
        memcpy(into, &value, 4);
    else if (width == 2)
        memcpy(into, &value, 2);
    else
        *into = (uint8_t)value;
}

/* What one of the stores of a round stores in so many of them, the first of which is at @p into. */
static void compute_one(const struct mapping_induction_store *store, uint8_t *into, ptrdiff_t step,
                        uint64_t rounds)
{
    uint64_t value = store->value;
    size_t width = store->op->width;
    for (; rounds > 0; rounds--, into += step, value += store->grows)
        if (store->bytes == NULL)
            put_value(into, value, width);
        else
            for (size_t i = 0; i < width; i += 16)
                memcpy(into + i, store->bytes + i, 16);
}

static uint64_t compute(const struct mapping_induction *found, uint8_t *into, uint64_t rounds)
{
    size_t first = found->down ? (size_t)(rounds - 1) * found->length : 0;
    ptrdiff_t step = found->down ? -(ptrdiff_t)found->length : (ptrdiff_t)found->length;
    for (unsigned i = 0; i < found->stores; i++)
        compute_one(&found->store[i], into + first + found->store[i].place, step, rounds);
    return rounds;
}

/* Be where the loop is after so many rounds. The last is carried out but for its stores: it leaves
 * behind what it loads, and the flags. */
static void go_on(struct mapping_loop *loop, const struct mapping_induction *found, uint64_t rounds)
{
    for (unsigned i = 0; i < 16; i++)
        loop->reg[i] += found->grows[i] * (rounds - 1);
    loop->idle = 0;
    for (unsigned i = 0; i < found->ops; i++)
        if (found->op[i]->kind != MAPPING_OP_STORE && found->op[i]->kind != MAPPING_OP_STORE_VECTOR)
            (void)mapping_loop_step(loop, found->op[i]);
    loop->stores += rounds * found->stores;
    loop->idle = 0;
}

static uint64_t carry_out(struct mapping_loop *loop, const struct mapping_induction *found)
{
    uint64_t piece = PIECE / found->length, rounds;
    uint64_t wanted = found->rounds < piece ? found->rounds : piece;
    if (wanted < LEAST)
        return 0;
    size_t length = (size_t)wanted * found->length;
    uint8_t *room =
        mapping_loop_room(loop->sink, lowest(found, found->to, wanted), &length, found->down);
    rounds = room != NULL ? length / found->length : 0;
    if (rounds < LEAST)
        return 0;
    if (found->down) /* a part of a round is left out at the beginning */
        room += length - (size_t)rounds * found->length;
    rounds = found->copies ? copy(loop, found, room, rounds) : compute(found, room, rounds);
    if (rounds == 0)
        return 0;
    mapping_loop_took(loop->sink, (size_t)rounds * found->length);
    go_on(loop, found, rounds);
    return rounds;
}

uint64_t mapping_loop_rounds(struct mapping_loop *loop, const struct mapping_op *op)
{
    if (loop->branch != op) {
        loop->branch = op;
        loop->wait = TAKEN;
    }
    if (loop->wait > 0) {
        loop->wait--;
        return 0;
    }
    if (!mapping_induction_find(loop, op, &loop->induction)) {
        loop->wait = LATER;
        return 0;
    }
    loop->wait = LEAST;
    uint64_t rounds = carry_out(loop, &loop->induction);
    if (rounds > 0)
        loop->wait = 0;
    return rounds;
}
