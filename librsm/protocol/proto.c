/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"
#include "protocol/proto_size.h"
#include "protocol/proto_walk.h"

static void walk_hello(struct rsm_codec *c, struct rsm_hello_request *m)
{
    rsm_codec_u32(c, &m->node);
}

static void walk_hello_reply(struct rsm_codec *c, struct rsm_hello_reply *m)
{
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->embedded);
    rsm_codec_u32(c, &m->peer_timeout_ms);
}

static void walk_controller(struct rsm_codec *c, struct rsm_controller_request *m)
{
    rsm_codec_string(c, m->name, sizeof m->name);
    rsm_codec_string(c, m->transport, sizeof m->transport);
    rsm_codec_u32(c, &m->unit);
    rsm_codec_u32(c, &m->flags);
}

static void walk_port_attr(struct rsm_codec *c, struct rsm_port_attr *m)
{
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

static void walk_settings(struct rsm_codec *c, struct mapping_settings *m)
{
    rsm_codec_u32(c, &m->given);
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        rsm_codec_u32(c, &m->value[i]);
    c->bad |= !rsmcore_map_settings_are_valid(m);
}

static void walk_controller_reply(struct rsm_codec *c, struct rsm_controller_reply *m)
{
    rsm_codec_string(c, m->name, sizeof m->name);
    rsm_codec_string(c, m->transport, sizeof m->transport);
    rsm_codec_string(c, m->device, sizeof m->device);
    rsm_codec_string(c, m->options, sizeof m->options);
    rsm_codec_u32(c, &m->loopback);
    walk_settings(c, &m->map);
    walk_port_attr(c, &m->attr);
}

static void walk_topology(struct rsm_codec *c, struct rsm_topology_request *m)
{
    rsm_codec_u32(c, &m->controller);
    rsm_codec_u32(c, &m->first_peer);
}

static void walk_topology_reply(struct rsm_codec *c, struct rsm_topology_reply *m)
{
    rsm_codec_u32(c, &m->generation);
    rsm_codec_u32(c, &m->controllers);
    rsm_codec_string(c, m->name, sizeof m->name);
    rsm_codec_u64(c, &m->hardware_address);
    rsm_codec_u32(c, &m->total_peers);
    rsm_codec_count(c, &m->peer_count, RSM_PROTO_REMOTES_MAX);
    for (uint32_t i = 0; i < m->peer_count; i++) {
        rsm_codec_u32(c, &m->peers[i].node);
        rsm_codec_string(c, m->peers[i].name, sizeof m->peers[i].name);
        rsm_codec_u64(c, &m->peers[i].hardware_address);
        rsm_codec_u32(c, &m->peers[i].state);
    }
}

static void walk_locate(struct rsm_codec *c, struct rsm_locate_request *m)
{
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u32(c, &m->node);
}

static void walk_locate_reply(struct rsm_codec *c, struct rsm_locate_reply *m)
{
    rsm_codec_u32(c, &m->kind);
    rsm_codec_string(c, m->path, sizeof m->path);
}

static void walk_extent_alloc(struct rsm_codec *c, struct rsm_extent_alloc_request *m)
{
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u64(c, &m->length);
}

static void walk_export_create(struct rsm_codec *c, struct rsm_export_create_request *m)
{
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u64(c, &m->length);
    rsm_codec_u32(c, &m->mode);
    rsm_codec_u32(c, &m->want_extent);
    rsm_codec_u64(c, &m->size);
    rsm_codec_u32(c, &m->claim);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
}

static void walk_extent_about(struct rsm_codec *c, struct rsm_extent_about *m)
{
    rsm_codec_u32(c, &m->kind);
    rsm_codec_u64(c, &m->offset);
    rsm_codec_u64(c, &m->length);
}

static void walk_export_create_reply(struct rsm_codec *c, struct rsm_export_create_reply *m)
{
    rsm_codec_u32(c, &m->export_id);
    rsm_codec_u32(c, &m->epoch_slot);
    rsm_codec_u32(c, &m->extent);
    walk_extent_about(c, &m->about);
    rsm_codec_u32(c, &m->segment_id);
}

static void walk_export_state(struct rsm_codec *c, struct rsm_export_state_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->unit);
    rsm_codec_u32(c, &m->from);
    rsm_codec_u32(c, &m->to);
    rsm_codec_u32(c, &m->flags);
}

void rsm_walk_acl(struct rsm_codec *c, uint32_t *count, uint32_t most, struct rsm_acl_entry *acl)
{
    rsm_codec_count(c, count, most);
    for (uint32_t i = 0; i < *count; i++) {
        rsm_codec_u32(c, &acl[i].node);
        rsm_codec_u32(c, &acl[i].permission);
    }
}

static void walk_publish(struct rsm_codec *c, struct rsm_export_publish_request *m)
{
    rsm_codec_u32(c, &m->export_id);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->flags);
    rsm_walk_acl(c, &m->acl_count, RSM_PROTO_ACL_MAX, m->acl);
    rsm_codec_count(c, &m->piece_count, RSM_PROTO_PIECES_MAX);
    for (uint32_t i = 0; i < m->piece_count; i++) {
        rsm_codec_u32(c, &m->pieces[i].extent);
        rsm_codec_u64(c, &m->pieces[i].offset);
        rsm_codec_u64(c, &m->pieces[i].length);
    }
}

static void walk_republish(struct rsm_codec *c, struct rsm_export_republish_request *m)
{
    rsm_codec_u32(c, &m->export_id);
    rsm_walk_acl(c, &m->acl_count, RSM_PROTO_ACL_MAX, m->acl);
}

static void walk_unpublish(struct rsm_codec *c, struct rsm_export_unpublish_request *m)
{
    rsm_codec_u32(c, &m->export_id);
    rsm_codec_u32(c, &m->flags);
}

static void walk_connect(struct rsm_codec *c, struct rsm_import_connect_request *m)
{
    rsm_codec_string(c, m->controller, sizeof m->controller);
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->rights);
    rsm_codec_u32(c, &m->flags);
}

static void walk_connect_reply(struct rsm_codec *c, struct rsm_import_connect_reply *m)
{
    rsm_codec_u32(c, &m->import);
    rsm_codec_u32(c, &m->slot);
    rsm_codec_u32(c, &m->generation);
    rsm_codec_u64(c, &m->length);
    rsm_codec_u64(c, &m->size);
    rsm_codec_u32(c, &m->rights);
    rsm_codec_string(c, m->transport, sizeof m->transport);
    rsm_codec_count(c, &m->blob_len, RSM_OFFER_MAX_BLOB);
    rsm_codec_bytes(c, m->blob, m->blob_len);
}

static void walk_import_trap(struct rsm_codec *c, struct rsm_import_trap_request *m)
{
    rsm_codec_u32(c, &m->import);
    rsm_walk_choice(c, &m->choice);
}

static void walk_named_reply(struct rsm_codec *c, struct rsm_named_reply *m)
{
    rsm_codec_count(c, &m->count, RSM_PROTO_NAMED_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u32(c, &m->nodes[i].node);
        rsm_codec_u32(c, &m->nodes[i].adapter);
    }
}

/* Of extents and exports. */
static void walk_segment_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type) {
    case RSM_MSG_EXTENT_ALLOC:
        walk_extent_alloc(c, &msg->u.extent_alloc);
        return;
    case RSM_MSG_EXTENT_FREE:
        rsm_codec_u32(c, &msg->u.extent_free.extent);
        rsm_codec_u32(c, &msg->u.extent_free.flags);
        return;
    case RSM_MSG_EXTENT_OPEN:
        rsm_codec_u32(c, &msg->u.extent_open.extent);
        return;
    case RSM_MSG_EXPORT_CREATE:
        walk_export_create(c, &msg->u.export_create);
        return;
    case RSM_MSG_EXPORT_PUBLISH:
        walk_publish(c, &msg->u.export_publish);
        return;
    case RSM_MSG_EXPORT_REPUBLISH:
        walk_republish(c, &msg->u.export_republish);
        return;
    case RSM_MSG_EXPORT_UNPUBLISH:
        walk_unpublish(c, &msg->u.export_unpublish);
        return;
    case RSM_MSG_EXPORT_DESTROY:
        rsm_codec_u32(c, &msg->u.export_destroy.export_id);
        rsm_codec_u32(c, &msg->u.export_destroy.flags);
        return;
    case RSM_MSG_EXPORT_STATE:
        walk_export_state(c, &msg->u.export_state);
        return;
    default:
        c->bad = true;
    }
}

static void walk_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch ((enum rsm_msg_type)msg->type) {
    case RSM_MSG_HELLO:
        walk_hello(c, &msg->u.hello);
        return;
    case RSM_MSG_CONTROLLER:
        walk_controller(c, &msg->u.controller);
        return;
    case RSM_MSG_TOPOLOGY:
        walk_topology(c, &msg->u.topology);
        return;
    case RSM_MSG_LOCATE:
        walk_locate(c, &msg->u.locate);
        return;
    case RSM_MSG_EXTENT_ALLOC:
    case RSM_MSG_EXTENT_FREE:
    case RSM_MSG_EXTENT_OPEN:
    case RSM_MSG_EXPORT_CREATE:
    case RSM_MSG_EXPORT_PUBLISH:
    case RSM_MSG_EXPORT_REPUBLISH:
    case RSM_MSG_EXPORT_UNPUBLISH:
    case RSM_MSG_EXPORT_DESTROY:
    case RSM_MSG_EXPORT_STATE:
        walk_segment_request(c, msg);
        return;
    case RSM_MSG_IMPORT_CONNECT:
        walk_connect(c, &msg->u.import_connect);
        return;
    case RSM_MSG_IMPORT_DISCONNECT:
        rsm_codec_u32(c, &msg->u.import_disconnect.import);
        return;
    case RSM_MSG_IMPORT_TRAP:
        walk_import_trap(c, &msg->u.import_trap);
        return;
    case RSM_MSG_EVENT_OPEN:
    case RSM_MSG_EVENT_RECEIVERS:
    case RSM_MSG_EVENT_ARM:
    case RSM_MSG_EVENT_DOORBELL:
    case RSM_MSG_RECORDS:
        rsm_walk_event_request(c, msg);
        return;
    case RSM_MSG_INSPECT:
    case RSM_MSG_LINKS:
    case RSM_MSG_FAILED:
    case RSM_MSG_SHARES:
    case RSM_MSG_INTERRUPTS:
        rsm_walk_inspect_request(c, msg);
        return;
    case RSM_MSG_INTERRUPT_CREATE:
    case RSM_MSG_INTERRUPT_REMOVE:
    case RSM_MSG_INTERRUPT_CONNECT:
    case RSM_MSG_INTERRUPT_TRIGGER:
    case RSM_MSG_INTERRUPT_TAKE:
        rsm_walk_interrupt_request(c, msg);
        return;
    case RSM_MSG_NAMED:
        rsm_codec_string(c, msg->u.named.name, sizeof msg->u.named.name);
        return;
    }
    c->bad = true;
}

static void walk_segment_reply(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_EXTENT_ALLOC:
        rsm_codec_u32(c, &msg->u.extent_alloc_reply.extent);
        walk_extent_about(c, &msg->u.extent_alloc_reply.about);
        return;
    case RSM_MSG_EXPORT_CREATE:
        walk_export_create_reply(c, &msg->u.export_create_reply);
        return;
    case RSM_MSG_EXPORT_PUBLISH:
        rsm_codec_u32(c, &msg->u.export_publish_reply.segment_id);
        return;
    case RSM_MSG_EXPORT_UNPUBLISH:
    case RSM_MSG_EXPORT_DESTROY:
        rsm_codec_u32(c, &msg->u.export_end_reply.offered);
        rsm_codec_u32(c, &msg->u.export_end_reply.connections);
        return;
    case RSM_MSG_EXPORT_STATE:
        rsm_codec_u32(c, &msg->u.export_state_reply.was);
        return;
    case RSM_MSG_EXTENT_FREE:
    case RSM_MSG_EXTENT_OPEN:
    case RSM_MSG_EXPORT_REPUBLISH:
        return;
    default:
        c->bad = true;
    }
}

static void walk_reply(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch ((enum rsm_msg_type)(msg->type & ~RSM_MSG_REPLY)) {
    case RSM_MSG_HELLO:
        walk_hello_reply(c, &msg->u.hello_reply);
        return;
    case RSM_MSG_CONTROLLER:
        walk_controller_reply(c, &msg->u.controller_reply);
        return;
    case RSM_MSG_TOPOLOGY:
        walk_topology_reply(c, &msg->u.topology_reply);
        return;
    case RSM_MSG_LOCATE:
        walk_locate_reply(c, &msg->u.locate_reply);
        return;
    case RSM_MSG_EXTENT_ALLOC:
    case RSM_MSG_EXTENT_FREE:
    case RSM_MSG_EXTENT_OPEN:
    case RSM_MSG_EXPORT_CREATE:
    case RSM_MSG_EXPORT_PUBLISH:
    case RSM_MSG_EXPORT_REPUBLISH:
    case RSM_MSG_EXPORT_UNPUBLISH:
    case RSM_MSG_EXPORT_DESTROY:
    case RSM_MSG_EXPORT_STATE:
        walk_segment_reply(c, msg);
        return;
    case RSM_MSG_IMPORT_CONNECT:
        walk_connect_reply(c, &msg->u.import_connect_reply);
        return;
    case RSM_MSG_EVENT_OPEN:
    case RSM_MSG_EVENT_RECEIVERS:
    case RSM_MSG_EVENT_ARM:
    case RSM_MSG_EVENT_DOORBELL:
    case RSM_MSG_RECORDS:
        rsm_walk_event_reply(c, msg);
        return;
    case RSM_MSG_INSPECT:
    case RSM_MSG_LINKS:
    case RSM_MSG_FAILED:
    case RSM_MSG_SHARES:
    case RSM_MSG_INTERRUPTS:
        rsm_walk_inspect_reply(c, msg);
        return;
    case RSM_MSG_INTERRUPT_CREATE:
    case RSM_MSG_INTERRUPT_REMOVE:
    case RSM_MSG_INTERRUPT_CONNECT:
    case RSM_MSG_INTERRUPT_TRIGGER:
    case RSM_MSG_INTERRUPT_TAKE:
        rsm_walk_interrupt_reply(c, msg);
        return;
    case RSM_MSG_NAMED:
        walk_named_reply(c, &msg->u.named_reply);
        return;
    case RSM_MSG_IMPORT_DISCONNECT:
    case RSM_MSG_IMPORT_TRAP:
        return;
    }
    c->bad = true;
}

/* ---------------------------------------------------------------- whole messages */

void rsm_msg_begin(struct rsm_msg *msg, uint32_t type)
{
    msg->type = type;
    msg->sequence = 0;
    msg->status = RSM_ST_OK;
    memset(&msg->u, 0, rsm_msg_body_size(type));
}

static void walk_body(struct rsm_codec *c, struct rsm_msg *msg)
{
    if ((msg->type & RSM_MSG_REPLY) == 0)
        walk_request(c, msg);
    else if (msg->status == RSM_ST_OK)
        walk_reply(c, msg);
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
    memset(&msg->u, 0, rsm_msg_body_size(msg->type));
    walk_body(&c, msg);
    return c.bad || c.left != 0 ? RSM_ST_PROTOCOL : RSM_ST_OK;
}
