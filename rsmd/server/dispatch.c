/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/call.h"

#include "node/clients.h"
#include "node/refusals.h"
#include "node/topology.h"

enum rsm_status rsmd_answer_hello(struct rsmd_call *call)
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

/* Who may send a message, besides clients of the local node. */
enum {
    FOREIGN = 1, /* clients of other nodes, who only import */
    LOOKS = 2,   /* root, where the daemon serves only another user */
};

static const struct {
    rsmd_handler *answer;
    unsigned senders;
} kinds[RSM_MSG_LAST + 1] = {
#define RSM_MESSAGE(NAME, number, name, reply, senders) [number] = {rsmd_answer_##name, senders},
#include "protocol/messages.def"
};

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
    if (type > RSM_MSG_LAST || kinds[type].answer == NULL || call->request->status != RSM_ST_OK)
        return RSM_ST_PROTOCOL;
    if (!client->greeted && type != RSM_MSG_HELLO)
        return RSM_ST_PROTOCOL;
    if (client->greeted && client->node != call->node->id && (kinds[type].senders & FOREIGN) == 0)
        return RSM_ST_DENIED;
    if ((kinds[type].senders & LOOKS) == 0 && only_looks(call))
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
