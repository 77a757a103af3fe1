/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "json.h"
#include "show.h"
#include "text.h"

enum { FORMAT_VERSION = 1 }; /* raised when a member changes its meaning or goes */

/* UINT64_MAX, a limit that is none, is null. */
static void limit(struct json *json, const char *key, uint64_t number)
{
    if (number == UINT64_MAX)
        json_null(json, key);
    else
        json_number(json, key, number);
}

/* A number that only the segment's owner sees. */
static void owners_number(struct json *json, const char *key, uint32_t number)
{
    if (number == RSM_INSPECT_HIDDEN)
        json_null(json, key);
    else
        json_number(json, key, number);
}

static void user(struct json *json, uint32_t uid)
{
    const char *name;
    json_number(json, "uid", uid);
    if (text_user_name(uid, &name))
        json_string(json, "user", name);
    else
        json_null(json, "user");
}

static void widths(struct json *json, const char *key, uint32_t bits)
{
    json_open(json, key, '[');
    for (uint32_t width = 1; width <= 8; width *= 2)
        if ((bits & width) != 0)
            json_number(json, NULL, width);
    json_close(json, '[');
}

static void show_controllers(struct json *json, const struct snapshot *s)
{
    json_open(json, "controllers", '[');
    for (size_t i = 0; i < s->controller_count; i++) {
        const struct rsm_controller_reply *about = &s->controllers[i].about;
        json_open(json, NULL, '{');
        json_string(json, "name", about->name);
        json_string(json, "transport", about->transport);
        json_string(json, "device", about->device);
        json_string(json, "options", about->options);
        json_bool(json, "loopback", about->loopback != 0);
        json_number(json, "hardware_address", about->attr.hardware_address);
        widths(json, "access_sizes", about->attr.access_sizes);
        widths(json, "atomic_sizes", about->attr.atomic_sizes);
        json_number(json, "page_size", about->attr.page_size);
        limit(json, "max_segment_size", about->attr.max_segment_size);
        limit(json, "total_segment_size", about->attr.total_segment_size);
        limit(json, "max_segments", about->attr.max_segments);
        limit(json, "max_map_size", about->attr.max_map_size);
        limit(json, "total_map_size", about->attr.total_map_size);
        limit(json, "max_imports", about->attr.max_imports);
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_failed(struct json *json, const struct snapshot *s)
{
    json_open(json, "failed_controllers", '[');
    for (uint32_t i = 0; i < s->failed_count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", s->failed[i].name);
        json_string(json, "transport", s->failed[i].transport);
        json_string(json, "device", s->failed[i].device);
        json_string(json, "reason", s->failed[i].text);
        json_number(json, "tried_ms", s->failed[i].ago_ms);
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_topology(struct json *json, const struct snapshot *s)
{
    json_open(json, "topology", '[');
    for (size_t i = 0; i < s->controller_count; i++) {
        const struct controller *controller = &s->controllers[i];
        if (controller->about.loopback != 0)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "controller", controller->about.name);
        json_open(json, "peers", '[');
        for (uint32_t p = 0; p < controller->remote_count; p++) {
            const struct rsm_topology_remote *remote = &controller->remotes[p];
            json_open(json, NULL, '{');
            json_number(json, "node", remote->node);
            json_string(json, "controller", remote->name);
            json_number(json, "hardware_address", remote->hardware_address);
            json_string(json, "state", text_remote_state(remote->state));
            json_close(json, '{');
        }
        json_close(json, '[');
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_links(struct json *json, const struct snapshot *s)
{
    json_open(json, "links", '[');
    for (uint32_t i = 0; i < s->link_count; i++) {
        const struct rsm_links_item *link = &s->links[i];
        json_open(json, NULL, '{');
        json_number(json, "node", link->node);
        json_string(json, "address", link->address);
        json_number(json, "port", link->port);
        json_string(json, "state", text_link_state(link->state));
        json_number_or_null(json, "up_ms", link->up_ms);
        json_number(json, "sent_bytes", link->sent_bytes);
        json_number(json, "received_bytes", link->received_bytes);
        json_number_or_null(json, "version", link->version);
        json_string(json, "auth", text_link_auth(s->link_auth));
        json_number_or_null(json, "certificate_expires", link->expires);
        if (link->text[0] != '\0')
            json_string(json, "last_failure", link->text);
        else
            json_null(json, "last_failure");
        json_number_or_null(json, "last_failure_ms", link->failure_ms);
        json_close(json, '{');
    }
    json_close(json, '[');
}

/* Users of other hosts have their names there. */
static void share_holder(struct json *json, const struct rsm_shares_user *holder)
{
    if (holder->node == 0) {
        user(json, holder->uid);
        return;
    }
    if (holder->uid == RSM_SHARES_ALL_USERS)
        json_null(json, "uid");
    else
        json_number(json, "uid", holder->uid);
    json_null(json, "user");
}

static void show_shares(struct json *json, const struct snapshot *s)
{
    json_open(json, "shares", '{');
    json_open(json, "limits", '{');
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++) {
        json_open(json, text_resource(i), '{');
        limit(json, "total", s->limits[i].total);
        limit(json, "users", s->limits[i].users);
        limit(json, "one_user", s->limits[i].one);
        json_number(json, "used", s->limits[i].used);
        json_close(json, '{');
    }
    json_close(json, '{');
    json_open(json, "users", '[');
    for (size_t i = 0; i < s->user_count; i++) {
        const struct rsm_shares_user *each = &s->users[i];
        json_open(json, NULL, '{');
        json_number_or_null(json, "node", each->node);
        share_holder(json, each);
        for (unsigned k = 0; k < RSM_SHARES_COUNT; k++)
            json_number(json, text_resource(k), each->used[k]);
        json_close(json, '{');
    }
    json_close(json, '[');
    json_close(json, '{');
}

/* What exports and imports have in common. */
static void show_item(struct json *json, const struct rsm_inspect_item *item)
{
    char text[TEXT_BYTES];
    json_number(json, "id", item->id);
    if (!text_has_segment_id(item)) {
        json_null(json, "segment_id");
        json_null(json, "id_space");
        json_null(json, "segment");
    } else {
        text_segment_id(text, item);
        json_number(json, "segment_id", item->segment_id);
        json_string(json, "id_space", text_id_space(item->space));
        json_string(json, "segment", text);
    }
    json_string(json, "controller", item->controller);
    json_string(json, "transport", item->transport);
    json_number_or_null(json, "length", item->length);
    json_number(json, "node", item->node);
    json_number_or_null(json, "pid", item->pid);
    user(json, item->uid);
    json_number(json, "gid", item->gid);
    json_number(json, "pending_events", item->pending);
}

/* The first entries; access_list_entries has their total. null: only the owner sees them. */
static void show_access_list(struct json *json, const struct rsm_inspect_item *item)
{
    char text[TEXT_BYTES];
    owners_number(json, "access_list_entries", item->acl_count);
    if (item->acl_count == RSM_INSPECT_HIDDEN) {
        json_null(json, "access_list");
        return;
    }
    json_open(json, "access_list", '[');
    for (uint32_t i = 0; i < item->acl_shown; i++) {
        json_open(json, NULL, '{');
        json_number(json, "node", item->acl[i].node);
        snprintf(text, sizeof text, "%04o", (unsigned)item->acl[i].permission);
        json_string(json, "mode", text);
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_exports(struct json *json, const struct snapshot *s)
{
    char text[TEXT_BYTES];
    json_open(json, "exports", '[');
    for (size_t i = 0; i < s->exports.count; i++) {
        const struct rsm_inspect_item *item = &s->exports.list[i].item;
        json_open(json, NULL, '{');
        show_item(json, item);
        json_bool(json, "published", item->published != 0);
        json_string(json, "state", text_export_state(item));
        if (item->permission == RSM_INSPECT_HIDDEN) {
            json_null(json, "mode");
        } else {
            snprintf(text, sizeof text, "%04o", (unsigned)item->permission);
            json_string(json, "mode", text);
        }
        show_access_list(json, item);
        owners_number(json, "connections", item->connections);
        json_number(json, "pinned_bytes", item->pinned);
        json_close(json, '{');
    }
    json_close(json, '[');
}

/* How the mapping engine traps accesses; null: it has made no mapping, or the trap is the best. */
static void show_trap(struct json *json, const struct mapping_choice *choice)
{
    if (choice->trap == MAPPING_USED_NONE)
        json_null(json, "trap");
    else
        json_string(json, "trap", rsmcore_map_trap_name(choice->trap));
    if (choice->reason == MAPPING_REASON_NONE)
        json_null(json, "trap_reason");
    else
        json_string(json, "trap_reason", rsmcore_map_reason_name(choice->reason));
}

/* Stores to mappings that the engine let through to a page with a twin, by reason. */
static void show_inexact(struct json *json, const struct mapping_counts *stores)
{
    json_open(json, "inexact_stores", '{');
    json_number(json, "unknown", stores->unknown);
    json_number(json, "blocked", stores->blocked);
    json_number(json, "by_calls", stores->by_calls);
    json_close(json, '{');
}

/* Null: it is no member of a group. */
static void show_group(struct json *json, const struct rsm_group_stats *stats)
{
    if (stats->group == 0) {
        json_null(json, "group");
        return;
    }
    json_open(json, "group", '{');
    json_number(json, "number", stats->group);
    json_number(json, "puts", stats->puts);
    json_number(json, "quiet_us", stats->quiet_us);
    json_number(json, "lag_us", stats->lag_us);
    json_number(json, "lacked", stats->lacked);
    json_close(json, '{');
}

static void show_imports(struct json *json, const struct snapshot *s)
{
    char text[TEXT_BYTES];
    json_open(json, "imports", '[');
    for (size_t i = 0; i < s->imports.count; i++) {
        const struct rsm_inspect_item *item = &s->imports.list[i].item;
        json_open(json, NULL, '{');
        show_item(json, item);
        json_number(json, "exporter_node", s->imports.list[i].exporter);
        json_number_or_null(json, "export", item->export_id);
        text_rights(text, item->permission);
        json_string(json, "rights", text);
        json_string(json, "state", item->export_id == 0 ? "aborted" : "connected");
        show_trap(json, &item->choice);
        show_inexact(json, &s->imports.list[i].counts);
        json_number(json, "evicted_pages", s->imports.list[i].counts.evicted);
        show_group(json, &s->imports.list[i].group);
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_interrupts(struct json *json, const struct snapshot *s)
{
    char text[TEXT_BYTES];
    json_open(json, "interrupts", '[');
    for (size_t i = 0; i < s->interrupt_count; i++) {
        const struct rsm_interrupts_item *item = &s->interrupts[i];
        json_open(json, NULL, '{');
        json_number(json, "number", item->number);
        json_string(json, "kind", text_interrupt_kind(item->kind));
        json_number(json, "node", s->node);
        json_number_or_null(json, "pid", item->pid);
        user(json, item->uid);
        json_number(json, "gid", item->gid);
        snprintf(text, sizeof text, "%04o", (unsigned)item->mode);
        json_string(json, "mode", text);
        json_bool(json, "shared", item->shared != 0);
        json_number(json, "pending", item->pending);
        json_number(json, "waiting", item->waiting);
        json_close(json, '{');
    }
    json_close(json, '[');
}

static void show_refusal(struct json *json, const struct rsm_refusal *refusal)
{
    if (refusal->ago_ms == 0) {
        json_null(json, "last_refusal");
        return;
    }
    json_open(json, "last_refusal", '{');
    json_string(json, "request", text_request(refusal->type));
    json_string(json, "reason", rsmcore_status_text((enum rsm_status)refusal->status));
    json_number(json, "ago_ms", refusal->ago_ms);
    json_number_or_null(json, "pid", refusal->pid);
    user(json, refusal->uid);
    json_close(json, '{');
}

static void show_totals(struct json *json, const struct snapshot *s)
{
    json_number_or_null(json, "pid", s->pid > 0 ? (uint64_t)s->pid : 0);
    user(json, s->uid);
    json_string(json, "daemon", s->hello.embedded != 0 ? "embedded" : "system");
    json_number(json, "peer_timeout_ms", s->hello.peer_timeout_ms);
    json_number(json, "clients", s->totals.clients);
    json_number(json, "connects", s->totals.connects);
    json_number(json, "events", s->totals.events);
    json_number(json, "longest_step_us", s->totals.longest_step_us);
    json_number(json, "exported_bytes", s->totals.exported_bytes);
    json_number_or_null(json, "exported_limit", s->totals.exported_limit);
    json_number(json, "segments", s->totals.segments);
    json_number(json, "segments_limit", s->totals.segments_limit);
    show_refusal(json, &s->totals.refusal);
}

static void show_notes(struct json *json, const struct snapshot *s)
{
    json_open(json, "notes", '[');
    for (size_t i = 0; i < s->note_count; i++)
        json_string(json, NULL, s->notes[i]);
    json_close(json, '[');
}

/* A member of a group is an import. */
enum { IMPORTS = SECTION_IMPORTS | SECTION_GROUPS };

static const struct {
    unsigned section;
    void (*show)(struct json *json, const struct snapshot *s);
} sections[] = {
    {SECTION_CONTROLLERS, show_controllers},
    {SECTION_CONTROLLERS, show_failed},
    {SECTION_TOPOLOGY, show_topology},
    {SECTION_LINKS, show_links},
    {SECTION_SHARES, show_shares},
    {SECTION_EXPORTS, show_exports},
    {IMPORTS, show_imports},
    {SECTION_INTERRUPTS, show_interrupts},
};

static void show_one(struct json *json, const struct snapshot *s, unsigned wanted)
{
    json_open(json, NULL, '{');
    json_number(json, "node", s->node);
    json_string(json, "socket", s->socket);
    if (s->failure[0] != '\0') {
        json_string(json, "error", s->failure);
        json_close(json, '{');
        return;
    }
    show_totals(json, s);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if ((wanted & sections[i].section) != 0)
            sections[i].show(json, s);
    show_notes(json, s);
    json_close(json, '{');
}

void show_json(FILE *out, struct snapshot *const snapshots[], size_t count,
               const struct options *options)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_number(&json, "rsmstat", FORMAT_VERSION);
    json_open(&json, "nodes", '[');
    for (size_t i = 0; i < count; i++)
        show_one(&json, snapshots[i], options->sections);
    json_close(&json, '[');
    json_close(&json, '{');
    fputc('\n', out);
}
