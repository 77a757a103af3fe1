/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_device.h"

#include <errno.h>
#include <stdlib.h>

#undef ibv_reg_mr
#undef ibv_query_port

struct fake_device fake_device;

static bool fails(enum fake_call call)
{
    return fake_device.fails != NULL && fake_device.fails(call);
}

/* ------------------------------------------------------------------ the device */

static void *make(size_t bytes)
{
    if (fails(FAKE_MAKE)) {
        errno = ENOMEM;
        return NULL;
    }
    void *made = calloc(1, bytes);
    if (made == NULL)
        abort();
    fake_device.made++;
    return made;
}

static int unmake(void *object)
{
    fake_device.made--;
    free(object);
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = make(sizeof *pd);
    if (pd != NULL)
        pd->context = context;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    return unmake(pd);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    if (fails(FAKE_REGISTER)) {
        errno = ENOMEM;
        return NULL;
    }
    struct ibv_mr *mr = make(sizeof *mr);
    if (mr != NULL)
        *mr = (struct ibv_mr){.pd = pd, .addr = address, .length = length};
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned int access)
{
    return ibv_reg_mr(pd, address, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    return unmake(mr);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)entries, (void)vector;
    struct ibv_cq *cq = make(sizeof *cq);
    if (cq != NULL)
        *cq = (struct ibv_cq){.context = context, .channel = channel, .cq_context = cq_context};
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    if (fake_device.knocked == cq) /* the library takes its events back */
        fake_device.knocked = NULL;
    return unmake(cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *qp = make(sizeof *qp);
    if (qp != NULL)
        qp->context = pd->context;
    return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)attr, (void)mask;
    if (qp == NULL)
        abort();
    return fails(FAKE_MODIFY) ? EINVAL : 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    return unmake(qp);
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    (void)context, (void)port, (void)attr;
    return ENOSYS; /* then it is taken to be active */
}

static int arm(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    if (qp == NULL)
        abort();
    *bad = wr;
    return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    if (fake_device.device_event == NULL)
        return -1;
    *event = *fake_device.device_event;
    fake_device.device_event = NULL;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    return "event";
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return "device";
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    *cq = fake_device.knocked;
    fake_device.knocked = NULL;
    if (*cq != NULL)
        *context = (*cq)->cq_context;
    return *cq != NULL ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    if (cq == NULL || count != 1)
        abort();
}

/* ------------------------------------------------------------------ the connection manager */

static void note_use(const struct rdma_cm_id *id)
{
    if (fake_device.is_used != NULL)
        fake_device.is_used(id);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    *event = fake_device.event;
    fake_device.event = NULL;
    return *event != NULL ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    if (fake_device.event_ends != NULL)
        fake_device.event_ends(event);
    return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
    note_use(id);
    *mask = 0;
    return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    note_use(id);
    return fails(FAKE_ACCEPT) ? -1 : 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
    (void)data, (void)length;
    note_use(id);
    return 0;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
    note_use(id);
    return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
    note_use(id);
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    if (fake_device.id_ends != NULL)
        fake_device.id_ends(id);
    return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
    return "event";
}

/* ------------------------------------------------------------------ a port of it */

void fake_port_begin(struct verbs_node_port *port, struct verbs_extent *extent, size_t page)
{
    static struct rdma_event_channel events;
    static struct ibv_comp_channel completions;
    static struct ibv_pd pd;
    fake_device.context.ops.req_notify_cq = arm;
    fake_device.context.ops.post_recv = post_receive;
    pd.context = &fake_device.context;
    port->page = page;
    port->device.context = &fake_device.context;
    port->device.address.ss_family = AF_INET;
    port->pd = &pd;
    port->events = &events;
    port->completions = &completions;
    port->send_buffers_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    port->address.ss_family = AF_INET;
    port->again = -1;
    extent->bytes = aligned_alloc(page, page);
    if (extent->bytes == NULL)
        abort();
    extent->base.length = extent->length = page;
}
