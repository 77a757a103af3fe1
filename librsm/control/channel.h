/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Requests and replies over one control connection, for all threads of a process at once.
 *
 *  Each request has a number, and rsmd may reply in any order: a connect that another host has to
 *  answer does not delay requests of other threads. There is no receiving thread. One of the
 *  waiting threads receives for all, and hands that role on when its own reply has arrived. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/packet.h"
#include "protocol/proto.h"

struct rsmcore_exchange;

struct rsmcore_channel {
    atomic_bool broken; /* no request can be sent any more */
    int socket;
    uint32_t timeout_ms;
    pthread_mutex_t lock; /* guards what follows */
    uint32_t sequence;
    struct rsmcore_exchange *waiting; /* for their replies, the earliest first */
    bool receiving;                   /* one of them receives, and uses `incoming` */
    uint8_t outgoing[RSM_PROTO_MESSAGE_MAX];
    uint8_t incoming[RSM_PROTO_MESSAGE_MAX];
};

/** Initialise a channel on a connected socket. The caller closes the socket. */
void rsmcore_channel_init(struct rsmcore_channel *channel, int socket);
/** Destroy a channel that no thread uses. */
void rsmcore_channel_destroy(struct rsmcore_channel *channel);

/** Set how long a call waits for its reply, before the first call. RSM_ST_NO_RESOURCES: it cannot
 *  be set. */
enum rsm_status rsmcore_channel_set_timeout(struct rsmcore_channel *channel, uint32_t timeout_ms);

/** Send a request and wait for its reply; send one without waiting; send one or drop it. The
 *  contracts are those of rsmcore_control_call(), rsmcore_control_post() and
 *  rsmcore_control_try_post(), without the check that the process is the one that connected. */
enum rsm_status rsmcore_channel_call(struct rsmcore_channel *channel, struct rsm_msg *msg,
                                     struct rsm_packet_fds *receive);
void rsmcore_channel_post(struct rsmcore_channel *channel, struct rsm_msg *msg);
void rsmcore_channel_try_post(struct rsmcore_channel *channel, struct rsm_msg *msg);
