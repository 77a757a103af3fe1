/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages.h"

#include <stddef.h>

#include "protocol/proto.h"
#include "cluster/proto.h"

const struct message_fields control_messages[] = {
    {RSM_MSG_HELLO, "HELLO", "node", "node embedded peer_timeout_ms"},
    {RSM_MSG_CONTROLLER, "CONTROLLER", "name transport unit flags",
     "name transport device options loopback map.given map.mode map.trap map.k map.flush_us "
     "map.refresh_us map.grain map.atomics access_sizes atomic_sizes page_size max_segment_size~ "
     "total_segment_size~ max_segments~ max_map_size~ total_map_size~ max_imports~ "
     "hardware_address~"},
    {RSM_MSG_TOPOLOGY, "TOPOLOGY", "controller first_peer",
     "generation~ controllers name hardware_address total_peers peer_count (peer.node peer.name "
     "peer.hardware_address peer.state)"},
    {RSM_MSG_LOCATE, "LOCATE", "controller node", "kind path~"},
    {RSM_MSG_EXTENT_ALLOC, "EXTENT_ALLOC", "controller length",
     "extent# about.kind about.offset about.length"},
    {RSM_MSG_EXTENT_FREE, "EXTENT_FREE", "extent# flags", ""},
    {RSM_MSG_EXTENT_OPEN, "EXTENT_OPEN", "extent#", ""},
    {RSM_MSG_EXPORT_CREATE, "EXPORT_CREATE",
     "controller length mode want_extent size claim space segment_id",
     "export# epoch_slot# extent# about.kind about.offset about.length segment_id"},
    {RSM_MSG_EXPORT_STATE, "EXPORT_STATE", "end id# unit from to flags", "was"},
    {RSM_MSG_EXPORT_PUBLISH, "EXPORT_PUBLISH",
     "export# space segment_id flags acl_count (acl.node acl.permission) piece_count "
     "(piece.extent# "
     "piece.offset piece.length)",
     "segment_id"},
    {RSM_MSG_EXPORT_REPUBLISH, "EXPORT_REPUBLISH", "export# acl_count (acl.node acl.permission)",
     ""},
    {RSM_MSG_EXPORT_UNPUBLISH, "EXPORT_UNPUBLISH", "export# flags", "offered connections"},
    {RSM_MSG_EXPORT_DESTROY, "EXPORT_DESTROY", "export# flags", "offered connections"},
    {RSM_MSG_IMPORT_CONNECT, "IMPORT_CONNECT", "controller node space segment_id rights flags",
     "import# slot# generation~ length size rights transport blob_len blob"},
    {RSM_MSG_IMPORT_DISCONNECT, "IMPORT_DISCONNECT", "import#", ""},
    {RSM_MSG_IMPORT_TRAP, "IMPORT_TRAP", "import# trap reason", ""},
    {RSM_MSG_EVENT_OPEN, "EVENT_OPEN", "end id#", ""},
    {RSM_MSG_EVENT_RECEIVERS, "EVENT_RECEIVERS", "end id# first", "epoch~ total count (peer#)"},
    {RSM_MSG_EVENT_ARM, "EVENT_ARM", "end id# ringing", ""},
    {RSM_MSG_EVENT_DOORBELL, "EVENT_DOORBELL", "end id# peer#", ""},
    {RSM_MSG_INSPECT, "INSPECT", "what after",
     "next exported_bytes exported_limit~ segments segments_limit~ clients connects~ events~ "
     "longest_step_us~ "
     "refusal.ago_ms~ refusal.type refusal.status refusal.pid~ refusal.uid~ count "
     "(item.id# "
     "item.exporter item.export# item.published item.state item.space item.segment_id item.node "
     "item.pid~ "
     "item.uid~ item.gid~ "
     "item.permission item.acl_count item.acl_shown (acl.node acl.permission) "
     "item.connections item.pending item.length item.pinned "
     "item.trap "
     "item.reason "
     "item.controller)"},
    {RSM_MSG_LINKS, "LINKS", "first",
     "auth more count (link.node link.state link.version link.port link.up_ms~ link.failure_ms~ "
     "link.sent_bytes~ link.received_bytes~ link.address~ link.text~)"},
    {RSM_MSG_FAILED, "FAILED", "first",
     "total count (failed.name failed.transport failed.device failed.ago_ms~ failed.text~)"},
    {RSM_MSG_SHARES, "SHARES", "after",
     "connections.total~ connections.users~ connections.one~ connections.used~ "
     "descriptors.total~ descriptors.users~ descriptors.one~ descriptors.used~ "
     "segments.total~ segments.users~ segments.one~ segments.used~ bytes.total~ "
     "bytes.users~ bytes.one~ bytes.used~ pinned.total~ pinned.users~ pinned.one~ "
     "pinned.used~ forwards.total~ forwards.users~ forwards.one~ forwards.used~ "
     "records.total~ records.users~ records.one~ records.used~ "
     "interrupts.total~ interrupts.users~ interrupts.one~ interrupts.used~ more "
     "count (user.serial~ user.node user.uid~ user.connections~ user.descriptors~ "
     "user.segments~ user.bytes~ user.pinned~ user.forwards~ user.records~ "
     "user.interrupts~)"},
    {RSM_MSG_RECORDS, "RECORDS", "end id# after~",
     "count (record.event record.node record.connection# record.lost record.order~)"},
    {RSM_MSG_INTERRUPT_CREATE, "INTERRUPT_CREATE", "kind number flags mode", "interrupt# number"},
    {RSM_MSG_INTERRUPT_REMOVE, "INTERRUPT_REMOVE", "interrupt#", ""},
    {RSM_MSG_INTERRUPT_CONNECT, "INTERRUPT_CONNECT", "node kind number counter", "interrupt#"},
    {RSM_MSG_INTERRUPT_TRIGGER, "INTERRUPT_TRIGGER",
     "node kind number interrupt# posted length blob", ""},
    {RSM_MSG_INTERRUPT_TAKE, "INTERRUPT_TAKE", "interrupt# most after~",
     "count (message.order message.node message.length blob)"},
    {RSM_MSG_INTERRUPTS, "INTERRUPTS", "after",
     "next count (item.kind item.number item.pid~ item.uid~ item.gid~ item.mode item.shared "
     "item.pending item.waiting)"},
    {RSM_MSG_NAMED, "NAMED", "name", "count (named.node named.adapter)"},
    {0, NULL, NULL, NULL},
};

const struct message_fields peer_messages[] = {
    {RSM_CLUSTER_HELLO, "HELLO", "magic version_min version_max from to incarnation~ nonce~", NULL},
    {RSM_CLUSTER_PROOF, "PROOF", "length credential", NULL},
    {RSM_CLUSTER_REFUSE, "REFUSE", "status text~", NULL},
    {RSM_CLUSTER_PING, "PING", "number answered", NULL},
    {RSM_CLUSTER_PONG, "PONG", "number", NULL},
    {RSM_CLUSTER_CONNECT, "CONNECT",
     "request controller space segment_id rights uid gid pid group_count (group)", NULL},
    {RSM_CLUSTER_CONNECT_REPLY, "CONNECT_REPLY",
     "request status import# rights length size transport blob_len blob~", NULL},
    {RSM_CLUSTER_DISCONNECT, "DISCONNECT", "import# died", NULL},
    {RSM_CLUSTER_ABORT, "ABORT", "import# died", NULL},
    {RSM_CLUSTER_UNAVAILABLE, "UNAVAILABLE", "import# died", NULL},
    {RSM_CLUSTER_RELEASED, "RELEASED", "incarnation~", NULL},
    {RSM_CLUSTER_INTERRUPT, "INTERRUPT",
     "request kind number interrupt# uid gid pid group_count (group) length blob", NULL},
    {RSM_CLUSTER_INTERRUPT_REPLY, "INTERRUPT_REPLY", "request status interrupt#", NULL},
    {RSM_CLUSTER_EVENT, "EVENT", "import# end count coalesced", NULL},
    {0, NULL, NULL, NULL},
};

const struct message_fields *message_fields_of(const struct message_fields *list, uint32_t type)
{
    while (list->type != 0 && list->type != type)
        list++;
    return list->type != 0 ? list : NULL;
}
