/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A conversation with an rsmd. It ends in time whatever the other side does: every answer has its
 * time, and so has the whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "protocol/proto.h"
#include "protocol/sharedmem.h"

struct daemon {
    int socket;
    int interrupt;    /**< a descriptor that becomes readable when the user has had enough, or -1 */
    int64_t deadline; /**< of the whole conversation */
    uint32_t sequence;
    char path[RSM_PROTO_PATH_MAX];
    pid_t pid; /**< of the daemon, from the kernel; 0: not known */
    uid_t uid;
    struct rsm_hello_reply hello;
    const struct rsm_generation_table *table; /**< NULL: it has sent none */
};

/**
 * Connect to the socket @p path of node @p node and send HELLO as a process of node @p as. Nothing
 * is started. False: @p why (of @p why_size bytes) has the reason, and there is nothing to close.
 */
bool daemon_open(struct daemon *daemon, const char *path, uint32_t node, uint32_t as,
                 int64_t deadline, int interrupt, char *why, size_t why_size);

/** Send a request and wait for its answer, which replaces it. False: @p why has the reason. A
 *  refusal is an answer, too: *msg has its status. */
bool daemon_ask(struct daemon *daemon, struct rsm_msg *msg, char *why, size_t why_size);

/** Whether the daemon knows a message of this type. It ends a connection over which one comes that
 *  it does not know. */
bool daemon_knows(const struct daemon *daemon, uint32_t type);

/** Whether no daemon listens at @p path any more. */
bool daemon_has_gone(const char *path);

void daemon_close(struct daemon *daemon);
