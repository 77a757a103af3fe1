/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the fields of each message are called, and which of them need not be the same when a
 *  recording is played. */
#ifndef TESTS_WIRE_MESSAGES_H
#define TESTS_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Names in the order in which the codec walks the body. `#` behind one: an id, which stands for the
 * same thing wherever it appears, and may be another number each time. `~`: it may be anything.
 * What is in parentheses comes as often as the count in front of them says.
 */
struct message_fields {
    uint32_t type; /* 0: the end of the list */
    const char *name;
    const char *request; /* of the daemons' protocol: the only one */
    const char *reply;   /* of status RSM_ST_OK */
};

extern const struct message_fields control_messages[]; /* protocol/proto.h */
extern const struct message_fields peer_messages[];    /* rsmd/cluster/proto.h */

/** NULL: there is none of this type. */
const struct message_fields *message_fields_of(const struct message_fields *list, uint32_t type);

#endif
