/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"

static void walk_hello(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_hello *m = &msg->u.hello;
    rsm_codec_u32(c, &m->magic);
    rsm_codec_u32(c, &m->version_min);
    rsm_codec_u32(c, &m->version_max);
    rsm_codec_u32(c, &m->from);
    rsm_codec_u32(c, &m->to);
    rsm_codec_u64(c, &m->incarnation);
    rsm_codec_bytes(c, m->nonce, sizeof m->nonce);
}

static void walk_proof(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_proof *m = &msg->u.proof;
    rsm_codec_count(c, &m->length, RSM_CLUSTER_CREDENTIAL_MAX);
    rsm_codec_bytes(c, m->credential, m->length);
}

static void walk_refuse(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_refuse *m = &msg->u.refuse;
    rsm_codec_u32(c, &m->status);
    rsm_codec_string(c, m->text, sizeof m->text);
}

static void walk_ping(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    rsm_codec_u64(c, &msg->u.ping.number);
    rsm_codec_u64(c, &msg->u.ping.answered);
}

static void walk_pong(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    rsm_codec_u64(c, &msg->u.ping.number);
}

static void walk_identity(struct rsm_codec *c, struct rsm_cluster_identity *m)
{
    rsm_codec_u32(c, &m->uid);
    rsm_codec_u32(c, &m->gid);
    rsm_codec_u32(c, &m->pid);
    rsm_codec_count(c, &m->group_count, RSM_CLUSTER_GROUPS_MAX);
    for (uint32_t i = 0; i < m->group_count; i++)
        rsm_codec_u32(c, &m->groups[i]);
}

static void walk_connect(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_connect *m = &msg->u.connect;
    rsm_codec_u32(c, &m->request);
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->rights);
    walk_identity(c, &m->who);
}

static void walk_connect_reply(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_connect_reply *m = &msg->u.connect_reply;
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

static void walk_import(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    rsm_codec_u32(c, &msg->u.import.import);
    rsm_codec_u32(c, &msg->u.import.died);
}

static void walk_released(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    rsm_codec_u64(c, &msg->u.released.incarnation);
}

static void walk_event(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_event *m = &msg->u.event;
    rsm_codec_u32(c, &m->import);
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->count);
    rsm_codec_u32(c, &m->coalesced);
}

static void walk_interrupt(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_interrupt *m = &msg->u.interrupt;
    rsm_codec_u32(c, &m->request);
    rsm_codec_u32(c, &m->kind);
    rsm_codec_u32(c, &m->number);
    rsm_codec_u32(c, &m->interrupt);
    walk_identity(c, &m->who);
    rsm_codec_count(c, &m->length, RSM_INTERRUPT_DATA_MAX);
    rsm_codec_bytes(c, m->data, m->length);
}

static void walk_interrupt_reply(struct rsm_codec *c, struct rsm_cluster_msg *msg)
{
    struct rsm_cluster_interrupt_reply *m = &msg->u.interrupt_reply;
    rsm_codec_u32(c, &m->request);
    rsm_codec_u32(c, &m->status);
    rsm_codec_u32(c, &m->interrupt);
    c->bad |= !rsmcore_status_known(m->status);
}

/* What belongs to each type. */
static const struct body {
    void (*walk)(struct rsm_codec *c, struct rsm_cluster_msg *msg);
    size_t size;
} bodies[RSM_CLUSTER_LAST + 1] = {
#define BODY(name)                                                                                 \
    {                                                                                              \
        walk_##name, sizeof(struct rsm_cluster_##name)                                             \
    }
    [RSM_CLUSTER_HELLO] = BODY(hello),
    [RSM_CLUSTER_PROOF] = BODY(proof),
    [RSM_CLUSTER_REFUSE] = BODY(refuse),
    [RSM_CLUSTER_PING] = BODY(ping),
    [RSM_CLUSTER_PONG] = {walk_pong, sizeof(struct rsm_cluster_ping)},
    [RSM_CLUSTER_CONNECT] = BODY(connect),
    [RSM_CLUSTER_CONNECT_REPLY] = BODY(connect_reply),
    [RSM_CLUSTER_DISCONNECT] = BODY(import),
    [RSM_CLUSTER_ABORT] = BODY(import),
    [RSM_CLUSTER_EVENT] = BODY(event),
    [RSM_CLUSTER_UNAVAILABLE] = BODY(import),
    [RSM_CLUSTER_RELEASED] = BODY(released),
    [RSM_CLUSTER_INTERRUPT] = BODY(interrupt),
    [RSM_CLUSTER_INTERRUPT_REPLY] = BODY(interrupt_reply),
#undef BODY
};

/* NULL: there is no such type. */
static const struct body *body_of(uint32_t type)
{
    return type <= RSM_CLUSTER_LAST && bodies[type].walk != NULL ? &bodies[type] : NULL;
}

void rsm_cluster_msg_begin(struct rsm_cluster_msg *msg, enum rsm_cluster_msg_type type)
{
    msg->type = type;
    memset(&msg->u, 0, bodies[type].size);
}

size_t rsm_cluster_encode(const struct rsm_cluster_msg *msg, void *buffer, size_t capacity)
{
    struct rsm_codec c =
        rsm_encoder(buffer, capacity < RSM_CLUSTER_FRAME_MAX ? capacity : RSM_CLUSTER_FRAME_MAX);
    const struct body *body = body_of(msg->type);
    size_t room = c.left;
    uint32_t type = msg->type;
    if (body == NULL)
        return 0;
    rsm_codec_u32(&c, &type);
    /* An encoding walk only reads; the one walk for both directions takes a mutable message. */
    body->walk(&c, (struct rsm_cluster_msg *)(uintptr_t)msg);
    return c.bad ? 0 : room - c.left;
}

enum rsm_status rsm_cluster_decode(struct rsm_cluster_msg *msg, const void *buffer, size_t length)
{
    uint32_t type = 0;
    if (length > RSM_CLUSTER_FRAME_MAX)
        return RSM_ST_PROTOCOL;
    struct rsm_codec c = rsm_decoder(buffer, length);
    rsm_codec_u32(&c, &type);
    const struct body *body = body_of(type);
    if (body == NULL)
        return RSM_ST_PROTOCOL;
    rsm_cluster_msg_begin(msg, (enum rsm_cluster_msg_type)type);
    body->walk(&c, msg);
    if (c.bad || c.left != 0)
        return RSM_ST_PROTOCOL;
    if (msg->type == RSM_CLUSTER_HELLO && msg->u.hello.magic != RSM_CLUSTER_MAGIC)
        return RSM_ST_PROTOCOL;
    return RSM_ST_OK;
}
