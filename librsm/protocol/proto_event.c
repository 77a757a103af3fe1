/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto_walk.h"

static void walk_event_open(struct rsm_codec *c, struct rsm_event_open_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
}

static void walk_event_peers(struct rsm_codec *c, struct rsm_event_receivers_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->first);
}

static void walk_event_peers_reply(struct rsm_codec *c, struct rsm_event_receivers_reply *m)
{
    rsm_codec_u32(c, &m->epoch);
    rsm_codec_u32(c, &m->total);
    rsm_codec_count(c, &m->count, RSM_PROTO_COUNTERS_MAX);
    for (uint32_t i = 0; i < m->count; i++)
        rsm_codec_u32(c, &m->peers[i]);
}

static void walk_event_arm(struct rsm_codec *c, struct rsm_event_arm_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->ringing);
}

static void walk_event_doorbell(struct rsm_codec *c, struct rsm_event_doorbell_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->peer);
}

static void walk_records(struct rsm_codec *c, struct rsm_records_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u64(c, &m->after);
}

static void walk_records_reply(struct rsm_codec *c, struct rsm_records_reply *m)
{
    rsm_codec_count(c, &m->count, RSM_PROTO_RECORDS_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u32(c, &m->records[i].event);
        rsm_codec_u32(c, &m->records[i].node);
        rsm_codec_u32(c, &m->records[i].connection);
        rsm_codec_u32(c, &m->records[i].lost);
        rsm_codec_u64(c, &m->records[i].order);
    }
}

void rsm_walk_event_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_EVENT_OPEN:
        walk_event_open(c, &msg->u.event_open);
        return;
    case RSM_MSG_EVENT_RECEIVERS:
        walk_event_peers(c, &msg->u.event_peers);
        return;
    case RSM_MSG_EVENT_ARM:
        walk_event_arm(c, &msg->u.event_arm);
        return;
    case RSM_MSG_EVENT_DOORBELL:
        walk_event_doorbell(c, &msg->u.event_doorbell);
        return;
    case RSM_MSG_RECORDS:
        walk_records(c, &msg->u.records);
        return;
    default:
        c->bad = true;
    }
}

void rsm_walk_event_reply(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_EVENT_RECEIVERS:
        walk_event_peers_reply(c, &msg->u.event_peers_reply);
        return;
    case RSM_MSG_RECORDS:
        walk_records_reply(c, &msg->u.records_reply);
        return;
    case RSM_MSG_EVENT_OPEN:
    case RSM_MSG_EVENT_ARM:
    case RSM_MSG_EVENT_DOORBELL:
        return;
    default:
        c->bad = true;
    }
}
