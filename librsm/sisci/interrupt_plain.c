/* SPDX-License-Identifier: BSD-3-Clause */
/* SCICreateInterrupt() and its family */
#include "interrupt.h"

SISCI_API(void, SCICreateInterrupt)
(sci_desc_t sd, sci_local_interrupt_t *interrupt, unsigned int localAdapterNo,
 unsigned int *interruptNo, sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    const struct sisci_interrupt_callback called = {.plain = callback, .argument = callbackArg};
    sisci_report(error, sisci_interrupt_create(sd, SISCI_LOCAL_INTERRUPT, localAdapterNo,
                                               interruptNo, &called, flags, (void **)interrupt));
}

SISCI_API(void, SCIRemoveInterrupt)
(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_remove(interrupt, SISCI_LOCAL_INTERRUPT, flags));
}

SISCI_API(void, SCIWaitForInterrupt)
(sci_local_interrupt_t interrupt, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    sisci_report(
        error, sisci_interrupt_wait(interrupt, SISCI_LOCAL_INTERRUPT, NULL, NULL, timeout, flags));
}

SISCI_API(void, SCIConnectInterrupt)
(sci_desc_t sd, sci_remote_interrupt_t *interrupt, unsigned int nodeId, unsigned int localAdapterNo,
 unsigned int interruptNo, unsigned int timeout, unsigned int flags, sci_error_t *error)
{
    (void)timeout; /* there is, or there is not */
    sisci_report(error, sisci_interrupt_connect(sd, SISCI_REMOTE_INTERRUPT, nodeId, localAdapterNo,
                                                interruptNo, flags, SCI_FLAG_COUNTING_INT,
                                                (void **)interrupt));
}

SISCI_API(void, SCIDisconnectInterrupt)
(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_disconnect(interrupt, SISCI_REMOTE_INTERRUPT, flags));
}

SISCI_API(void, SCITriggerInterrupt)
(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error)
{
    sisci_report(error, sisci_interrupt_trigger(interrupt, SISCI_REMOTE_INTERRUPT, NULL, 0, flags));
}
