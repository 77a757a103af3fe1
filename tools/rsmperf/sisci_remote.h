/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a lane has for an importer that measures SISCI: a segment and two interrupts. */
#ifndef RSMPERF_SISCI_REMOTE_H
#define RSMPERF_SISCI_REMOTE_H

#include <sisci_api.h>
#include <stdbool.h>

struct sisci_remote {
    bool initialized;
    sci_desc_t sd;
    sci_local_segment_t segment;
    sci_local_interrupt_t awaited, called; /**< without and with a callback */
    unsigned awaited_number, called_number;
};

/**
 * Make all of it.
 * @param callback  of `called`, with @p argument.
 * @return SCI_ERR_OK or the error; sisci_remote_close() is due in any case.
 */
sci_error_t sisci_remote_open(struct sisci_remote *remote, unsigned adapter, size_t bytes,
                              sci_cb_interrupt_t callback, void *argument);
void sisci_remote_close(struct sisci_remote *remote);

/** Take a trigger of `awaited`. RSM_SUCCESS, RSMERR_TIMEOUT, or another error of RSMAPI. */
int sisci_remote_wait(const struct sisci_remote *remote, unsigned timeout_ms);

#endif
