/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Events of segments: the core's records, as waits and callbacks have them. */
#pragma once

#include <stdbool.h>

#include "core/records.h"
#include "listener.h"
#include "object.h"
#include "sisci_api.h"

/** An event. */
struct sisci_event {
    sci_segment_cb_reason_t reason;
    unsigned node;
};

/**
 * Take the next event, waiting up to @p timeout_ms milliseconds (negative: for ever).
 * @return RSM_ST_OK; RSM_ST_NO_RESOURCES: some were lost; else what rsmcore_records_wait() says.
 */
enum rsm_status sisci_event_take(struct rsmcore_records *records, int timeout_ms,
                                 struct sisci_event *event);

/** What a listener's turn was that got this status instead of an event: after a while, if that is a
 *  failure that may pass. */
enum sisci_turn sisci_event_turn(enum rsm_status status);
