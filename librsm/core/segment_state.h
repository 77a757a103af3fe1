/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How exports, and imports that are attached to one, ask for a change of its state. */
#pragma once

#include "control/control.h"
#include "core/export.h"

/** As rsmcore_export_move(), of handle @p id at @p end on @p control. */
static inline enum rsm_status rsmcore_segment_move(struct rsmcore_control *control,
                                                   enum rsm_event_end end, uint32_t id,
                                                   const struct rsmcore_move *move,
                                                   enum rsm_segment_state *was)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_STATE,
                          .u.export_state = {.end = end,
                                             .id = id,
                                             .unit = move->unit,
                                             .from = move->from,
                                             .to = move->to,
                                             .flags = move->flags}};
    enum rsm_status status = rsmcore_control_call(control, &msg, NULL);
    if (status != RSM_ST_OK)
        return status;
    if (msg.u.export_state_reply.was > RSM_SEGMENT_OPEN)
        return RSM_ST_PROTOCOL;
    *was = (enum rsm_segment_state)msg.u.export_state_reply.was;
    return RSM_ST_OK;
}
