/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Requests and replies over one control connection, for all threads of a process at once.
 *
 * Each request has a number, and its reply comes when rsmd has it: a connect that another host has
 * to answer does not hold up what others ask meanwhile. There is no thread for it; of those that
 * wait, one receives for all, and hands that on when its own reply is there.
 */
#ifndef RSMCORE_CHANNEL_H
#define RSMCORE_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/packet.h"
#include "protocol/proto.h"

struct rsmcore_exchange;

struct rsmcore_channel {
    atomic_bool broken; /* no request gets through any more */
    int socket;
    uint32_t timeout_ms;
    pthread_mutex_t lock; /* guards what follows */
    uint32_t sequence;
    struct rsmcore_exchange *waiting; /* for their replies, the earliest first */
    bool receiving;                   /* one of them receives; `incoming` is its own */
    uint8_t outgoing[RSM_PROTO_MESSAGE_MAX];
    uint8_t incoming[RSM_PROTO_MESSAGE_MAX];
};

/** Make a channel of a connected socket, which stays the caller's to close. */
void rsmcore_channel_init(struct rsmcore_channel *channel, int socket);
/** Nobody uses it any more. */
void rsmcore_channel_destroy(struct rsmcore_channel *channel);

/** How long a call waits for its reply; before any call. RSM_ST_NO_RESOURCES: cannot be set. */
enum rsm_status rsmcore_channel_set_timeout(struct rsmcore_channel *channel, uint32_t timeout_ms);

/** As rsmcore_control_call(), rsmcore_control_post() and rsmcore_control_try_post(), which see. */
enum rsm_status rsmcore_channel_call(struct rsmcore_channel *channel, struct rsm_msg *msg,
                                     const struct rsm_packet_fds *send,
                                     struct rsm_packet_fds *receive);
void rsmcore_channel_post(struct rsmcore_channel *channel, struct rsm_msg *msg);
void rsmcore_channel_try_post(struct rsmcore_channel *channel, struct rsm_msg *msg);

#endif
