/* SPDX-License-Identifier: BSD-3-Clause */
#include "sisci_far.h"

#include <rsmapi.h>
#include <sisci_error.h>

static sci_error_t make_segment(struct sisci_far *far, unsigned adapter, size_t bytes)
{
    sci_error_t error;
    SCICreateSegment(far->sd, &far->segment, 0, bytes, NULL, NULL, SCI_FLAG_AUTO_ID, &error);
    if (error == SCI_ERR_OK)
        SCIPrepareSegment(far->segment, adapter, 0, &error);
    if (error == SCI_ERR_OK)
        SCISetSegmentAvailable(far->segment, adapter, 0, &error);
    return error;
}

sci_error_t sisci_far_open(struct sisci_far *far, unsigned adapter, size_t bytes,
                           sci_cb_interrupt_t callback, void *argument)
{
    sci_error_t error;
    *far = (struct sisci_far){.initialized = false};
    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return error;
    far->initialized = true;
    SCIOpen(&far->sd, 0, &error);
    if (error == SCI_ERR_OK)
        error = make_segment(far, adapter, bytes);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(far->sd, &far->awaited, adapter, &far->awaited_number, NULL, NULL, 0,
                           &error);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(far->sd, &far->called, adapter, &far->called_number, callback, argument,
                           SCI_FLAG_USE_CALLBACK, &error);
    return error;
}

void sisci_far_close(struct sisci_far *far)
{
    sci_error_t error;
    if (!far->initialized)
        return;
    if (far->segment != NULL) /* the importer may still be connected */
        SCIRemoveSegment(far->segment, SCI_FLAG_FORCE_REMOVE, &error);
    if (far->sd != NULL)
        SCIClose(far->sd, 0, &error);
    SCITerminate();
    far->initialized = false;
}

int sisci_far_wait(const struct sisci_far *far, unsigned timeout_ms)
{
    sci_error_t error;
    SCIWaitForInterrupt(far->awaited, timeout_ms, 0, &error);
    switch (error) {
    case SCI_ERR_OK:
        return RSM_SUCCESS;
    case SCI_ERR_TIMEOUT:
        return RSMERR_TIMEOUT;
    default:
        return RSMERR_CONN_ABORTED;
    }
}
