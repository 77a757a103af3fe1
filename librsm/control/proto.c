/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/proto.h"

#include <string.h>

#include "base/codec.h"
#include "base/status.h"

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

static void walk_settings(struct rsm_codec *c, struct softmap_settings *m)
{
    rsm_codec_u32(c, &m->given);
    for (unsigned i = 0; i < SOFTMAP_TUNABLES; i++)
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

static void walk_acl(struct rsm_codec *c, uint32_t *count, struct rsm_acl_entry *acl)
{
    rsm_codec_count(c, count, RSM_PROTO_ACL_MAX);
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
    walk_acl(c, &m->acl_count, m->acl);
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
    walk_acl(c, &m->acl_count, m->acl);
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

static void walk_choice(struct rsm_codec *c, struct softmap_choice *m)
{
    rsm_codec_u32(c, &m->trap);
    rsm_codec_u32(c, &m->reason);
}

static void walk_import_trap(struct rsm_codec *c, struct rsm_import_trap_request *m)
{
    rsm_codec_u32(c, &m->import);
    walk_choice(c, &m->choice);
}

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
}

static void walk_event_doorbell(struct rsm_codec *c, struct rsm_event_doorbell_request *m)
{
    rsm_codec_u32(c, &m->end);
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->peer);
}

static void walk_inspect(struct rsm_codec *c, struct rsm_inspect_request *m)
{
    rsm_codec_u32(c, &m->what);
    rsm_codec_u32(c, &m->after);
}

static void walk_inspect_item(struct rsm_codec *c, struct rsm_inspect_item *m)
{
    rsm_codec_u32(c, &m->id);
    rsm_codec_u32(c, &m->exporter);
    rsm_codec_u32(c, &m->export_id);
    rsm_codec_u32(c, &m->published);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->pid);
    rsm_codec_u32(c, &m->uid);
    rsm_codec_u32(c, &m->gid);
    rsm_codec_u32(c, &m->permission);
    rsm_codec_u32(c, &m->acl_count);
    rsm_codec_u32(c, &m->connections);
    rsm_codec_u32(c, &m->pending);
    rsm_codec_u64(c, &m->length);
    walk_choice(c, &m->choice);
    rsm_codec_string(c, m->controller, sizeof m->controller);
}

static void walk_inspect_reply(struct rsm_codec *c, struct rsm_inspect_reply *m)
{
    rsm_codec_u32(c, &m->next);
    rsm_codec_u64(c, &m->exported_bytes);
    rsm_codec_u64(c, &m->exported_limit);
    rsm_codec_u32(c, &m->segments);
    rsm_codec_u32(c, &m->segments_limit);
    rsm_codec_u32(c, &m->clients);
    rsm_codec_count(c, &m->count, RSM_PROTO_ITEMS_MAX);
    for (uint32_t i = 0; i < m->count; i++)
        walk_inspect_item(c, &m->items[i]);
}

static void walk_links_item(struct rsm_codec *c, struct rsm_links_item *m)
{
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->state);
    rsm_codec_u32(c, &m->version);
    rsm_codec_u32(c, &m->port);
    rsm_codec_string(c, m->address, sizeof m->address);
    rsm_codec_string(c, m->text, sizeof m->text);
}

static void walk_links_reply(struct rsm_codec *c, struct rsm_links_reply *m)
{
    rsm_codec_u32(c, &m->auth);
    rsm_codec_u32(c, &m->more);
    rsm_codec_count(c, &m->count, RSM_PROTO_LINKS_MAX);
    for (uint32_t i = 0; i < m->count; i++)
        walk_links_item(c, &m->items[i]);
}

static void walk_shares_reply(struct rsm_codec *c, struct rsm_shares_reply *m)
{
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++) {
        rsm_codec_u64(c, &m->limits[i].total);
        rsm_codec_u64(c, &m->limits[i].users);
        rsm_codec_u64(c, &m->limits[i].one);
        rsm_codec_u64(c, &m->limits[i].used);
    }
    rsm_codec_u32(c, &m->more);
    rsm_codec_count(c, &m->count, RSM_PROTO_USERS_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u64(c, &m->users[i].serial);
        rsm_codec_u32(c, &m->users[i].node);
        rsm_codec_u32(c, &m->users[i].uid);
        for (unsigned k = 0; k < RSM_SHARES_COUNT; k++)
            rsm_codec_u64(c, &m->users[i].used[k]);
    }
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

static void walk_named_reply(struct rsm_codec *c, struct rsm_named_reply *m)
{
    rsm_codec_count(c, &m->count, RSM_PROTO_NAMED_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u32(c, &m->nodes[i].node);
        rsm_codec_u32(c, &m->nodes[i].adapter);
    }
}

static void walk_interrupt_request(struct rsm_codec *c, struct rsm_msg *msg)
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

/* Requests about events, and those that only look. */
static void walk_watching_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type) {
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
    case RSM_MSG_INSPECT:
        walk_inspect(c, &msg->u.inspect);
        return;
    case RSM_MSG_LINKS:
        rsm_codec_u32(c, &msg->u.links.first);
        return;
    case RSM_MSG_SHARES:
        rsm_codec_u64(c, &msg->u.shares.after);
        return;
    case RSM_MSG_RECORDS:
        walk_records(c, &msg->u.records);
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
    case RSM_MSG_INSPECT:
    case RSM_MSG_LINKS:
    case RSM_MSG_SHARES:
    case RSM_MSG_RECORDS:
        walk_watching_request(c, msg);
        return;
    case RSM_MSG_INTERRUPT_CREATE:
    case RSM_MSG_INTERRUPT_REMOVE:
    case RSM_MSG_INTERRUPT_CONNECT:
    case RSM_MSG_INTERRUPT_TRIGGER:
    case RSM_MSG_INTERRUPT_TAKE:
        walk_interrupt_request(c, msg);
        return;
    case RSM_MSG_NAMED:
        rsm_codec_string(c, msg->u.named.name, sizeof msg->u.named.name);
        return;
    }
    c->bad = true;
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
    case RSM_MSG_IMPORT_CONNECT:
        walk_connect_reply(c, &msg->u.import_connect_reply);
        return;
    case RSM_MSG_EVENT_RECEIVERS:
        walk_event_peers_reply(c, &msg->u.event_peers_reply);
        return;
    case RSM_MSG_INSPECT:
        walk_inspect_reply(c, &msg->u.inspect_reply);
        return;
    case RSM_MSG_LINKS:
        walk_links_reply(c, &msg->u.links_reply);
        return;
    case RSM_MSG_SHARES:
        walk_shares_reply(c, &msg->u.shares_reply);
        return;
    case RSM_MSG_RECORDS:
        walk_records_reply(c, &msg->u.records_reply);
        return;
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
    case RSM_MSG_NAMED:
        walk_named_reply(c, &msg->u.named_reply);
        return;
    case RSM_MSG_EXTENT_FREE:
    case RSM_MSG_EXTENT_OPEN:
    case RSM_MSG_EXPORT_REPUBLISH:
    case RSM_MSG_IMPORT_DISCONNECT:
    case RSM_MSG_EVENT_OPEN:
    case RSM_MSG_EVENT_ARM:
    case RSM_MSG_EVENT_DOORBELL:
    case RSM_MSG_INTERRUPT_REMOVE:
    case RSM_MSG_INTERRUPT_TRIGGER:
    case RSM_MSG_IMPORT_TRAP:
        return;
    }
    c->bad = true;
}

/* ---------------------------------------------------------------- how much of a message counts */

#define MEMBER_SIZE(member) (sizeof((struct rsm_msg *)NULL)->u.member)

_Static_assert(sizeof(struct rsm_msg) <= UINT16_MAX, "sizes of members fit");

static const uint16_t request_sizes[RSM_MSG_LAST + 1] = {
    [RSM_MSG_HELLO] = MEMBER_SIZE(hello),
    [RSM_MSG_CONTROLLER] = MEMBER_SIZE(controller),
    [RSM_MSG_TOPOLOGY] = MEMBER_SIZE(topology),
    [RSM_MSG_LOCATE] = MEMBER_SIZE(locate),
    [RSM_MSG_EXTENT_ALLOC] = MEMBER_SIZE(extent_alloc),
    [RSM_MSG_EXTENT_FREE] = MEMBER_SIZE(extent_free),
    [RSM_MSG_EXTENT_OPEN] = MEMBER_SIZE(extent_open),
    [RSM_MSG_EXPORT_CREATE] = MEMBER_SIZE(export_create),
    [RSM_MSG_EXPORT_PUBLISH] = MEMBER_SIZE(export_publish),
    [RSM_MSG_EXPORT_REPUBLISH] = MEMBER_SIZE(export_republish),
    [RSM_MSG_EXPORT_UNPUBLISH] = MEMBER_SIZE(export_unpublish),
    [RSM_MSG_EXPORT_DESTROY] = MEMBER_SIZE(export_destroy),
    [RSM_MSG_IMPORT_CONNECT] = MEMBER_SIZE(import_connect),
    [RSM_MSG_IMPORT_DISCONNECT] = MEMBER_SIZE(import_disconnect),
    [RSM_MSG_IMPORT_TRAP] = MEMBER_SIZE(import_trap),
    [RSM_MSG_EVENT_OPEN] = MEMBER_SIZE(event_open),
    [RSM_MSG_EVENT_RECEIVERS] = MEMBER_SIZE(event_peers),
    [RSM_MSG_EVENT_ARM] = MEMBER_SIZE(event_arm),
    [RSM_MSG_EVENT_DOORBELL] = MEMBER_SIZE(event_doorbell),
    [RSM_MSG_INSPECT] = MEMBER_SIZE(inspect),
    [RSM_MSG_LINKS] = MEMBER_SIZE(links),
    [RSM_MSG_SHARES] = MEMBER_SIZE(shares),
    [RSM_MSG_RECORDS] = MEMBER_SIZE(records),
    [RSM_MSG_INTERRUPT_CREATE] = MEMBER_SIZE(interrupt_create),
    [RSM_MSG_INTERRUPT_REMOVE] = MEMBER_SIZE(interrupt_remove),
    [RSM_MSG_INTERRUPT_CONNECT] = MEMBER_SIZE(interrupt_connect),
    [RSM_MSG_INTERRUPT_TRIGGER] = MEMBER_SIZE(interrupt_trigger),
    [RSM_MSG_INTERRUPT_TAKE] = MEMBER_SIZE(interrupt_take),
    [RSM_MSG_NAMED] = MEMBER_SIZE(named),
};

/* 0: the reply has no body. */
static const uint16_t reply_sizes[RSM_MSG_LAST + 1] = {
    [RSM_MSG_HELLO] = MEMBER_SIZE(hello_reply),
    [RSM_MSG_CONTROLLER] = MEMBER_SIZE(controller_reply),
    [RSM_MSG_TOPOLOGY] = MEMBER_SIZE(topology_reply),
    [RSM_MSG_LOCATE] = MEMBER_SIZE(locate_reply),
    [RSM_MSG_EXTENT_ALLOC] = MEMBER_SIZE(extent_alloc_reply),
    [RSM_MSG_EXPORT_CREATE] = MEMBER_SIZE(export_create_reply),
    [RSM_MSG_EXPORT_PUBLISH] = MEMBER_SIZE(export_publish_reply),
    [RSM_MSG_EXPORT_UNPUBLISH] = MEMBER_SIZE(export_end_reply),
    [RSM_MSG_EXPORT_DESTROY] = MEMBER_SIZE(export_end_reply),
    [RSM_MSG_IMPORT_CONNECT] = MEMBER_SIZE(import_connect_reply),
    [RSM_MSG_EVENT_RECEIVERS] = MEMBER_SIZE(event_peers_reply),
    [RSM_MSG_INSPECT] = MEMBER_SIZE(inspect_reply),
    [RSM_MSG_LINKS] = MEMBER_SIZE(links_reply),
    [RSM_MSG_SHARES] = MEMBER_SIZE(shares_reply),
    [RSM_MSG_RECORDS] = MEMBER_SIZE(records_reply),
    [RSM_MSG_INTERRUPT_CREATE] = MEMBER_SIZE(interrupt_create_reply),
    [RSM_MSG_INTERRUPT_CONNECT] = MEMBER_SIZE(interrupt_connect_reply),
    [RSM_MSG_INTERRUPT_TAKE] = MEMBER_SIZE(interrupt_take_reply),
    [RSM_MSG_NAMED] = MEMBER_SIZE(named_reply),
};

static size_t body_size(uint32_t type)
{
    uint32_t request = type & ~RSM_MSG_REPLY;
    if (request > RSM_MSG_LAST)
        return 0;
    return (type & RSM_MSG_REPLY) == 0 ? request_sizes[request] : reply_sizes[request];
}

void rsm_msg_begin(struct rsm_msg *msg, uint32_t type)
{
    msg->type = type;
    msg->sequence = 0;
    msg->status = RSM_ST_OK;
    memset(&msg->u, 0, body_size(type));
}

/* ---------------------------------------------------------------- whole messages */

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
    memset(&msg->u, 0, body_size(msg->type));
    walk_body(&c, msg);
    return c.bad || c.left != 0 ? RSM_ST_PROTOCOL : RSM_ST_OK;
}
