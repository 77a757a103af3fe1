/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_group(3RSM) */
#include <stdlib.h>

#include "core/group.h"
#include "rsm/group.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

enum { TAG_GROUP = 0x50555247, LIST_MAX = 4096 /* members: RSM_NODE_ID_MAX would take 1.5 MB */ };

struct __rsm_group_handle {
    uint32_t tag;
    struct rsmcore_group *core;
};

static bool is_group(const struct __rsm_group_handle *group)
{
    return group != NULL && group->tag == TAG_GROUP;
}

RSM_EXTENSION(int, rsm_group_connect)
(rsmapi_controller_handle_t controller, rsm_memseg_id_t segment_id, rsm_group_handle_t *group)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_controller(controller))
        return RSMERR_BAD_CTLR_HNDL;
    if (group == NULL)
        return RSMERR_BAD_SEG_HNDL;
    *group = NULL;
    struct __rsm_group_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    enum rsm_status status =
        rsmcore_group_connect(controller->core, RSM_ID_SPACE_RSMAPI, segment_id, &made->core);
    if (status != RSM_ST_OK) {
        free(made);
        return rsmapi_error(RSMAPI_CONNECT, status);
    }
    made->tag = TAG_GROUP;
    *group = made;
    return RSM_SUCCESS;
}

RSM_EXTENSION(int, rsm_group_disconnect)(rsm_group_handle_t group)
{
    RSM_UNCANCELLABLE;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    rsmapi_tag_clear(&group->tag);
    rsmcore_group_disconnect(group->core);
    free(group);
    return RSM_SUCCESS;
}

RSM_EXTENSION(int, rsm_group_put)
(rsm_group_handle_t group, off_t offset, const void *data, size_t length)
{
    RSM_UNCANCELLABLE;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    if (data == NULL)
        return RSMERR_BAD_ADDR;
    if (offset < 0)
        return RSMERR_BAD_OFFSET;
    return rsmapi_error(RSMAPI_GROUP,
                        rsmcore_group_put(group->core, (uint64_t)offset, data, length));
}

RSM_EXTENSION(int, rsm_group_order_barrier)(rsm_group_handle_t group)
{
    RSM_UNCANCELLABLE;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    return rsmapi_error(RSMAPI_GROUP, rsmcore_group_order(group->core));
}

RSM_EXTENSION(int, rsm_group_close_barrier)(rsm_group_handle_t group, uint_t *lacking)
{
    RSM_UNCANCELLABLE;
    unsigned count;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    enum rsm_status status = rsmcore_group_close(group->core, &count);
    if (lacking != NULL)
        *lacking = count;
    return rsmapi_error(RSMAPI_GROUP, status);
}

RSM_EXTENSION(int, rsm_group_signal_post)(rsm_group_handle_t group, uint_t flags)
{
    RSM_UNCANCELLABLE;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    bool coalesce = (flags & RSM_SIGPOST_NO_ACCUMULATE) != 0;
    enum rsm_status status = rsmcore_group_post(group->core, coalesce);
    return rsmapi_error(status == RSM_ST_STALE ? RSMAPI_GROUP : RSMAPI_POST, status);
}

RSM_EXTENSION(int, rsm_group_get_members)
(rsm_group_handle_t group, rsm_group_member_t *members, uint_t *count)
{
    RSM_UNCANCELLABLE;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    if (count == NULL || (members == NULL && *count > 0))
        return RSMERR_BAD_ADDR;
    unsigned room = *count < LIST_MAX ? *count : LIST_MAX, there = room;
    struct rsmcore_group_member *list = calloc(room + 1, sizeof *list);
    if (list == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    enum rsm_status status = rsmcore_group_members(group->core, list, &there);
    for (unsigned i = 0; status == RSM_ST_OK && i < there && i < room; i++)
        members[i] = (rsm_group_member_t){.node = list[i].node,
                                          .error = rsmapi_error(RSMAPI_CONNECT, list[i].status),
                                          .size = list[i].size};
    free(list);
    if (status == RSM_ST_OK)
        *count = there;
    return rsmapi_error(RSMAPI_GROUP, status);
}

RSM_EXTENSION(int, rsm_group_event_wait)
(rsm_group_handle_t group, int timeout, rsm_group_event_t *event)
{
    RSM_UNCANCELLABLE;
    struct rsmcore_group_event taken;
    if (!is_group(group))
        return RSMERR_BAD_SEG_HNDL;
    if (event == NULL)
        return RSMERR_BAD_ADDR;
    enum rsm_status status = rsmcore_group_event(group->core, timeout, &taken);
    if (status == RSM_ST_OK)
        *event = (rsm_group_event_t){.change = (int)taken.change,
                                     .node = taken.node,
                                     .error = rsmapi_error(RSMAPI_CONNECT, taken.status)};
    return rsmapi_error(RSMAPI_GROUP, status);
}
