/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the fields of each message are called, from the tables of messages, and which of them
 *  need not be the same when a recording is played. */
#ifndef TESTS_WIRE_MESSAGES_H
#define TESTS_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

/** A field, or several, in the order in which the codec walks them. */
struct body_field {
    const char *name;            /* NULL: the end of the body */
    const struct body_field *of; /* a structure; NULL: a number, bytes or a string */
    unsigned many;
    enum {
        MANY,    /* so many */
        COUNTED, /* as many as the field before says */
        IF_ANY,  /* one, unless the field before is 0 */
        IF_OK,   /* none: the body goes on only if the field before is RSM_ST_OK */
    } how;
};

struct message_fields {
    const char *name;
    const struct body_field *request; /* of the daemons' protocol: the only one */
    const struct body_field *reply;   /* of status RSM_ST_OK */
};

/** Of the control protocol; NULL: there is none of this type. */
const struct message_fields *control_message(uint32_t type);
/** Of the protocol between daemons. */
const struct message_fields *peer_message(uint32_t type);

/** What is written behind the name of a field: that it is an id, which stands for the same thing
 *  wherever it appears and may be another number each time; that it may be anything; or "".
 *  @param field  as it is recorded: PART.NAME in a part of a body. */
const char *field_mark(const char *message, const char *field);

#endif
