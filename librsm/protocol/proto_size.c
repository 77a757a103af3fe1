/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto_size.h"

#include "protocol/proto.h"

#define MEMBER_SIZE(member) (sizeof((struct rsm_msg *)NULL)->u.member)

/* Sizes are not 0: that is what a type has that nobody has listed here. */
enum { NO_BODY = 1 };

_Static_assert(sizeof(struct rsm_msg) <= UINT16_MAX, "sizes of members fit");

static const uint16_t request_sizes[RSM_MSG_LAST + 1] = {
    [RSM_MSG_HELLO] = MEMBER_SIZE(hello),
    [RSM_MSG_CONTROLLER] = MEMBER_SIZE(controller),
    [RSM_MSG_TOPOLOGY] = MEMBER_SIZE(topology),
    [RSM_MSG_LOCATE] = MEMBER_SIZE(locate),
    [RSM_MSG_EXTENT_ALLOC] = MEMBER_SIZE(extent_alloc),
    [RSM_MSG_EXTENT_FREE] = MEMBER_SIZE(extent_free),
    [RSM_MSG_EXTENT_OPEN] = MEMBER_SIZE(extent_open),
    [RSM_MSG_EXPORT_CREATE] = MEMBER_SIZE(export_create),
    [RSM_MSG_EXPORT_PUBLISH] = MEMBER_SIZE(export_publish),
    [RSM_MSG_EXPORT_REPUBLISH] = MEMBER_SIZE(export_republish),
    [RSM_MSG_EXPORT_UNPUBLISH] = MEMBER_SIZE(export_unpublish),
    [RSM_MSG_EXPORT_DESTROY] = MEMBER_SIZE(export_destroy),
    [RSM_MSG_EXPORT_STATE] = MEMBER_SIZE(export_state),
    [RSM_MSG_IMPORT_CONNECT] = MEMBER_SIZE(import_connect),
    [RSM_MSG_IMPORT_DISCONNECT] = MEMBER_SIZE(import_disconnect),
    [RSM_MSG_IMPORT_TRAP] = MEMBER_SIZE(import_trap),
    [RSM_MSG_EVENT_OPEN] = MEMBER_SIZE(event_open),
    [RSM_MSG_EVENT_RECEIVERS] = MEMBER_SIZE(event_peers),
    [RSM_MSG_EVENT_ARM] = MEMBER_SIZE(event_arm),
    [RSM_MSG_EVENT_DOORBELL] = MEMBER_SIZE(event_doorbell),
    [RSM_MSG_INSPECT] = MEMBER_SIZE(inspect),
    [RSM_MSG_LINKS] = MEMBER_SIZE(links),
    [RSM_MSG_FAILED] = MEMBER_SIZE(failed),
    [RSM_MSG_SHARES] = MEMBER_SIZE(shares),
    [RSM_MSG_INTERRUPTS] = MEMBER_SIZE(interrupts),
    [RSM_MSG_RECORDS] = MEMBER_SIZE(records),
    [RSM_MSG_INTERRUPT_CREATE] = MEMBER_SIZE(interrupt_create),
    [RSM_MSG_INTERRUPT_REMOVE] = MEMBER_SIZE(interrupt_remove),
    [RSM_MSG_INTERRUPT_CONNECT] = MEMBER_SIZE(interrupt_connect),
    [RSM_MSG_INTERRUPT_TRIGGER] = MEMBER_SIZE(interrupt_trigger),
    [RSM_MSG_INTERRUPT_TAKE] = MEMBER_SIZE(interrupt_take),
    [RSM_MSG_NAMED] = MEMBER_SIZE(named),
};

static const uint16_t reply_sizes[RSM_MSG_LAST + 1] = {
    [RSM_MSG_HELLO] = MEMBER_SIZE(hello_reply),
    [RSM_MSG_CONTROLLER] = MEMBER_SIZE(controller_reply),
    [RSM_MSG_TOPOLOGY] = MEMBER_SIZE(topology_reply),
    [RSM_MSG_LOCATE] = MEMBER_SIZE(locate_reply),
    [RSM_MSG_EXTENT_ALLOC] = MEMBER_SIZE(extent_alloc_reply),
    [RSM_MSG_EXPORT_CREATE] = MEMBER_SIZE(export_create_reply),
    [RSM_MSG_EXPORT_PUBLISH] = MEMBER_SIZE(export_publish_reply),
    [RSM_MSG_EXPORT_UNPUBLISH] = MEMBER_SIZE(export_end_reply),
    [RSM_MSG_EXPORT_DESTROY] = MEMBER_SIZE(export_end_reply),
    [RSM_MSG_EXPORT_STATE] = MEMBER_SIZE(export_state_reply),
    [RSM_MSG_IMPORT_CONNECT] = MEMBER_SIZE(import_connect_reply),
    [RSM_MSG_EVENT_RECEIVERS] = MEMBER_SIZE(event_peers_reply),
    [RSM_MSG_INSPECT] = MEMBER_SIZE(inspect_reply),
    [RSM_MSG_LINKS] = MEMBER_SIZE(links_reply),
    [RSM_MSG_FAILED] = MEMBER_SIZE(failed_reply),
    [RSM_MSG_SHARES] = MEMBER_SIZE(shares_reply),
    [RSM_MSG_INTERRUPTS] = MEMBER_SIZE(interrupts_reply),
    [RSM_MSG_RECORDS] = MEMBER_SIZE(records_reply),
    [RSM_MSG_INTERRUPT_CREATE] = MEMBER_SIZE(interrupt_create_reply),
    [RSM_MSG_INTERRUPT_CONNECT] = MEMBER_SIZE(interrupt_connect_reply),
    [RSM_MSG_INTERRUPT_TAKE] = MEMBER_SIZE(interrupt_take_reply),
    [RSM_MSG_NAMED] = MEMBER_SIZE(named_reply),
    [RSM_MSG_EXPORT_REPUBLISH] = NO_BODY,
    [RSM_MSG_EXTENT_FREE] = NO_BODY,
    [RSM_MSG_EXTENT_OPEN] = NO_BODY,
    [RSM_MSG_IMPORT_DISCONNECT] = NO_BODY,
    [RSM_MSG_IMPORT_TRAP] = NO_BODY,
    [RSM_MSG_EVENT_OPEN] = NO_BODY,
    [RSM_MSG_EVENT_ARM] = NO_BODY,
    [RSM_MSG_EVENT_DOORBELL] = NO_BODY,
    [RSM_MSG_INTERRUPT_REMOVE] = NO_BODY,
    [RSM_MSG_INTERRUPT_TRIGGER] = NO_BODY,
};

size_t rsm_msg_body_size(uint32_t type)
{
    uint32_t request = type & ~RSM_MSG_REPLY;
    size_t size = 0;
    if (request <= RSM_MSG_LAST)
        size = (type & RSM_MSG_REPLY) == 0 ? request_sizes[request] : reply_sizes[request];
    return size != 0 ? size : sizeof((struct rsm_msg *)NULL)->u;
}
