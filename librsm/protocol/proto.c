/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"

/* Structures of other headers that are parts of bodies. */

static void walk_rsm_port_attr(struct rsm_codec *c, void *body)
{
    struct rsm_port_attr *m = body;
    rsm_codec_u32(c, &m->access_sizes);
    rsm_codec_u32(c, &m->atomic_sizes);
    rsm_codec_u64(c, &m->page_size);
    rsm_codec_u64(c, &m->max_segment_size);
    rsm_codec_u64(c, &m->total_segment_size);
    rsm_codec_u64(c, &m->max_segments);
    rsm_codec_u64(c, &m->max_map_size);
    rsm_codec_u64(c, &m->total_map_size);
    rsm_codec_u64(c, &m->max_imports);
    rsm_codec_u64(c, &m->hardware_address);
}

static void walk_mapping_settings(struct rsm_codec *c, void *body)
{
    const uint32_t sent = (1u << MAPPING_TUNABLES_FIRST) - 1; /* RSM_MSG_TUNABLES brings all */
    struct mapping_settings *m = body;
    m->given &= sent;
    rsm_codec_u32(c, &m->given);
    for (unsigned i = 0; i < MAPPING_TUNABLES_FIRST; i++)
        rsm_codec_u32(c, &m->value[i]);
    c->bad |= (m->given & ~sent) != 0 || !rsmcore_map_settings_are_valid(m);
}

static void walk_mapping_choice(struct rsm_codec *c, void *body)
{
    struct mapping_choice *m = body;
    rsm_codec_u32(c, &m->trap);
    rsm_codec_u32(c, &m->reason);
}

static void walk_mapping_counts(struct rsm_codec *c, void *body)
{
    struct mapping_counts *m = body;
    rsm_codec_u64(c, &m->unknown);
    rsm_codec_u64(c, &m->blocked);
    rsm_codec_u64(c, &m->by_calls);
    rsm_codec_u64(c, &m->evicted);
}

#include "protocol/bodies_walk.h"
#include "protocol/bodies.def"
#include "protocol/bodies_end.h"

enum { REQUEST, REPLY, DIRECTIONS };

static const struct body {
    void (*walk)(struct rsm_codec *c, void *body);
    size_t size;
} bodies[RSM_MSG_LAST + 1][DIRECTIONS] = {
#define RSM_MESSAGE(NAME, number, name, reply, senders)                                            \
    [number] = {[REQUEST] = {walk_rsm_##name##_request, sizeof(struct rsm_##name##_request)},      \
                [REPLY] = {walk_rsm_##reply##_reply, sizeof(struct rsm_##reply##_reply)}},
#include "protocol/messages.def"
};

static void walk_unknown(struct rsm_codec *c, void *body)
{
    (void)body;
    c->bad = true;
}

static struct body body_of(uint32_t type)
{
    uint32_t number = type & ~RSM_MSG_REPLY;
    unsigned direction = (type & RSM_MSG_REPLY) != 0 ? REPLY : REQUEST;
    if (number > RSM_MSG_LAST || bodies[number][direction].walk == NULL)
        return (struct body){.walk = walk_unknown};
    return bodies[number][direction];
}

void rsm_msg_begin(struct rsm_msg *msg, uint32_t type)
{
    msg->type = type;
    msg->sequence = 0;
    msg->status = RSM_ST_OK;
    memset(&msg->u, 0, body_of(type).size);
}

static void walk_body(struct rsm_codec *c, struct rsm_msg *msg)
{
    if ((msg->type & RSM_MSG_REPLY) == 0 || msg->status == RSM_ST_OK)
        body_of(msg->type).walk(c, &msg->u);
}

static void walk_header(struct rsm_codec *c, uint32_t *magic, uint32_t *version,
                        struct rsm_msg *msg)
{
    rsm_codec_u32(c, magic);
    rsm_codec_u32(c, version);
    rsm_codec_u32(c, &msg->type);
    rsm_codec_u32(c, &msg->sequence);
    rsm_codec_u32(c, &msg->status);
}

size_t rsm_msg_encode(const struct rsm_msg *msg, void *buffer, size_t capacity)
{
    struct rsm_codec c = rsm_encoder(buffer, capacity);
    uint32_t magic = RSM_PROTO_MAGIC, version = RSM_PROTO_VERSION;
    /* An encoding walk only reads; the one walk for both directions takes a mutable message. */
    struct rsm_msg *readable = (struct rsm_msg *)(uintptr_t)msg;
    walk_header(&c, &magic, &version, readable);
    walk_body(&c, readable);
    return c.bad ? 0 : capacity - c.left;
}

bool rsm_msg_peek(const void *buffer, size_t length, uint32_t *type, uint32_t *sequence)
{
    struct rsm_codec c = rsm_decoder(buffer, length);
    uint32_t magic = 0, version = 0;
    rsm_codec_u32(&c, &magic);
    rsm_codec_u32(&c, &version);
    rsm_codec_u32(&c, type);
    rsm_codec_u32(&c, sequence);
    return !c.bad && magic == RSM_PROTO_MAGIC;
}

uint32_t rsm_msg_version(const void *buffer, size_t length)
{
    struct rsm_codec c = rsm_decoder(buffer, length);
    uint32_t magic = 0, version = 0;
    rsm_codec_u32(&c, &magic);
    rsm_codec_u32(&c, &version);
    return magic == RSM_PROTO_MAGIC ? version : 0;
}

enum rsm_status rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length)
{
    struct rsm_codec c = rsm_decoder(buffer, length);
    uint32_t magic = 0, version = 0;
    msg->type = msg->sequence = msg->status = 0;
    walk_header(&c, &magic, &version, msg);
    if (c.bad || magic != RSM_PROTO_MAGIC)
        return RSM_ST_PROTOCOL;
    if (version != RSM_PROTO_VERSION)
        return RSM_ST_VERSION;
    if (!rsmcore_status_known(msg->status))
        return RSM_ST_PROTOCOL;
    memset(&msg->u, 0, body_of(msg->type).size);
    walk_body(&c, msg);
    return c.bad || c.left != 0 ? RSM_ST_PROTOCOL : RSM_ST_OK;
}
