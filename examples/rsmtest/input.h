/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Lines from standard input, for a program that also waits for other events: nothing blocks if
 * input_fill() is called only while the descriptor is readable.
 */
#ifndef RSMTEST_INPUT_H
#define RSMTEST_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct input {
    char *line;      /* the current line, without its newline; only room bytes of it are kept */
    size_t room;     /* bytes */
    size_t length;   /* of the whole line, also when it is more than room */
    bool ended;      /* end of input was seen */
    int error;       /* errno of a failed read, else 0; then ended is set too */
    bool line_taken; /* the line in `line` was handed out; the next one starts afresh */
    char buffer[4096];
    size_t filled, used; /* in buffer */
};

enum input_state { INPUT_LINE, INPUT_NEEDS_MORE, INPUT_END };

/** Prepare for lines of up to @p room bytes. False: no memory. */
bool input_init(struct input *input, size_t room);
void input_release(struct input *input);

/** Take the next line out of what was read so far. */
enum input_state input_next(struct input *input);

/** Read once from standard input. */
void input_fill(struct input *input);

#endif
