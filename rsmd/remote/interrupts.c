/* SPDX-License-Identifier: BSD-3-Clause */
/* Named interrupts of nodes of other hosts, and processes there that trigger ours. */
#include "node/refusals.h"
#include "node/interrupts.h"

#include <string.h>

#include "remote/internal.h"

/* ------------------------------------------------------------------ from here to there */

static void fill(struct rsm_cluster_interrupt *into, const struct rsmd_trigger *trigger,
                 uint32_t request)
{
    *into = (struct rsm_cluster_interrupt){.request = request,
                                           .kind = trigger->kind,
                                           .number = trigger->number,
                                           .interrupt = trigger->interrupt,
                                           .length = trigger->length};
    rsmd_remote_pack_identity(trigger->who, &into->who);
    if (trigger->length > 0)
        memcpy(into->data, trigger->data, trigger->length);
}

enum rsm_status rsmd_remote_trigger(struct rsmd_call *call, uint32_t node,
                                    const struct rsmd_trigger *trigger)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_INTERRUPT};
    struct rsmd_forward *forward;
    enum rsm_status status = rsmd_remote_await(call, node);
    if (status != RSM_ST_OK || call->later)
        return status;
    status = rsmd_remote_forward(call, rsmd_remote_of(call->node, node), NULL, &forward);
    if (status != RSM_ST_OK)
        return status;
    fill(&msg.u.interrupt, trigger, forward->request);
    return rsmd_remote_send_forward(call, forward, &msg);
}

void rsmd_remote_on_interrupt_reply(struct rsmd_node *node, struct rsmd_remote *remote,
                                    const struct rsm_cluster_interrupt_reply *reply)
{
    struct rsmd_forward *forward = rsmd_remote_forwarded(remote, reply->request, true);
    struct rsm_msg answer = {.status = reply->status};
    if (forward == NULL) /* no client waits for it */
        return;
    if (reply->status == RSM_ST_OK && reply->interrupt == 0) {
        rsmd_log_of_node(node, remote->node,
                         "node %u answers about an interrupt with what makes no sense",
                         (unsigned)remote->node);
        answer.status = RSM_ST_UNREACHABLE;
    }
    if (answer.status == RSM_ST_OK && forward->type == RSM_MSG_INTERRUPT_CONNECT)
        answer.u.interrupt_connect_reply.interrupt = reply->interrupt;
    rsmd_remote_answer(forward, &answer, NULL);
}

/* ------------------------------------------------------------------ from there to here */

void rsmd_remote_on_interrupt(struct rsmd_node *node, struct rsmd_remote *remote,
                              const struct rsm_cluster_interrupt *asked)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_INTERRUPT_REPLY};
    struct rsm_cluster_interrupt_reply *reply = &msg.u.interrupt_reply;
    const struct rsmd_identity who = rsmd_remote_identity(&asked->who);
    const struct rsmd_trigger trigger = {.node = remote->node,
                                         .who = &who,
                                         .kind = asked->kind,
                                         .number = asked->number,
                                         .interrupt = asked->interrupt,
                                         .length = asked->length,
                                         .data = asked->data};
    reply->request = asked->request;
    reply->status = rsmd_interrupt_trigger(node, &trigger, &reply->interrupt);
    rsmd_remote_send(node, remote, &msg);
}
