/* SPDX-License-Identifier: BSD-3-Clause */
#include "explorer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 1 << 23, SLOTS = STATES_MAX * 2 };

/* All states that were reached, in the order in which they were; each knows how. */
static struct {
    const struct model *model;
    unsigned variant;
    unsigned char *states;
    uint32_t *parents;
    uint8_t *moves;
    uint32_t *slots; /* by hash: number of the state + 1; 0: free */
    uint32_t count;
} found;

static void *state_at(uint32_t number)
{
    return found.states + (size_t)number * found.model->size;
}

static uint32_t hash_of(const unsigned char *state)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < found.model->size; i++)
        hash = (hash ^ state[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29) & (SLOTS - 1);
}

static void add(const void *state, uint32_t parent, unsigned move)
{
    uint32_t slot = hash_of(state);
    for (; found.slots[slot] != 0; slot = (slot + 1) & (SLOTS - 1))
        if (memcmp(state_at(found.slots[slot] - 1), state, found.model->size) == 0)
            return;
    if (found.count == STATES_MAX) {
        fprintf(stderr, "%s: more than %d states\n", found.model->name, STATES_MAX);
        exit(1);
    }
    memcpy(state_at(found.count), state, found.model->size);
    found.parents[found.count] = parent;
    found.moves[found.count] = (uint8_t)move;
    found.slots[slot] = ++found.count;
}

static void print_way(uint32_t number)
{
    if (number == 0)
        return;
    print_way(found.parents[number]);
    printf("    %s\n", found.model->moves[found.moves[number]]);
}

/* What is wrong with some state, *where; NULL: nothing, and all have been seen. */
static const char *explore(uint32_t *where)
{
    const struct model *model = found.model;
    _Alignas(16) unsigned char next[MODEL_STATE_MAX] = {0};
    memset(found.slots, 0, SLOTS * sizeof *found.slots);
    found.count = 0;
    model->begin(next);
    add(next, 0, 0);
    for (*where = 0; *where < found.count; ++*where) {
        bool final = true;
        for (unsigned move = 0; model->moves[move] != NULL; move++) {
            memcpy(next, state_at(*where), model->size);
            if (!model->move(next, move, found.variant))
                continue;
            final = false;
            add(next, *where, move);
        }
        memcpy(next, state_at(*where), model->size);
        const char *wrong = model->wrong(next, final);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static int check_variant(unsigned variant)
{
    uint32_t where;
    found.variant = variant;
    const char *wrong = explore(&where);
    printf("%s: %s: %u states: %s\n", found.model->name, found.model->variants[variant],
           found.count, wrong != NULL ? wrong : "nothing is wrong");
    if (wrong != NULL && (variant == 0 || getenv("RSM_MODEL_TRACES") != NULL))
        print_way(where);
    if ((wrong != NULL) == (variant != 0))
        return 0;
    printf("%s: FAILED: %s\n", found.model->name,
           variant == 0 ? "the model as it should be has a state that must not be"
                        : "the mistake was not found");
    return 1;
}

int model_check(const struct model *model)
{
    int status = 0;
    found.model = model;
    found.states = malloc((size_t)STATES_MAX * model->size);
    found.parents = malloc(STATES_MAX * sizeof *found.parents);
    found.moves = malloc(STATES_MAX * sizeof *found.moves);
    found.slots = malloc(SLOTS * sizeof *found.slots);
    if (found.states == NULL || found.parents == NULL || found.moves == NULL || found.slots == NULL)
        return 1;
    for (unsigned variant = 0; model->variants[variant] != NULL; variant++)
        status |= check_variant(variant);
    free(found.states);
    free(found.parents);
    free(found.moves);
    free(found.slots);
    return status;
}
