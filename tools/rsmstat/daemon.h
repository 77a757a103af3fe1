/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A conversation with an rsmd. It ends in time whatever the other side does: every answer has its
 * time, and so has the whole.
 */
#ifndef RSMSTAT_DAEMON_H
#define RSMSTAT_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "protocol/proto.h"

struct daemon {
    int socket;
    int interrupt;    /**< a descriptor that becomes readable when the user has had enough, or -1 */
    int64_t deadline; /**< of the whole conversation */
    uint32_t sequence;
    char path[RSM_PROTO_PATH_MAX];
    pid_t pid; /**< who answers, by the kernel's word; 0: not told */
    uid_t uid;
    struct rsm_hello_reply hello;
};

/**
 * Connect to the socket @p path of node @p node and say HELLO as a process of node @p as.
 * Nothing is started. False: @p why (of @p why_size bytes) tells; there is nothing to close then.
 */
bool daemon_open(struct daemon *daemon, const char *path, uint32_t node, uint32_t as,
                 int64_t deadline, int interrupt, char *why, size_t why_size);

/** Send a request and wait for its answer, which replaces it. False: @p why tells. A refusal is an
 *  answer, too: *msg has its status. */
bool daemon_ask(struct daemon *daemon, struct rsm_msg *msg, char *why, size_t why_size);

/** Whether nobody listens at @p path any more: the daemon that did has ended. */
bool daemon_has_gone(const char *path);

void daemon_close(struct daemon *daemon);

#endif
