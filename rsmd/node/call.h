/* SPDX-License-Identifier: BSD-3-Clause */
/** @file One request being answered, and the functions that answer each kind. */
#pragma once

#include "node/node.h"

/**
 * A request and its reply. A handler returns the status of the reply. It fills the reply's body and
 * attaches descriptors only on success, as its last step. A handler that sets `later` replies
 * exactly once, by the client's answer(), after it has returned, unless the client ends first; its
 * status is ignored.
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

/** Handle a request. Sends exactly one reply, at once unless the handler replies later.
 */
void rsmd_dispatch(struct rsmd_call *call);
