/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment_events.h"

#include <unistd.h>

enum { PAUSE_US = 10000 };

static sci_segment_cb_reason_t reason_of(const struct rsm_record *record)
{
    switch ((enum rsm_record_event)record->event) {
    case RSM_RECORD_CONNECTED:
        return SCI_CB_CONNECT;
    case RSM_RECORD_DISCONNECTED:
    case RSM_RECORD_CUT:
    case RSM_RECORD_UNAVAILABLE:
        return SCI_CB_DISCONNECT;
    case RSM_RECORD_SILENT:
        return SCI_CB_NOT_OPERATIONAL;
    case RSM_RECORD_ANSWERS:
        return SCI_CB_OPERATIONAL;
    case RSM_RECORD_LOST:
    case RSM_RECORD_OVERFLOW:
        break;
    }
    return SCI_CB_LOST;
}

enum rsm_status sisci_event_take(struct rsmcore_records *records, int timeout_ms,
                                 struct sisci_event *event)
{
    struct rsm_record record;
    enum rsm_status status = rsmcore_records_wait(records, timeout_ms, &record);
    if (status != RSM_ST_OK)
        return status;
    if (record.event == RSM_RECORD_OVERFLOW)
        return RSM_ST_NO_RESOURCES;
    *event = (struct sisci_event){.reason = reason_of(&record), .node = record.node};
    return RSM_ST_OK;
}

enum sisci_turn sisci_event_turn(enum rsm_status status)
{
    if (status == RSM_ST_STALE || status == RSM_ST_ABORTED)
        return SISCI_TURN_LAST;
    if (status == RSM_ST_TIMEOUT)
        return SISCI_TURN_IDLE;
    if (status != RSM_ST_NO_RESOURCES)
        usleep(PAUSE_US); /* the daemon did not answer, or there is no memory */
    return SISCI_TURN_AGAIN;
}
