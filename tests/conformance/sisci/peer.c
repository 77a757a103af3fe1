/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

static union {
    sci_local_interrupt_t plain;
    sci_local_data_interrupt_t data;
} local[2][B_SLOTS];

static union {
    sci_remote_interrupt_t plain;
    sci_remote_data_interrupt_t data;
} remote[2][B_SLOTS];

#define LOCAL  (local[order->data][order->slot])
#define REMOTE (remote[order->data][order->slot])

int b_tell(struct actor *b, actor_function verb, struct b_order *order)
{
    return actor_run(b, verb, order, sizeof *order);
}

int b_create(void *bytes)
{
    struct b_order *order = bytes;
    unsigned flags = order->flags | SCI_FLAG_FIXED_INTNO;
    NEED(desc() != NULL);
    return (int)(order->data ? ERROR_OF(SCICreateDataInterrupt, desc(), &LOCAL.data, ADAPTER,
                                        &order->number, NULL, NULL, flags)
                             : ERROR_OF(SCICreateInterrupt, desc(), &LOCAL.plain, ADAPTER,
                                        &order->number, NULL, NULL, flags));
}

int b_remove(void *bytes)
{
    struct b_order *order = bytes;
    return (int)(order->data ? ERROR_OF(SCIRemoveDataInterrupt, LOCAL.data, 0)
                             : ERROR_OF(SCIRemoveInterrupt, LOCAL.plain, 0));
}

int b_wait(void *bytes)
{
    struct b_order *order = bytes;
    return (int)(order->data ? ERROR_OF(SCIWaitForDataInterrupt, LOCAL.data, order->bytes,
                                        &order->length, order->timeout, 0)
                             : ERROR_OF(SCIWaitForInterrupt, LOCAL.plain, order->timeout, 0));
}

int b_connect(void *bytes)
{
    struct b_order *order = bytes;
    NEED(desc() != NULL);
    return (int)(order->data
                     ? ERROR_OF(SCIConnectDataInterrupt, desc(), &REMOTE.data, order->node, ADAPTER,
                                order->number, SCI_INFINITE_TIMEOUT, order->flags)
                     : ERROR_OF(SCIConnectInterrupt, desc(), &REMOTE.plain, order->node, ADAPTER,
                                order->number, SCI_INFINITE_TIMEOUT, order->flags));
}

int b_disconnect(void *bytes)
{
    struct b_order *order = bytes;
    return (int)(order->data ? ERROR_OF(SCIDisconnectDataInterrupt, REMOTE.data, 0)
                             : ERROR_OF(SCIDisconnectInterrupt, REMOTE.plain, 0));
}

static sci_error_t trigger_once(struct b_order *order)
{
    return order->data
               ? ERROR_OF(SCITriggerDataInterrupt, REMOTE.data, order->bytes, order->length, 0)
               : ERROR_OF(SCITriggerInterrupt, REMOTE.plain, 0);
}

int b_trigger(void *bytes)
{
    struct b_order *order = bytes;
    unsigned wanted = order->count != 0 ? order->count : 1;
    sci_error_t error = SCI_ERR_OK;
    order->count = 0;
    while (error == SCI_ERR_OK && order->count < wanted) {
        error = trigger_once(order);
        order->count += error == SCI_ERR_OK;
    }
    return (int)error;
}

int b_stream(void *bytes)
{
    struct b_order *order = bytes;
    unsigned sent = 0, full = 0;
    sci_error_t error = SCI_ERR_OK;
    int64_t end = now_ms() + order->timeout;
    order->length = sizeof sent;
    while (sent < order->count && (error == SCI_ERR_OK || error == SCI_ERR_NOSPC)) {
        if (sent >= order->count / 5 && now_ms() >= end)
            break;
        memcpy(order->bytes, &sent, sizeof sent);
        error = trigger_once(order);
        sent += error == SCI_ERR_OK;
        full += error == SCI_ERR_NOSPC;
    }
    order->length = full;
    order->count = sent;
    return error == SCI_ERR_NOSPC ? SCI_ERR_OK : (int)error;
}

int b_terminate(void *bytes)
{
    SCITerminate();
    return 0;
}
