/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of clients that wait for a link that is made on demand. Such a request has nothing of
 * the node that it is for: it is kept as it came, and served from its beginning when the link can
 * be used.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "node/slice.h"
#include "remote/internal.h"

struct rsmd_parked {
    size_t length;
    uint8_t packet[];
};

static struct rsmd_parked *pack(const struct rsm_msg *request)
{
    uint8_t packet[RSM_PROTO_MESSAGE_MAX];
    size_t length = rsm_msg_encode(request, packet, sizeof packet);
    struct rsmd_parked *parked = length > 0 ? malloc(sizeof *parked + length) : NULL;
    if (parked == NULL)
        return NULL;
    parked->length = length;
    memcpy(parked->packet, packet, length);
    return parked;
}

static enum rsm_status park(struct rsmd_call *call, struct rsmd_remote *remote)
{
    struct rsmd_forward *forward;
    enum rsm_status status = rsmd_remote_forward(call, remote, NULL, &forward);
    if (status != RSM_ST_OK)
        return status;
    forward->parked = pack(call->request);
    if (forward->parked == NULL) {
        rsmd_remote_unforward(forward);
        return RSM_ST_NO_MEMORY;
    }
    forward->who = call->who;
    HASH_DELETE(hh, remote->waiting, forward);
    DL_APPEND(remote->parked, forward);
    remote->parked_count++;
    call->later = true;
    return RSM_ST_OK;
}

enum rsm_status rsmd_remote_await(struct rsmd_call *call, uint32_t id)
{
    struct rsmd_node *node = call->node;
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    enum rsmd_link_use use =
        carrier->need != NULL ? carrier->need(carrier->context, id) : RSMD_LINK_USABLE;
    if (use != RSMD_LINK_AWAITED)
        return remote != NULL && remote->up ? RSM_ST_OK : RSM_ST_UNREACHABLE;
    if (remote == NULL)
        remote = rsmd_remote_need(node, id);
    return remote != NULL ? park(call, remote) : RSM_ST_NO_MEMORY;
}

void rsmd_unpark(struct rsmd_forward *forward)
{
    struct rsmd_remote *remote = forward->remote;
    DL_DELETE(remote->parked, forward);
    remote->parked_count--;
    if (remote->parked_due > remote->parked_count)
        remote->parked_due = remote->parked_count;
    free(forward->parked);
}

/* ------------------------------------------------------------------ served */

/* Serve a request again. Its client cannot end meanwhile. */
static void serve(struct rsmd_forward *forward, struct rsm_msg *request, struct rsm_msg *reply)
{
    struct rsmd_client *client = forward->client;
    struct rsmd_call call = {.node = forward->node,
                             .client = client,
                             .who = forward->who,
                             .request = request,
                             .reply = reply};
    enum rsm_status status =
        rsm_msg_decode(request, forward->parked->packet, forward->parked->length);
    rsmd_remote_unforward(forward);
    if (status != RSM_ST_OK) /* it was encoded here */
        return;
    rsmd_dispatch(&call);
    if (!call.later)
        client->answer(client, reply, &call.attached);
    if (call.close_attached)
        rsm_packet_fds_close(&call.attached);
}

bool rsmd_parked_serve(struct rsmd_remote *remote, int64_t until)
{
    struct rsm_msg *messages =
        remote->parked_due > 0 && remote->parked_made ? malloc(2 * sizeof *messages) : NULL;
    for (; remote->parked_due > 0 && !rsmd_slice_is_over(until);) {
        struct rsmd_forward *forward = remote->parked;
        remote->parked_due--;
        if (messages != NULL)
            serve(forward, &messages[0], &messages[1]);
        else
            rsmd_remote_refuse(forward,
                               remote->parked_made ? RSM_ST_NO_MEMORY : RSM_ST_UNREACHABLE);
    }
    free(messages);
    return remote->parked_due == 0;
}

void rsmd_remote_needed(void *context, uint32_t id, bool made)
{
    struct rsmd_node *node = context;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote == NULL)
        return;
    remote->parked_made = made;
    remote->parked_due = remote->parked_count;
    rsmd_ends_go_on(node, remote);
}
