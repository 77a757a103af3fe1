/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote interrupts: what this process triggers. */
#include <stdlib.h>

#include "adapter.h"
#include "broadcast.h"
#include "core/interrupt.h"
#include "export.h"
#include "object.h"

struct remote_interrupt {
    struct sisci_object object;
    struct rsmcore_trigger *core; /* NULL: a group */
    struct sisci_group *group;    /* NULL: one interrupt */
};

static void disconnect(const struct remote_interrupt *interrupt)
{
    if (interrupt->group != NULL)
        sisci_group_disconnect(interrupt->group);
    else
        rsmcore_interrupt_disconnect(interrupt->core);
}

static void release(struct sisci_object *object)
{
    disconnect((struct remote_interrupt *)object);
}

static const struct sisci_type plain_type = {.kind = SISCI_REMOTE_INTERRUPT, .release = release};
static const struct sisci_type data_type = {.kind = SISCI_REMOTE_DATA_INTERRUPT,
                                            .release = release};

/* What is to be found. */
struct wanted {
    enum sisci_kind kind;
    unsigned adapter, number;
    uint32_t node; /* of one interrupt */
    bool group;
};

static sci_error_t connect_to(const struct wanted *wanted, struct remote_interrupt *interrupt)
{
    struct rsmcore_controller *controller;
    sci_error_t error = sisci_adapter_open(wanted->adapter, &controller);
    if (error != SCI_ERR_OK)
        return error;
    enum rsm_status status;
    if (wanted->group)
        status = sisci_group_connect(controller, wanted->number, &interrupt->group);
    else
        status = rsmcore_interrupt_connect(
            controller, wanted->node,
            wanted->kind == SISCI_REMOTE_INTERRUPT ? RSM_INTERRUPT_PLAIN : RSM_INTERRUPT_DATA,
            wanted->number, &interrupt->core);
    rsmcore_controller_close(controller);
    return sisci_error(SISCI_CONNECT, status);
}

static sci_error_t make(struct sisci_object *desc, const struct wanted *wanted, void **handle)
{
    struct remote_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL)
        return SCI_ERR_NOSPC;
    void *made;
    sci_error_t error = connect_to(wanted, interrupt);
    if (error == SCI_ERR_OK) {
        error = sisci_object_enter(
            &interrupt->object, wanted->kind == SISCI_REMOTE_INTERRUPT ? &plain_type : &data_type,
            desc, &made);
        if (error != SCI_ERR_OK)
            disconnect(interrupt);
    }
    if (error == SCI_ERR_OK)
        *handle = made;
    else
        free(interrupt);
    return error;
}

static sci_error_t try_to_connect(sci_desc_t sd, const struct wanted *wanted, void **handle)
{
    RSM_UNCANCELLABLE;
    sci_error_t error = SCI_ERR_OK;
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &error);
    if (desc == NULL)
        return error;
    error = make(desc, wanted, handle);
    sisci_drop(desc);
    return error;
}

/* Check the arguments, and find the node, if it is not a group that is meant. */
static sci_error_t check(struct wanted *wanted, unsigned node, void *const *handle)
{
    RSM_UNCANCELLABLE;
    sci_error_t error = sisci_adapter_check(wanted->adapter);
    if (error == SCI_ERR_OK && handle == NULL)
        error = SCI_ERR_ILLEGAL_PARAMETER;
    if (error != SCI_ERR_OK)
        return error;
    if (wanted->group)
        return node == DIS_BROADCAST_NODEID_GROUP_ALL ? SCI_ERR_OK : SCI_ERR_ILLEGAL_NODEID;
    return sisci_node(node, &wanted->node);
}

/* Find one of any node. @p known: the flags that the function has. */
static sci_error_t connect_interrupt(sci_desc_t sd, enum sisci_kind kind, unsigned node,
                                     unsigned adapter, unsigned number, unsigned timeout,
                                     unsigned flags, unsigned known, void **handle)
{
    struct wanted wanted = {.kind = kind,
                            .adapter = adapter,
                            .number = number,
                            .group = (flags & SCI_FLAG_BROADCAST) != 0};
    struct sisci_connect_limit limit = sisci_connect_limit(flags, timeout);
    if (handle != NULL)
        *handle = NULL;
    sci_error_t error = sisci_check(flags, known | RSM_SCI_FLAG_CONNECT_WAIT);
    if (error == SCI_ERR_OK)
        error = check(&wanted, node, handle);
    if (error != SCI_ERR_OK)
        return error;
    do
        error = try_to_connect(sd, &wanted, handle);
    while (sisci_connect_again(&limit, &error));
    return error;
}

/* A plain trigger succeeds where no receiver is left: programs whose receiver ends first trigger
 * once more, and take any error for a fault. Of a message the sender learns that it is lost. */
static sci_error_t trigger(const void *handle, enum sisci_kind kind, const void *data,
                           size_t length, unsigned flags)
{
    sci_error_t error = sisci_check(flags, 0);
    if (error == SCI_ERR_OK && data == NULL && length > 0)
        error = SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_object *object = sisci_need(handle, kind, &error);
    if (object == NULL)
        return error;
    const struct remote_interrupt *interrupt = (struct remote_interrupt *)object;
    enum rsm_status status = interrupt->group != NULL
                                 ? sisci_group_trigger(interrupt->group, data, length)
                                 : rsmcore_interrupt_trigger(interrupt->core, data, length);
    sisci_drop(object);
    return status == RSM_ST_NOT_FOUND && kind == SISCI_REMOTE_INTERRUPT
               ? SCI_ERR_OK
               : sisci_error(SISCI_TRANSFER, status);
}

SISCI_API(void, SCIConnectInterrupt)
(sci_desc_t sd, sci_remote_interrupt_t *interrupt, unsigned int nodeId, unsigned int localAdapterNo,
 unsigned int interruptNo, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error,
                 connect_interrupt(sd, SISCI_REMOTE_INTERRUPT, nodeId, localAdapterNo, interruptNo,
                                   timeout, flags, SCI_FLAG_COUNTING_INT, (void **)interrupt));
}

SISCI_API(void, SCIDisconnectInterrupt)
(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(interrupt, SISCI_REMOTE_INTERRUPT, flags));
}

SISCI_API(void, SCITriggerInterrupt)
(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error, trigger(interrupt, SISCI_REMOTE_INTERRUPT, NULL, 0, flags));
}

SISCI_API(void, SCIConnectDataInterrupt)
(sci_desc_t sd, sci_remote_data_interrupt_t *interrupt, unsigned int nodeId,
 unsigned int localAdapterNo, unsigned int interruptNo, unsigned int timeout, unsigned int flags,
 sci_error_t *error)
{
    RSM_CANCEL_DEFERRED;
    sisci_report(error, connect_interrupt(sd, SISCI_REMOTE_DATA_INTERRUPT, nodeId, localAdapterNo,
                                          interruptNo, timeout, flags, SCI_FLAG_BROADCAST,
                                          (void **)interrupt));
}

SISCI_API(void, SCIDisconnectDataInterrupt)
(sci_remote_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(interrupt, SISCI_REMOTE_DATA_INTERRUPT, flags));
}

SISCI_API(void, SCITriggerDataInterrupt)
(sci_remote_data_interrupt_t interrupt, void *data, unsigned int length, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, trigger(interrupt, SISCI_REMOTE_DATA_INTERRUPT, data, length, flags));
}
