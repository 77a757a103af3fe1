/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote interrupts: what this process triggers. */
#include <stdlib.h>

#include "adapter.h"
#include "interrupt.h"

struct remote_interrupt {
    struct sisci_object object;
    struct rsmcore_trigger *core;
};

static void release(struct sisci_object *object)
{
    rsmcore_interrupt_disconnect(((struct remote_interrupt *)object)->core);
}

static const struct sisci_type plain_type = {.kind = SISCI_REMOTE_INTERRUPT, .release = release};
static const struct sisci_type data_type = {.kind = SISCI_REMOTE_DATA_INTERRUPT,
                                            .release = release};

static sci_error_t connect_to(unsigned adapter, uint32_t node, enum sisci_kind kind,
                              unsigned number, struct rsmcore_trigger **trigger)
{
    struct rsmcore_controller *controller;
    sci_error_t error = sisci_adapter_open(adapter, &controller);
    if (error != SCI_ERR_OK)
        return error;
    enum rsm_status status = rsmcore_interrupt_connect(
        controller, node, kind == SISCI_REMOTE_INTERRUPT ? RSM_INTERRUPT_PLAIN : RSM_INTERRUPT_DATA,
        number, trigger);
    rsmcore_controller_close(controller);
    return sisci_error(SISCI_CONNECT, status);
}

static sci_error_t make(struct sisci_object *desc, enum sisci_kind kind, unsigned adapter,
                        uint32_t node, unsigned number, void **handle)
{
    struct remote_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL)
        return SCI_ERR_NOSPC;
    sci_error_t error = connect_to(adapter, node, kind, number, &interrupt->core);
    if (error == SCI_ERR_OK) {
        error = sisci_object_enter(&interrupt->object,
                                   kind == SISCI_REMOTE_INTERRUPT ? &plain_type : &data_type, desc);
        if (error != SCI_ERR_OK)
            rsmcore_interrupt_disconnect(interrupt->core);
    }
    if (error == SCI_ERR_OK)
        *handle = sisci_handle(&interrupt->object);
    else
        free(interrupt);
    return error;
}

sci_error_t sisci_interrupt_connect(sci_desc_t sd, enum sisci_kind kind, unsigned node,
                                    unsigned adapter, unsigned number, unsigned flags,
                                    unsigned known, void **handle)
{
    uint32_t at;
    if (handle != NULL)
        *handle = NULL;
    sci_error_t error = sisci_check(flags, known | SCI_FLAG_BROADCAST);
    if (error == SCI_ERR_OK && (flags & SCI_FLAG_BROADCAST) != 0)
        error = kind == SISCI_REMOTE_DATA_INTERRUPT ? SCI_ERR_FLAG_NOT_IMPLEMENTED
                                                    : SCI_ERR_ILLEGAL_FLAG;
    if (error == SCI_ERR_OK)
        error = sisci_adapter_check(adapter);
    if (error == SCI_ERR_OK)
        error = handle == NULL ? SCI_ERR_ILLEGAL_PARAMETER : sisci_node(node, &at);
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_object *desc = sisci_hold(sd, SISCI_DESC);
    if (desc == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    error = make(desc, kind, adapter, at, number, handle);
    sisci_drop(desc);
    return error;
}

sci_error_t sisci_interrupt_disconnect(const void *handle, enum sisci_kind kind, unsigned flags)
{
    sci_error_t error = sisci_check(flags, 0);
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_object *object = sisci_hold(handle, kind);
    return object != NULL ? sisci_end(object, SISCI_END_ALL) : SCI_ERR_ILLEGAL_PARAMETER;
}

sci_error_t sisci_interrupt_trigger(const void *handle, enum sisci_kind kind, const void *data,
                                    size_t length, unsigned flags)
{
    sci_error_t error = sisci_check(flags, 0);
    if (error != SCI_ERR_OK)
        return error;
    if (data == NULL && length > 0)
        return SCI_ERR_ILLEGAL_PARAMETER;
    struct sisci_object *object = sisci_hold(handle, kind);
    if (object == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    enum rsm_status status =
        rsmcore_interrupt_trigger(((struct remote_interrupt *)object)->core, data, length);
    sisci_drop(object);
    return sisci_error(SISCI_TRANSFER, status);
}
