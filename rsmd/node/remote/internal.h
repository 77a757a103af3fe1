/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Segments across hosts from the inside. */
#ifndef RSMD_FAR_INTERNAL_H
#define RSMD_FAR_INTERNAL_H

#include "node/remote/far.h"

struct event;

/** A connect of a client of ours that a far node has not answered yet. */
struct rsmd_forward {
    struct rsmd_node *node;
    struct rsmd_far *far;
    struct rsmd_client *client;
    struct rsmd_controller *controller;
    struct rsm_importer importer;
    uint32_t request;  /* as the far node is to name it */
    uint32_t sequence; /* of the client's message */
    uint32_t segment_id;
    uint32_t rights;
    struct event *late;                             /* the far node does not answer */
    struct rsmd_forward *prev, *next;               /* of the far node */
    struct rsmd_forward *client_prev, *client_next; /* of the client */
};

/** A node of another host. */
struct rsmd_far {
    uint32_t node;
    bool up;
    struct rsmd_client client;    /* stands for its processes: owns their connections to us */
    struct rsmd_import *imports;  /* from here to there, by there.id */
    struct rsmd_forward *waiting; /* from here to there, not yet answered */
    uint32_t last_request;
};

struct rsmd_hosts {
    struct event_base *base;
    struct rsmd_carrier carrier;
    struct rsmd_far *far[RSM_NODE_ID_MAX + 1]; /* NULL: was never up */
};

bool rsmd_far_send(const struct rsmd_node *node, const struct rsmd_far *far,
                   const struct rsm_peer_msg *msg);

/* importing.c: processes of ours that import from there. */
void rsmd_far_take_reply(struct rsmd_node *node, struct rsmd_far *far,
                         const struct rsm_peer_connect_reply *reply);
void rsmd_far_take_abort(struct rsmd_node *node, struct rsmd_far *far, uint32_t id);
void rsmd_far_take_unavailable(struct rsmd_node *node, const struct rsmd_far *far, uint32_t id);
/** The connection of ours that the far node calls so; NULL: none. */
struct rsmd_import *rsmd_far_import(const struct rsmd_far *far, uint32_t id);
/** The link went. */
void rsmd_far_end_imports(struct rsmd_node *node, struct rsmd_far *far);
/** The controller's fabric does not reach the far node any more. */
void rsmd_far_cut_imports(struct rsmd_node *node, struct rsmd_far *far,
                          const struct rsmd_controller *controller);

/* exporting.c: processes there that import from us. */
void rsmd_far_take_connect(struct rsmd_node *node, struct rsmd_far *far,
                           const struct rsm_peer_connect *asked);
void rsmd_far_take_disconnect(struct rsmd_node *node, const struct rsmd_far *far,
                              const struct rsm_peer_import *gone);

#endif
