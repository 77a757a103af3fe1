/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/proto_walk.h"

void rsm_walk_choice(struct rsm_codec *c, struct mapping_choice *m)
{
    rsm_codec_u32(c, &m->trap);
    rsm_codec_u32(c, &m->reason);
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
    rsm_codec_u32(c, &m->state);
    rsm_codec_u32(c, &m->space);
    rsm_codec_u32(c, &m->segment_id);
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->pid);
    rsm_codec_u32(c, &m->uid);
    rsm_codec_u32(c, &m->gid);
    rsm_codec_u32(c, &m->permission);
    rsm_codec_u32(c, &m->acl_count);
    rsm_walk_acl(c, &m->acl_shown, RSM_PROTO_ACL_SHOWN_MAX, m->acl);
    rsm_codec_u32(c, &m->connections);
    rsm_codec_u32(c, &m->pending);
    rsm_codec_u64(c, &m->length);
    rsm_codec_u64(c, &m->pinned);
    rsm_walk_choice(c, &m->choice);
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
    rsm_codec_u64(c, &m->connects);
    rsm_codec_u64(c, &m->events);
    rsm_codec_u64(c, &m->longest_step_us);
    rsm_codec_u64(c, &m->refusal.ago_ms);
    rsm_codec_u32(c, &m->refusal.type);
    rsm_codec_u32(c, &m->refusal.status);
    rsm_codec_u32(c, &m->refusal.pid);
    rsm_codec_u32(c, &m->refusal.uid);
    rsm_codec_count(c, &m->count, RSM_PROTO_ITEMS_MAX);
    for (uint32_t i = 0; i < m->count; i++)
        walk_inspect_item(c, &m->items[i]);
}

static void walk_interrupts_reply(struct rsm_codec *c, struct rsm_interrupts_reply *m)
{
    rsm_codec_u32(c, &m->next);
    rsm_codec_count(c, &m->count, RSM_PROTO_INTERRUPTS_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_u32(c, &m->items[i].kind);
        rsm_codec_u32(c, &m->items[i].number);
        rsm_codec_u32(c, &m->items[i].pid);
        rsm_codec_u32(c, &m->items[i].uid);
        rsm_codec_u32(c, &m->items[i].gid);
        rsm_codec_u32(c, &m->items[i].mode);
        rsm_codec_u32(c, &m->items[i].shared);
        rsm_codec_u32(c, &m->items[i].pending);
        rsm_codec_u32(c, &m->items[i].waiting);
    }
}

static void walk_links_item(struct rsm_codec *c, struct rsm_links_item *m)
{
    rsm_codec_u32(c, &m->node);
    rsm_codec_u32(c, &m->state);
    rsm_codec_u32(c, &m->version);
    rsm_codec_u32(c, &m->port);
    rsm_codec_u64(c, &m->up_ms);
    rsm_codec_u64(c, &m->failure_ms);
    rsm_codec_u64(c, &m->sent_bytes);
    rsm_codec_u64(c, &m->received_bytes);
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

static void walk_failed_reply(struct rsm_codec *c, struct rsm_failed_reply *m)
{
    rsm_codec_u32(c, &m->total);
    rsm_codec_count(c, &m->count, RSM_PROTO_FAILED_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        rsm_codec_string(c, m->items[i].name, sizeof m->items[i].name);
        rsm_codec_string(c, m->items[i].transport, sizeof m->items[i].transport);
        rsm_codec_string(c, m->items[i].device, sizeof m->items[i].device);
        rsm_codec_u64(c, &m->items[i].ago_ms);
        rsm_codec_string(c, m->items[i].text, sizeof m->items[i].text);
    }
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

void rsm_walk_inspect_request(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_INSPECT:
        walk_inspect(c, &msg->u.inspect);
        return;
    case RSM_MSG_INTERRUPTS:
        rsm_codec_u32(c, &msg->u.interrupts.after);
        return;
    case RSM_MSG_LINKS:
        rsm_codec_u32(c, &msg->u.links.first);
        return;
    case RSM_MSG_FAILED:
        rsm_codec_u32(c, &msg->u.failed.first);
        return;
    case RSM_MSG_SHARES:
        rsm_codec_u64(c, &msg->u.shares.after);
        return;
    default:
        c->bad = true;
    }
}

void rsm_walk_inspect_reply(struct rsm_codec *c, struct rsm_msg *msg)
{
    switch (msg->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_INSPECT:
        walk_inspect_reply(c, &msg->u.inspect_reply);
        return;
    case RSM_MSG_INTERRUPTS:
        walk_interrupts_reply(c, &msg->u.interrupts_reply);
        return;
    case RSM_MSG_LINKS:
        walk_links_reply(c, &msg->u.links_reply);
        return;
    case RSM_MSG_FAILED:
        walk_failed_reply(c, &msg->u.failed_reply);
        return;
    case RSM_MSG_SHARES:
        walk_shares_reply(c, &msg->u.shares_reply);
        return;
    default:
        c->bad = true;
    }
}
