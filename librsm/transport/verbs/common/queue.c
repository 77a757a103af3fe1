/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/queue.h"

#include <errno.h>

enum {
    DEPTH_MAX = 16,
    RNR_TIMER = 12,  /* 0.64 ms until a peer may try again that found no receive posted */
    RNR_RETRIES = 6, /* 7 would be for ever */
};

struct ibv_qp *verbs_qp_create(const struct verbs_qp_attr *attr, uint32_t *inline_bytes)
{
    uint32_t wanted = attr->inline_bytes;
    for (;;) {
        struct ibv_qp_init_attr init = {
            .send_cq = attr->cq,
            .recv_cq = attr->receives_cq,
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = attr->sends,
                    .max_recv_wr = attr->receives,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = wanted},
        };
        struct ibv_qp *qp = ibv_create_qp(attr->pd, &init);
        if (qp != NULL) {
            *inline_bytes = init.cap.max_inline_data;
            return qp;
        }
        if (wanted == 0)
            return NULL;
        wanted /= 2; /* the most that a device takes cannot be asked for */
    }
}

static uint8_t min(int first, int second)
{
    int max = first < second ? first : second;
    return (uint8_t)(max < 1 ? 1 : max > DEPTH_MAX ? DEPTH_MAX : max);
}

struct verbs_path verbs_path_of(const struct verbs_options *options,
                                const struct verbs_device *device, unsigned access)
{
    return (struct verbs_path){
        .access = access,
        .ack_timeout = verbs_ack_timeout(options->timeout_ms, options->retry),
        .retry = (uint8_t)options->retry,
        .depth = min(device->attr.max_qp_rd_atom, device->attr.max_qp_init_rd_atom),
        .mtu = options->mtu,
    };
}

static enum ibv_mtu smaller_mtu(enum ibv_mtu path, uint32_t bytes)
{
    while (bytes != 0 && path > IBV_MTU_256 && (128u << path) > bytes)
        path = (enum ibv_mtu)(path - 1);
    return path;
}

int verbs_qp_modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
                    const struct verbs_path *path)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (rdma_init_qp_attr(id, &attr, &mask) != 0)
        return -1;
    /* A mask that lacks a bit means that the fabric (iWARP) has no such thing. */
    attr.qp_access_flags = path->access;
    attr.path_mtu = smaller_mtu(attr.path_mtu, path->mtu);
    attr.timeout = path->ack_timeout;
    attr.retry_cnt = path->retry;
    attr.rnr_retry = RNR_RETRIES;
    attr.min_rnr_timer = RNR_TIMER;
    if (attr.max_dest_rd_atomic > path->depth)
        attr.max_dest_rd_atomic = path->depth;
    if (attr.max_rd_atomic > path->depth)
        attr.max_rd_atomic = path->depth;
    int error = ibv_modify_qp(qp, &attr, mask);
    if (error != 0)
        errno = error;
    return error == 0 ? 0 : -1;
}

struct rdma_conn_param verbs_conn_param(const struct ibv_qp *qp, const struct verbs_path *path,
                                        const void *data, uint8_t length)
{
    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = length,
        .responder_resources = path->depth,
        .initiator_depth = path->depth,
        .retry_count = path->retry,
        .rnr_retry_count = RNR_RETRIES,
        .qp_num = qp->qp_num,
    };
}

void verbs_qp_stop(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}
