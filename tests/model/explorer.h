/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An exhaustive checker: every state that a model reaches by every order of its moves, the shortest way to a state
 * that must not be, and the same for variants of the model with a mistake in them, each of which must be found.
 */
#ifndef TESTS_MODEL_EXPLORER_H
#define TESTS_MODEL_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_STATE_MAX = 128 };

struct model {
    const char *name;
    size_t size;                /**< of a state, at most MODEL_STATE_MAX; compared byte by byte */
    void (*begin)(void *state); /**< of a state of zeroes */
    const char *const
        *moves; /**< what they are and which function each stands for; ends with NULL */
    const char *const
        *variants; /**< the mistakes; variant 0 is the model as it should be; ends with NULL */
    /** Make a move. False: it is impossible in this state, which need not be the same afterwards. */
    bool (*move)(void *state, unsigned move, unsigned variant);
    /** What is wrong with a state; NULL: nothing. @p final: no move is possible any more. */
    const char *(*wrong)(const void *state, bool final);
};

/** The status of a program: 0 if the model holds and each of its variants does not. */
int model_check(const struct model *model);

#endif
