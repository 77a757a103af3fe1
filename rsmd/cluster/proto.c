/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"

#include "protocol/bodies_walk.h"
#include "cluster/bodies.def"
#include "protocol/bodies_end.h"

/* What belongs to each type. */
static const struct body {
    void (*walk)(struct rsm_codec *c, void *body);
    size_t size;
} bodies[RSM_CLUSTER_LAST + 1] = {
#define LINK(NAME, number, name, body)                                                             \
    [number] = {walk_rsm_cluster_##body, sizeof(struct rsm_cluster_##body)},
#define NODE(NAME, number, name, body) LINK(NAME, number, name, body)
#include "cluster/messages.def"
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
    /* An encoding walk only reads; the one walk for both directions takes a mutable body. */
    body->walk(&c, (void *)(uintptr_t)&msg->u);
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
    body->walk(&c, &msg->u);
    if (c.bad || c.left != 0)
        return RSM_ST_PROTOCOL;
    if (msg->type == RSM_CLUSTER_HELLO && msg->u.hello.magic != RSM_CLUSTER_MAGIC)
        return RSM_ST_PROTOCOL;
    return RSM_ST_OK;
}
