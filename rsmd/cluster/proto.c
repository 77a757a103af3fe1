/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"

static void walk_hello(struct rsm_codec *c, struct rsm_cluster_hello *m)
{
    rsm_codec_u32(c, &m->magic);
    rsm_codec_u32(c, &m->version_min);
    rsm_codec_u32(c, &m->version_max);
    rsm_codec_u32(c, &m->from);
    rsm_codec_u32(c, &m->to);
    rsm_codec_u64(c, &m->incarnation);
    rsm_codec_bytes(c, m->nonce, sizeof m->nonce);
}

static void walk_proof(struct rsm_codec *c, struct rsm_cluster_proof *m)
{
    rsm_codec_count(c, &m->length, RSM_CLUSTER_CREDENTIAL_MAX);
    rsm_codec_bytes(c, m->credential, m->length);
}

static void walk_refuse(struct rsm_codec *c, struct rsm_cluster_refuse *m)
{
    rsm_codec_u32(c, &m->status);
    rsm_codec_string(c, m->text, sizeof m->text);
}

static void walk_connect(struct rsm_codec *c, struct rsm_cluster_connect *m)
{
    rsm_codec_u32(c, &m->request);
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->rights);
    rsm_codec_u32(c, &m->uid);
    rsm_codec_u32(c, &m->gid);
    rsm_codec_u32(c, &m->pid);
    rsm_codec_count(c, &m->group_count, RSM_CLUSTER_GROUPS_MAX);
    for (uint32_t i = 0; i < m->group_count; i++)
        rsm_codec_u32(c, &m->groups[i]);
}

static void walk_connect_reply(struct rsm_codec *c, struct rsm_cluster_connect_reply *m)
{
    rsm_codec_u32(c, &m->request);
    rsm_codec_u32(c, &m->status);
    if (!rsmcore_status_known(m->status))
        c->bad = true;
    if (m->status != RSM_ST_OK)
        return;
    rsm_codec_u32(c, &m->import);
    rsm_codec_u32(c, &m->rights);
    rsm_codec_u64(c, &m->length);
    rsm_codec_u64(c, &m->size);
    rsm_codec_string(c, m->transport, sizeof m->transport);
    rsm_codec_count(c, &m->blob_len, RSM_OFFER_MAX_BLOB);
    rsm_codec_bytes(c, m->blob, m->blob_len);
}

static void walk_event(struct rsm_codec *c, struct rsm_cluster_event *m)
{
    rsm_codec_u32(c, &m->import);
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->count);
    rsm_codec_u32(c, &m->coalesced);
}

static void walk_interrupt(struct rsm_codec *c, struct rsm_cluster_interrupt *m)
{
    rsm_codec_u32(c, &m->request);
    rsm_codec_u32(c, &m->kind);
    rsm_codec_u32(c, &m->number);
    rsm_codec_u32(c, &m->interrupt);
    rsm_codec_u32(c, &m->uid);
    rsm_codec_u32(c, &m->gid);
    rsm_codec_u32(c, &m->pid);
    rsm_codec_count(c, &m->group_count, RSM_CLUSTER_GROUPS_MAX);
    for (uint32_t i = 0; i < m->group_count; i++)
        rsm_codec_u32(c, &m->groups[i]);
    rsm_codec_count(c, &m->length, RSM_INTERRUPT_DATA_MAX);
    rsm_codec_bytes(c, m->data, m->length);
}

static void walk_interrupt_reply(struct rsm_codec *c, struct rsm_cluster_interrupt_reply *m)
{
    rsm_codec_u32(c, &m->request);
    rsm_codec_u32(c, &m->status);
    rsm_codec_u32(c, &m->interrupt);
    c->bad |= !rsmcore_status_known(m->status);
}

static void walk(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    rsm_codec_u32(c, &msg->type);
    switch ((enum rsm_cluster_msg_type)msg->type) {
    case RSM_CLUSTER_HELLO:
        walk_hello(c, &msg->u.hello);
        return;
    case RSM_CLUSTER_PROOF:
        walk_proof(c, &msg->u.proof);
        return;
    case RSM_CLUSTER_REFUSE:
        walk_refuse(c, &msg->u.refuse);
        return;
    case RSM_CLUSTER_PING:
    case RSM_CLUSTER_PONG:
        rsm_codec_u64(c, &msg->u.ping.number);
        return;
    case RSM_CLUSTER_CONNECT:
        walk_connect(c, &msg->u.connect);
        return;
    case RSM_CLUSTER_CONNECT_REPLY:
        walk_connect_reply(c, &msg->u.connect_reply);
        return;
    case RSM_CLUSTER_DISCONNECT:
    case RSM_CLUSTER_ABORT:
    case RSM_CLUSTER_UNAVAILABLE:
        rsm_codec_u32(c, &msg->u.import.import);
        rsm_codec_u32(c, &msg->u.import.died);
        return;
    case RSM_CLUSTER_EVENT:
        walk_event(c, &msg->u.event);
        return;
    case RSM_CLUSTER_INTERRUPT:
        walk_interrupt(c, &msg->u.interrupt);
        return;
    case RSM_CLUSTER_INTERRUPT_REPLY:
        walk_interrupt_reply(c, &msg->u.interrupt_reply);
        return;
    }
    c->bad = true;
}

size_t rsm_cluster_encode(const struct rsm_cluster_msg *msg, void *buffer, size_t capacity)
{
    struct rsm_codec c =
        rsm_encoder(buffer, capacity < RSM_CLUSTER_FRAME_MAX ? capacity : RSM_CLUSTER_FRAME_MAX);
    size_t room = c.left;
    /* An encoding walk only reads; the one walk for both directions takes a mutable message. */
    walk(&c, (struct rsm_cluster_msg *)(uintptr_t)msg);
    return c.bad ? 0 : room - c.left;
}

enum rsm_status rsm_cluster_decode(struct rsm_cluster_msg *msg, const void *buffer, size_t length)
{
    memset(msg, 0, sizeof *msg);
    if (length > RSM_CLUSTER_FRAME_MAX)
        return RSM_ST_PROTOCOL;
    struct rsm_codec c = rsm_decoder(buffer, length);
    walk(&c, msg);
    if (c.bad || c.left != 0)
        return RSM_ST_PROTOCOL;
    if (msg->type == RSM_CLUSTER_HELLO && msg->u.hello.magic != RSM_CLUSTER_MAGIC)
        return RSM_ST_PROTOCOL;
    return RSM_ST_OK;
}
