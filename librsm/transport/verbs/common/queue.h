/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Making a reliable queue pair and bringing it up by hand, for both halves: librdmacm alone
 *  would leave the time-out, the retries and the MTU to what the kernel thinks best. */
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "transport/verbs/common/device.h"

struct verbs_qp_attr {
    struct ibv_pd *pd;
    struct ibv_cq *cq;          /**< of what is sent */
    struct ibv_cq *receives_cq; /**< of what is received; may be the same */
    uint32_t sends;
    uint32_t receives;
    uint32_t inline_bytes; /**< wanted */
};

/** @return the queue pair, with what it takes inline in *inline_bytes; NULL with errno. */
struct ibv_qp *verbs_qp_create(const struct verbs_qp_attr *attr, uint32_t *inline_bytes);

struct verbs_path {
    unsigned access;     /**< IBV_ACCESS_* that the peer has */
    uint8_t ack_timeout; /**< exponent */
    uint8_t retry;
    uint8_t depth; /**< reads under way at a time */
    uint32_t mtu;  /**< most, bytes; 0: what the path says */
};

/** The path that the options and the device ask for; mtu as in the options. */
struct verbs_path verbs_path_of(const struct verbs_options *options,
                                const struct verbs_device *device, unsigned access);

/** One step of a queue pair, to INIT, RTR or RTS; RTR and RTS need an id that has met its peer.
 *  @return 0, or -1 with errno. */
int verbs_qp_modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
                    const struct verbs_path *path);

/** Connection parameters of either side. */
struct rdma_conn_param verbs_conn_param(const struct ibv_qp *qp, const struct verbs_path *path,
                                        const void *data, uint8_t length);

/** Stop the queue pair: nothing that comes in is executed any more, all that is posted fails. */
void verbs_qp_stop(struct ibv_qp *qp);
