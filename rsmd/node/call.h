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

/* controllers.c */
rsmd_handler rsmd_answer_controller;
/* topology.c */
rsmd_handler rsmd_answer_topology;
rsmd_handler rsmd_answer_named;
rsmd_handler rsmd_answer_locate;
/* publish.c */
rsmd_handler rsmd_answer_extent_alloc;
rsmd_handler rsmd_answer_extent_free;
rsmd_handler rsmd_answer_extent_open;
rsmd_handler rsmd_answer_export_create;
rsmd_handler rsmd_answer_export_publish;
rsmd_handler rsmd_answer_export_republish;
rsmd_handler rsmd_answer_export_unpublish;
rsmd_handler rsmd_answer_export_destroy;
/* connect.c */
rsmd_handler rsmd_answer_import_connect;
rsmd_handler rsmd_answer_import_disconnect;
rsmd_handler rsmd_answer_import_trap;
/* events.c */
rsmd_handler rsmd_answer_event_open;
rsmd_handler rsmd_answer_event_receivers;
rsmd_handler rsmd_answer_event_arm;
rsmd_handler rsmd_answer_event_doorbell;
/* records.c */
rsmd_handler rsmd_answer_records;
rsmd_handler rsmd_answer_export_state;
/* interrupts.c */
rsmd_handler rsmd_answer_interrupt_create;
rsmd_handler rsmd_answer_interrupt_remove;
rsmd_handler rsmd_answer_interrupt_connect;
rsmd_handler rsmd_answer_interrupt_trigger;
rsmd_handler rsmd_answer_interrupt_take;
/* inspect.c */
rsmd_handler rsmd_answer_inspect;
/* controllers.c */
rsmd_handler rsmd_answer_failed;
/* links.c */
rsmd_handler rsmd_answer_links;
/* usage.c */
rsmd_handler rsmd_answer_shares;
rsmd_handler rsmd_answer_interrupts;

/** Answer a request: exactly one reply, whatever it asks, but for a request that is answered later.
 */
void rsmd_dispatch(struct rsmd_call *call);

#endif
