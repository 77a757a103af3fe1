/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool input_init(struct input *input, size_t room)
{
    memset(input, 0, sizeof *input);
    input->line = malloc(room > 0 ? room : 1);
    input->room = room;
    return input->line != NULL;
}

void input_release(struct input *input)
{
    free(input->line);
    input->line = NULL;
}

enum input_state input_next(struct input *input)
{
    if (input->line_taken) {
        input->length = 0;
        input->line_taken = false;
    }
    while (input->used < input->filled) {
        char byte = input->buffer[input->used++];
        if (byte == '\n') {
            input->line_taken = true;
            return INPUT_LINE;
        }
        if (input->length < input->room)
            input->line[input->length] = byte;
        input->length++;
    }
    if (!input->ended)
        return INPUT_NEEDS_MORE;
    if (input->length == 0)
        return INPUT_END;
    input->line_taken = true; /* the last line, which has no newline */
    return INPUT_LINE;
}

void input_fill(struct input *input)
{
    ssize_t got = read(STDIN_FILENO, input->buffer, sizeof input->buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    input->error = got < 0 ? errno : 0;
    input->ended = got <= 0;
    input->used = 0;
    input->filled = got > 0 ? (size_t)got : 0;
}
