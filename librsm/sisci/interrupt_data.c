/* SPDX-License-Identifier: BSD-3-Clause */
/* SCICreateDataInterrupt() and its family */
#include "interrupt.h"

SISCI_API(void, SCICreateDataInterrupt)
(sci_desc_t sd, sci_local_data_interrupt_t *interrupt, unsigned int localAdapterNo,
 unsigned int *interruptNo, sci_cb_data_interrupt_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    const struct sisci_interrupt_callback called = {.data = callback, .argument = callbackArg};
    sisci_report(error, sisci_interrupt_create(sd, SISCI_LOCAL_DATA_INTERRUPT, localAdapterNo,
                                               interruptNo, &called, flags, (void **)interrupt));
}

SISCI_API(void, SCIRemoveDataInterrupt)
(sci_local_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_remove(interrupt, SISCI_LOCAL_DATA_INTERRUPT, flags));
}

SISCI_API(void, SCIWaitForDataInterrupt)
(sci_local_data_interrupt_t interrupt, void *data, unsigned int *length, unsigned int timeout,
 unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_wait(interrupt, SISCI_LOCAL_DATA_INTERRUPT, data, length,
                                             timeout, flags));
}

SISCI_API(void, SCIConnectDataInterrupt)
(sci_desc_t sd, sci_remote_data_interrupt_t *interrupt, unsigned int nodeId,
 unsigned int localAdapterNo, unsigned int interruptNo, unsigned int timeout, unsigned int flags,
 sci_error_t *error)
{
    (void)timeout; /* there is, or there is not */
    sisci_report(error, sisci_interrupt_connect(sd, SISCI_REMOTE_DATA_INTERRUPT, nodeId,
                                                localAdapterNo, interruptNo, flags,
                                                SCI_FLAG_BROADCAST, (void **)interrupt));
}

SISCI_API(void, SCIDisconnectDataInterrupt)
(sci_remote_data_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_disconnect(interrupt, SISCI_REMOTE_DATA_INTERRUPT, flags));
}

SISCI_API(void, SCITriggerDataInterrupt)
(sci_remote_data_interrupt_t interrupt, void *data, unsigned int length, unsigned int flags,
 sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_trigger(interrupt, SISCI_REMOTE_DATA_INTERRUPT, data,
                                                length, flags));
}
