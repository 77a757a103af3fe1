/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "protocol/proto.h"
#include "cluster/proto.h"

/* Structures of other headers, as librsm/protocol/proto.c walks them. */
static const struct body_field fields_rsm_port_attr[] = {
    {.name = "access_sizes", .many = 1},
    {.name = "atomic_sizes", .many = 1},
    {.name = "page_size", .many = 1},
    {.name = "max_segment_size", .many = 1},
    {.name = "total_segment_size", .many = 1},
    {.name = "max_segments", .many = 1},
    {.name = "max_map_size", .many = 1},
    {.name = "total_map_size", .many = 1},
    {.name = "max_imports", .many = 1},
    {.name = "hardware_address", .many = 1},
    {.name = NULL},
};

static const struct body_field fields_mapping_settings[] = {
    {.name = "given", .many = 1},
    {.name = "value", .many = MAPPING_TUNABLES_FIRST},
    {.name = NULL},
};

static const struct body_field fields_mapping_choice[] = {
    {.name = "trap", .many = 1},
    {.name = "reason", .many = 1},
    {.name = NULL},
};

static const struct body_field fields_mapping_counts[] = {
    {.name = "unknown", .many = 1},
    {.name = "blocked", .many = 1},
    {.name = "by_calls", .many = 1},
    {.name = "evicted", .many = 1},
    {.name = NULL},
};

#include "bodies_names.h"
#include "protocol/bodies.def"
#include "cluster/bodies.def"
#include "protocol/bodies_end.h"

static const struct message_fields control_messages[RSM_MSG_LAST + 1] = {
#define RSM_MESSAGE(NAME, number, name_, reply_, senders)                                          \
    [number] = {.name = #NAME,                                                                     \
                .request = fields_rsm_##name_##_request,                                           \
                .reply = fields_rsm_##reply_##_reply},
#include "protocol/messages.def"
};

static const struct message_fields peer_messages[RSM_CLUSTER_LAST + 1] = {
#define LINK(NAME, number, name_, body)                                                            \
    [number] = {.name = #NAME, .request = fields_rsm_cluster_##body},
#define NODE(NAME, number, name_, body) LINK(NAME, number, name_, body)
#include "cluster/messages.def"
};

const struct message_fields *control_message(uint32_t type)
{
    return type <= RSM_MSG_LAST && control_messages[type].name != NULL ? &control_messages[type]
                                                                       : NULL;
}

const struct message_fields *peer_message(uint32_t type)
{
    return type <= RSM_CLUSTER_LAST && peer_messages[type].name != NULL ? &peer_messages[type]
                                                                        : NULL;
}

/* Names of fields in any message, or, behind the name of a message and a blank, in that one. */
static const struct {
    const char *mark;
    const char *const *names;
} marks[] = {
    {" id:slot", (const char *const[]){"slot", "epoch_slot", NULL}},
    {" id:object", (const char *const[]){"connection", "export_id", "extent", "id", "import",
                                         "interrupt", "receiver", "receivers", "items.export_id",
                                         "items.id", "pieces.extent", "record.connection", NULL}},
    {" any",
     (const char *const[]){
         /* of this machine, and of the daemon's life */
         "attr.hardware_address", "attr.max_imports", "attr.max_map_size", "attr.max_segment_size",
         "attr.max_segments", "attr.total_map_size", "attr.total_segment_size", "connects", "epoch",
         "events", "exported_limit", "generation", "incarnation", "longest_step_us", "nonce",
         "path", "segments_limit",
         /* of processes and users */
         "items.gid", "items.pid", "items.uid", "refusal.pid", "refusal.uid", "users.serial",
         "users.uid", "users.used", "limits.one", "limits.total", "limits.used", "limits.users",
         /* of time */
         "MAILBOX_TAKE after", "record.order", "items.ago_ms", "items.failure_ms", "items.up_ms",
         "GROUPS stats.quiet_us", "refusal.ago_ms",
         /* of the network */
         "CONTROLLER address", "items.address", "items.received_bytes", "items.sent_bytes",
         /* words, and what a transport says */
         "items.text", "text", "CONNECT_REPLY blob", NULL}},
};

const char *field_mark(const char *message, const char *field)
{
    char qualified[128];
    snprintf(qualified, sizeof qualified, "%s %s", message, field);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        for (const char *const *name = marks[i].names; *name != NULL; name++)
            if (strcmp(*name, field) == 0 || strcmp(*name, qualified) == 0)
                return marks[i].mark;
    return "";
}
