/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/call.h"

#include "node/clients.h"
#include "node/refusals.h"
#include "node/topology.h"

static enum rsm_status answer_hello(struct rsmd_call *call)
{
    const struct rsm_hello_request *hello = &call->request->u.hello;
    if (call->client->greeted)
        return RSM_ST_PROTOCOL;
    if (hello->node < 1 || hello->node > RSM_NODE_ID_MAX)
        return RSM_ST_INVALID;
    enum rsm_status here = rsmd_node_here(call->node, hello->node);
    if (here == RSM_ST_DENIED)
        rsmd_log_of_user(
            call->node, call->who.uid,
            "refusing process %d of user %u, which says that it is of node %u: no daemon "
            "of that node listens on this host",
            (int)call->who.pid, (unsigned)call->who.uid, (unsigned)hello->node);
    if (here != RSM_ST_OK)
        return here;
    if (!rsmd_client_admit(call->client))
        return RSM_ST_NO_RESOURCES;
    call->client->greeted = true;
    call->client->node = hello->node;
    call->reply->u.hello_reply =
        (struct rsm_hello_reply){.node = call->node->id,
                                 .embedded = call->node->embedded,
                                 .peer_timeout_ms = call->node->conf.peer_timeout_ms};
    call->attached.fds[call->attached.count++] =
        rsmd_generation_table_fd(call->node->generation_table);
    return RSM_ST_OK;
}

static const struct {
    rsmd_handler *answer;
    bool foreign; /* also for clients of other nodes, who only import */
    bool looks;   /* also for root where the daemon serves another user alone */
} kinds[] = {
    [RSM_MSG_HELLO] = {answer_hello, true, true},
    [RSM_MSG_CONTROLLER] = {rsmd_answer_controller, false, true},
    [RSM_MSG_TOPOLOGY] = {rsmd_answer_topology, false, true},
    [RSM_MSG_LOCATE] = {rsmd_answer_locate, false, true},
    [RSM_MSG_EXTENT_ALLOC] = {rsmd_answer_extent_alloc, false, false},
    [RSM_MSG_EXTENT_FREE] = {rsmd_answer_extent_free, false, false},
    [RSM_MSG_EXPORT_CREATE] = {rsmd_answer_export_create, false, false},
    [RSM_MSG_EXPORT_PUBLISH] = {rsmd_answer_export_publish, false, false},
    [RSM_MSG_EXPORT_REPUBLISH] = {rsmd_answer_export_republish, false, false},
    [RSM_MSG_EXPORT_UNPUBLISH] = {rsmd_answer_export_unpublish, false, false},
    [RSM_MSG_EXPORT_DESTROY] = {rsmd_answer_export_destroy, false, false},
    [RSM_MSG_IMPORT_CONNECT] = {rsmd_answer_import_connect, true, false},
    [RSM_MSG_IMPORT_DISCONNECT] = {rsmd_answer_import_disconnect, true, false},
    [RSM_MSG_EVENT_OPEN] = {rsmd_answer_event_open, true, false},
    [RSM_MSG_EVENT_RECEIVERS] = {rsmd_answer_event_receivers, true, false},
    [RSM_MSG_EVENT_ARM] = {rsmd_answer_event_arm, true, false},
    [RSM_MSG_EVENT_DOORBELL] = {rsmd_answer_event_doorbell, true, false},
    [RSM_MSG_INSPECT] = {rsmd_answer_inspect, true, true},
    [RSM_MSG_LINKS] = {rsmd_answer_links, true, true},
    [RSM_MSG_SHARES] = {rsmd_answer_shares, true, true},
    [RSM_MSG_RECORDS] = {rsmd_answer_records, true, false},
    [RSM_MSG_EXTENT_OPEN] = {rsmd_answer_extent_open, false, false},
    [RSM_MSG_INTERRUPT_CREATE] = {rsmd_answer_interrupt_create, false, false},
    [RSM_MSG_INTERRUPT_REMOVE] = {rsmd_answer_interrupt_remove, false, false},
    [RSM_MSG_INTERRUPT_CONNECT] = {rsmd_answer_interrupt_connect, true, false},
    [RSM_MSG_INTERRUPT_TRIGGER] = {rsmd_answer_interrupt_trigger, true, false},
    [RSM_MSG_INTERRUPT_TAKE] = {rsmd_answer_interrupt_take, false, false},
    [RSM_MSG_IMPORT_TRAP] = {rsmd_answer_import_trap, true, false},
    [RSM_MSG_EXPORT_STATE] = {rsmd_answer_export_state, false, false},
    [RSM_MSG_FAILED] = {rsmd_answer_failed, true, true},
    [RSM_MSG_INTERRUPTS] = {rsmd_answer_interrupts, true, true},
    [RSM_MSG_NAMED] = {rsmd_answer_named, false, true},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static bool only_looks(const struct rsmd_call *call)
{
    const struct rsmd_node *node = call->node;
    return node->one_user &&
           rsmd_access_service(node->owner, call->client->peer.uid) != RSMD_SERVICE_ALL;
}

static enum rsm_status answer(struct rsmd_call *call)
{
    uint32_t type = call->request->type;
    const struct rsmd_client *client = call->client;
    if (type >= KIND_COUNT || kinds[type].answer == NULL || call->request->status != RSM_ST_OK)
        return RSM_ST_PROTOCOL;
    if (!client->greeted && type != RSM_MSG_HELLO)
        return RSM_ST_PROTOCOL;
    if (client->greeted && client->node != call->node->id && !kinds[type].foreign)
        return RSM_ST_DENIED;
    if (!kinds[type].looks && only_looks(call))
        return RSM_ST_DENIED;
    return kinds[type].answer(call);
}

void rsmd_dispatch(struct rsmd_call *call)
{
    call->attached.count = 0;
    call->close_attached = false;
    rsm_msg_begin(call->reply, call->request->type | RSM_MSG_REPLY);
    call->reply->sequence = call->request->sequence;
    call->reply->status = answer(call);
}
