/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/probe.h"
#include "core/controller_ports.h"
#include "core/export_set.h"
#include "region/region.h"

static void copy_acl(struct rsm_acl_entry *into, const struct rsm_acl_entry *acl, uint32_t count)
{
    if (count > 0)
        memcpy(into, acl, count * sizeof *acl);
}

/* rsmd carries out late what it did not answer in time. No importer may find a segment that its
 * exporter believes unpublished, so this takes the publication back at once. An importer that
 * connected in between has the extents, and the segment leaves those before it is published
 * again. */
static void take_back_publish(struct rsmcore_export *segment)
{
    struct rsm_msg undo;
    rsm_msg_begin(&undo, RSM_MSG_EXPORT_UNPUBLISH);
    undo.u.export_unpublish.export_id = segment->id;
    rsmcore_control_post(segment->control, &undo);
    segment->publish_unanswered = true;
}

/* @p msg is the request, but for the extents. */
static enum rsm_status request_publish(struct rsmcore_export *segment, struct rsm_msg *msg)
{
    struct rsm_export_publish_request *request = &msg->u.export_publish;
    const struct rsmcore_extent_source source = rsmcore_controller_extents(segment->controller);
    enum rsm_status status = RSM_ST_OK;
    if (segment->publish_unanswered)
        status = rsmcore_export_leave_extents(segment, true);
    segment->publish_unanswered = status != RSM_ST_OK;
    if (status == RSM_ST_OK)
        status = rsmcore_region_cover(segment->control, &source, segment->start, segment->length);
    if (status == RSM_ST_OK)
        status = rsmcore_region_pieces(segment->start, segment->length, request->pieces,
                                       RSM_PROTO_PIECES_MAX, &request->piece_count);
    if (status == RSM_ST_OK)
        status = rsmcore_region_call(segment->control, msg, NULL);
    if (status == RSM_ST_TIMEOUT)
        take_back_publish(segment);
    return status;
}

enum rsm_status rsmcore_export_publish(struct rsmcore_export *segment, enum rsm_id_space space,
                                       uint32_t *segment_id, uint32_t flags,
                                       const struct rsm_acl_entry *acl, uint32_t acl_count)
{
    RSM_PROBE4(export_publish, (uint32_t)space, *segment_id, segment->length, flags);
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_NOT_CREATOR;
    if (acl_count > RSM_PROTO_ACL_MAX)
        return RSM_ST_BAD_RIGHTS;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_PUBLISH);
    struct rsm_export_publish_request *request = &msg.u.export_publish;
    request->export_id = segment->id;
    request->space = space;
    request->segment_id = *segment_id;
    request->flags = flags;
    request->acl_count = acl_count;
    copy_acl(request->acl, acl, acl_count);
    enum rsm_status status = RSM_ST_STALE;
    rsmcore_exports_lock();
    if (rsmcore_export_daemon_lives(segment) && segment->start == 0)
        status = RSM_ST_FAULT;
    else if (rsmcore_export_daemon_lives(segment))
        status = segment->published ? RSM_ST_ALREADY_PUBLISHED : request_publish(segment, &msg);
    if (status == RSM_ST_OK) {
        segment->published = true;
        if ((flags & RSM_PUBLISH_ASSIGN_ID) != 0)
            *segment_id = msg.u.export_publish_reply.segment_id;
    }
    rsmcore_region_unlock();
    return status;
}

enum rsm_status rsmcore_export_republish(struct rsmcore_export *segment,
                                         const struct rsm_acl_entry *acl, uint32_t acl_count)
{
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_NOT_CREATOR;
    if (acl_count > RSM_PROTO_ACL_MAX)
        return RSM_ST_BAD_RIGHTS;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_REPUBLISH);
    msg.u.export_republish =
        (struct rsm_export_republish_request){.export_id = segment->id, .acl_count = acl_count};
    copy_acl(msg.u.export_republish.acl, acl, acl_count);
    rsmcore_exports_lock();
    enum rsm_status status = segment->published ? rsmcore_region_call(segment->control, &msg, NULL)
                                                : RSM_ST_NOT_PUBLISHED;
    rsmcore_region_unlock();
    return status == RSM_ST_STALE ? RSM_ST_NOT_PUBLISHED : status;
}

/* Ask rsmd to end the publication, and leave the extents if others may have them. */
static enum rsm_status end_publication(struct rsmcore_export *segment, uint32_t flags)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_UNPUBLISH);
    msg.u.export_unpublish =
        (struct rsm_export_unpublish_request){.export_id = segment->id, .flags = flags};
    enum rsm_status status = rsmcore_region_call(segment->control, &msg, NULL);
    bool died = status == RSM_ST_STALE;
    /* Not published: rsmd carried an earlier request out after we stopped waiting for it. */
    if (status != RSM_ST_OK && status != RSM_ST_NOT_PUBLISHED && !died)
        return status;
    bool offered = status != RSM_ST_OK || msg.u.export_unpublish_reply.offered != 0;
    bool keep = (flags & RSM_UNPUBLISH_KEEP_CONNECTIONS) != 0 && !died;
    /* Where rsmd did not say how many were kept there may be some. */
    bool some = status != RSM_ST_OK || msg.u.export_unpublish_reply.connections > 0;
    segment->published = false;
    segment->connections_kept = keep && some;
    status = offered && !keep ? rsmcore_export_leave_extents(segment, true) : RSM_ST_OK;
    return died && status == RSM_ST_OK ? RSM_ST_NOT_PUBLISHED : status;
}

enum rsm_status rsmcore_export_unpublish(struct rsmcore_export *segment, uint32_t flags)
{
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_NOT_CREATOR;
    bool keep = (flags & RSM_UNPUBLISH_KEEP_CONNECTIONS) != 0;
    rsmcore_exports_lock();
    bool something = segment->published || (segment->connections_kept && !keep);
    enum rsm_status status = something ? end_publication(segment, flags) : RSM_ST_NOT_PUBLISHED;
    rsmcore_region_unlock();
    return status;
}

enum rsm_status rsmcore_segment_move(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, const struct rsmcore_move *move,
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

enum rsm_status rsmcore_export_move(struct rsmcore_export *segment, const struct rsmcore_move *move,
                                    enum rsm_segment_state *was)
{
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_STALE;
    return rsmcore_segment_move(segment->control, RSM_EVENT_EXPORT, segment->id, move, was);
}
