/* SPDX-License-Identifier: BSD-3-Clause */
#include "sisci_remote.h"

#include <rsmapi.h>
#include <sisci_error.h>

static sci_error_t make_segment(struct sisci_remote *remote, unsigned adapter, size_t bytes)
{
    sci_error_t error;
    SCICreateSegment(remote->sd, &remote->segment, 0, bytes, NULL, NULL, SCI_FLAG_AUTO_ID, &error);
    if (error == SCI_ERR_OK)
        SCIPrepareSegment(remote->segment, adapter, 0, &error);
    if (error == SCI_ERR_OK)
        SCISetSegmentAvailable(remote->segment, adapter, 0, &error);
    return error;
}

sci_error_t sisci_remote_open(struct sisci_remote *remote, unsigned adapter, size_t bytes,
                              sci_cb_interrupt_t callback, void *argument)
{
    sci_error_t error;
    *remote = (struct sisci_remote){.initialized = false};
    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return error;
    remote->initialized = true;
    SCIOpen(&remote->sd, 0, &error);
    if (error == SCI_ERR_OK)
        error = make_segment(remote, adapter, bytes);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(remote->sd, &remote->awaited, adapter, &remote->awaited_number, NULL,
                           NULL, 0, &error);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(remote->sd, &remote->called, adapter, &remote->called_number, callback,
                           argument, SCI_FLAG_USE_CALLBACK, &error);
    return error;
}

void sisci_remote_close(struct sisci_remote *remote)
{
    sci_error_t error;
    if (!remote->initialized)
        return;
    if (remote->segment != NULL) /* the importer may still be connected */
        SCIRemoveSegment(remote->segment, SCI_FLAG_FORCE_REMOVE, &error);
    if (remote->sd != NULL)
        SCIClose(remote->sd, 0, &error);
    SCITerminate();
    remote->initialized = false;
}

int sisci_remote_wait(const struct sisci_remote *remote, unsigned timeout_ms)
{
    sci_error_t error;
    SCIWaitForInterrupt(remote->awaited, timeout_ms, 0, &error);
    switch (error) {
    case SCI_ERR_OK:
        return RSM_SUCCESS;
    case SCI_ERR_TIMEOUT:
        return RSMERR_TIMEOUT;
    default:
        return RSMERR_CONN_ABORTED;
    }
}
