/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto_walk.h"

static void walk_interrupt_create(struct rsm_codec *c, struct rsm_interrupt_create_request *m)
{
    rsm_codec_u32(c, &m->kind);
    rsm_codec_u32(c, &m->number);
    rsm_codec_u32(c, &m->flags);
    rsm_codec_u32(c, &m->mode);
}

static void walk_interrupt_trigger(struct rsm_codec *c, struct rsm_interrupt_trigger_request *m)
{
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->kind);
    rsm_codec_u32(c, &m->number);
    rsm_codec_u32(c, &m->interrupt);
    rsm_codec_u32(c, &m->posted);
    rsm_codec_count(c, &m->length, RSM_INTERRUPT_DATA_MAX);
    rsm_codec_bytes(c, m->data, m->length);
}

static void walk_interrupt_take_reply(struct rsm_codec *c, struct rsm_interrupt_take_reply *m)
{
    rsm_codec_count(c, &m->count, RSM_PROTO_MESSAGES_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u64(c, &m->messages[i].order);
        rsm_codec_u32(c, &m->messages[i].node);
        rsm_codec_count(c, &m->messages[i].length, RSM_INTERRUPT_DATA_MAX);
        rsm_codec_bytes(c, m->messages[i].data, m->messages[i].length);
    }
}

void rsm_walk_interrupt_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type) {
    case RSM_MSG_INTERRUPT_CREATE:
        walk_interrupt_create(c, &msg->u.interrupt_create);
        return;
    case RSM_MSG_INTERRUPT_REMOVE:
        rsm_codec_u32(c, &msg->u.interrupt_remove.interrupt);
        return;
    case RSM_MSG_INTERRUPT_CONNECT:
        rsm_codec_u32(c, &msg->u.interrupt_connect.node);
        rsm_codec_u32(c, &msg->u.interrupt_connect.kind);
        rsm_codec_u32(c, &msg->u.interrupt_connect.number);
        rsm_codec_u32(c, &msg->u.interrupt_connect.counter);
        return;
    case RSM_MSG_INTERRUPT_TRIGGER:
        walk_interrupt_trigger(c, &msg->u.interrupt_trigger);
        return;
    case RSM_MSG_INTERRUPT_TAKE:
        rsm_codec_u32(c, &msg->u.interrupt_take.interrupt);
        rsm_codec_u32(c, &msg->u.interrupt_take.most);
        rsm_codec_u64(c, &msg->u.interrupt_take.after);
        return;
    default:
        c->bad = true;
    }
}

void rsm_walk_interrupt_reply(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_INTERRUPT_CREATE:
        rsm_codec_u32(c, &msg->u.interrupt_create_reply.interrupt);
        rsm_codec_u32(c, &msg->u.interrupt_create_reply.number);
        return;
    case RSM_MSG_INTERRUPT_CONNECT:
        rsm_codec_u32(c, &msg->u.interrupt_connect_reply.interrupt);
        return;
    case RSM_MSG_INTERRUPT_TAKE:
        walk_interrupt_take_reply(c, &msg->u.interrupt_take_reply);
        return;
    case RSM_MSG_INTERRUPT_REMOVE:
    case RSM_MSG_INTERRUPT_TRIGGER:
        return;
    default:
        c->bad = true;
    }
}
