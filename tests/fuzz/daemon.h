/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A daemon in this process, and its clients: the real node, its event loop and its sockets; and a node of
 * another host, which can reach it. What must not go wrong ends the process.
 */
#ifndef TESTS_FUZZ_DAEMON_H
#define TESTS_FUZZ_DAEMON_H

#include <stdbool.h>
#include <sys/un.h>

#include "protocol/proto.h"
#include "server/server.h"

enum { DAEMON_FAR_NODE = 2 };

extern struct daemon {
    struct rsmd_conf conf;
    struct rsmd_node node;
    struct rsmd_server server;
    struct sockaddr_un address;
    socklen_t address_length;
} daemon_world;

struct client {
    int socket; /* -1: not connected */
    bool deaf;
    uint32_t sequence;
    unsigned unanswered;
};

/** Once. @p more: to be added to its configuration. */
void daemon_start(const char *more);
/** One turn of its event loop, which is a step (fuzz.h). */
void daemon_turn(void);
/** Have turns until something is so: what is given to threads takes its time. */
void daemon_turn_until(void (*turn)(void), bool (*so)(void));
/** Whether nothing of any client is left. */
bool daemon_is_empty(void);

/** Connect as that user if root may be others; harmless for one that is connected. */
void client_open(struct client *client, unsigned uid);
/** Harmless for one that is not connected. */
void client_close(struct client *client);
/** Take a reply, unless it is deaf. False: none had come. */
bool client_drain(struct client *client);
/** Send a request and await the reply, which takes its place. @return its status. */
enum rsm_status client_ask(struct client *client, struct rsm_msg *msg);

#endif
