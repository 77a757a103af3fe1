/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One request being answered, and the functions that answer each kind. */
#ifndef RSMD_CALL_H
#define RSMD_CALL_H

#include "node/node.h"

/**
 * A request and its reply. A handler returns the status of the reply; it fills the reply's body
 * and attaches descriptors only when that is RSM_ST_OK, and then cannot fail any more. One that
 * sets `later` will answer exactly once by the client's answer(), after it has returned, unless
 * the client goes first; its status does not count.
 */
struct rsmd_call {
    struct rsmd_node *node;
    struct rsmd_client *client;
    struct rsmd_identity who; /* sender of this packet */
    const struct rsm_msg *request;
    struct rsm_msg *reply;
    struct rsm_packet_fds attached; /* to the reply */
    bool close_attached;            /* they were made for this reply */
    bool later;                     /* there is no reply yet */
};

typedef enum rsm_status rsmd_handler(struct rsmd_call *call);

/* One for each message. */
#define RSM_MESSAGE(NAME, number, name, reply, senders) rsmd_handler rsmd_answer_##name;
#include "protocol/messages.def"

/** Answer a request: exactly one reply, whatever it asks, but for a request that is answered later.
 */
void rsmd_dispatch(struct rsmd_call *call);

#endif
