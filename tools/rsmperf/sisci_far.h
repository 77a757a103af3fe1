/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a lane has for an importer that measures SISCI: a segment and two interrupts. */
#ifndef RSMPERF_SISCI_FAR_H
#define RSMPERF_SISCI_FAR_H

#include <sisci_api.h>
#include <stdbool.h>

struct sisci_far {
    bool initialized;
    sci_desc_t sd;
    sci_local_segment_t segment;
    sci_local_interrupt_t awaited, called; /**< without and with a callback */
    unsigned awaited_number, called_number;
};

/**
 * Make all of it.
 * @param callback  of `called`, with @p argument.
 * @return SCI_ERR_OK or what failed; sisci_far_close() is due in any case.
 */
sci_error_t sisci_far_open(struct sisci_far *far, unsigned adapter, size_t bytes,
                           sci_cb_interrupt_t callback, void *argument);
void sisci_far_close(struct sisci_far *far);

/** Take a trigger of `awaited`. RSM_SUCCESS, RSMERR_TIMEOUT, or another error of RSMAPI. */
int sisci_far_wait(const struct sisci_far *far, unsigned timeout_ms);

#endif
