/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "show.h"
#include "table.h"
#include "text.h"

static unsigned style(const struct options *options)
{
    return (options->wide ? TABLE_WIDE : 0U) | (options->colors ? TABLE_COLORS : 0U);
}

static void show_node(FILE *out, const struct snapshot *s, bool human)
{
    char used[TEXT_BYTES], limit[TEXT_BYTES];
    text_size(used, s->totals.exported_bytes, human);
    text_size(limit, s->totals.exported_limit, human);
    fprintf(out, "Node %" PRIu32 ": rsmd ", s->node);
    if (s->pid > 0) {
        fprintf(out, "%d of user ", (int)s->pid);
        table_print_safe(out, text_user(s->uid));
        fputs(", ", out);
    }
    fprintf(out, "%s, ", s->hello.embedded != 0 ? "embedded" : "system");
    table_print_safe(out, s->socket);
    fprintf(out,
            "\nExported memory: %s%s%s\nSegments and imports: %" PRIu32 " of %" PRIu32
            ", clients: %" PRIu32 "\nSo far: connects: %" PRIu64
            ", events from and to other hosts: %" PRIu64 ", longest step: %" PRIu64 ".%03u ms\n",
            used, s->totals.exported_limit != 0 ? " of " : " (no limit)",
            s->totals.exported_limit != 0 ? limit : "", s->totals.segments,
            s->totals.segments_limit, s->totals.clients, s->totals.connects, s->totals.events,
            s->totals.longest_step_us / 1000, (unsigned)(s->totals.longest_step_us % 1000));
}

/* What came since the picture before, by the second. */
static void show_rates(FILE *out, const struct snapshot *s, const struct options *options)
{
    const struct rates *rates = &s->rates;
    char sent[TEXT_BYTES], received[TEXT_BYTES];
    if (!rates->known)
        return;
    fprintf(out, "Per second: connects: %.1f, events: %.1f", rates->connects, rates->events);
    if (s->link_count > 0) {
        text_size(sent, (uint64_t)rates->sent, options->human);
        text_size(received, (uint64_t)rates->received, options->human);
        fprintf(out, ", links sent: %s, received: %s", sent, received);
    }
    fputc('\n', out);
}

/* Widths of accesses as "1,2,4,8". */
static void text_widths(char text[TEXT_BYTES], uint32_t widths)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t width = 1; width <= 8; width *= 2)
        if ((widths & width) != 0)
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%" PRIu32,
                                     used > 0 ? "," : "", width);
}

static void size_cell(struct table *table, uint64_t bytes, bool human)
{
    char text[TEXT_BYTES];
    if (bytes == UINT64_MAX) {
        table_cell(table, "no limit");
        return;
    }
    text_size(text, bytes, human);
    table_cell(table, "%s", text);
}

static int show_controllers(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {
        "~CONTROLLER", "TRANSPORT",    "~DEVICE",   "#ADDRESS",      "+ACCESS",       "+ATOMIC",
        "#PAGE",       "#MAX-SEGMENT", "+#MAX-MAP", "+#MAX-EXPORTS", "+#MAX-IMPORTS", NULL};
    struct table table;
    char text[TEXT_BYTES];
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->controller_count; i++) {
        const struct rsm_controller_reply *about = &s->controllers[i].about;
        table_cell(&table, "%s", about->name);
        table_cell(&table, "%s", about->transport);
        table_cell(&table, "%s", about->device);
        table_cell(&table, "%" PRIu64, about->attr.hardware_address);
        text_widths(text, about->attr.access_sizes);
        table_cell(&table, "%s", text);
        text_widths(text, about->attr.atomic_sizes);
        table_cell(&table, "%s", text);
        size_cell(&table, about->attr.page_size, options->human);
        size_cell(&table, about->attr.max_segment_size, options->human);
        size_cell(&table, about->attr.max_map_size, options->human);
        size_cell(&table, about->attr.max_segments, false);
        size_cell(&table, about->attr.max_imports, false);
    }
    return table_end(&table, out);
}

/* Nothing if all controllers are there. */
static int show_failed(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {"~FAILED-CONTROLLER", "TRANSPORT", "~DEVICE", "~WHY",
                                           NULL};
    struct table table;
    if (s->failed_count == 0)
        return 0;
    fputc('\n', out);
    table_begin(&table, headings, style(options));
    for (uint32_t i = 0; i < s->failed_count; i++) {
        table_cell(&table, "%s", s->failed[i].name);
        table_color(&table, TABLE_RED);
        table_cell(&table, "%s", s->failed[i].transport);
        table_cell(&table, "%s", s->failed[i].device);
        table_cell(&table, "%s", s->failed[i].text);
    }
    return table_end(&table, out);
}

static enum table_color remote_color(uint32_t state)
{
    return state == PEER_ACTIVE ? TABLE_GREEN : state == PEER_DOWN ? TABLE_RED : TABLE_YELLOW;
}

static int show_topology(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {"~CONTROLLER",   "#NODE", "~PEER-CONTROLLER",
                                           "#PEER-ADDRESS", "STATE", NULL};
    struct table table;
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->controller_count; i++) {
        const struct controller *controller = &s->controllers[i];
        for (uint32_t p = 0; p < controller->remote_count; p++) {
            const struct rsm_topology_remote *remote = &controller->remotes[p];
            table_cell(&table, "%s", controller->about.name);
            table_cell(&table, "%" PRIu32, remote->node);
            table_cell(&table, "%s", remote->name);
            table_cell(&table, "%" PRIu64, remote->hardware_address);
            table_cell(&table, "%s", text_remote_state(remote->state));
            table_color(&table, remote_color(remote->state));
        }
    }
    return table_end(&table, out);
}

/* What this node's own line says is why it cannot listen. */
static enum table_color link_color(const struct rsm_links_item *link)
{
    switch (link->state) {
    case RSM_LINK_UP:
        return TABLE_GREEN;
    case RSM_LINK_STARTING:
        return TABLE_YELLOW;
    case RSM_LINK_NEIGHBOUR:
    case RSM_LINK_IDLE:
        return TABLE_PLAIN;
    case RSM_LINK_SELF:
        return link->text[0] != '\0' ? TABLE_RED : TABLE_PLAIN;
    default:
        return TABLE_RED;
    }
}

static int show_links(FILE *out, const struct snapshot *s, const struct options *options)
{
    /* Certificates are shown where there are any. */
    const char *expires = s->link_auth == RSM_LINK_AUTH_TLS ? "EXPIRES" : "+EXPIRES";
    const char *const headings[] = {"#LINK-TO", "~ADDRESS",      "#PORT",     "STATE", "#UP-FOR",
                                    "+#SENT",   "+#RECEIVED",    "+#VERSION", "+AUTH", expires,
                                    "#AGO",     "~LAST-FAILURE", NULL};
    struct table table;
    char text[TEXT_BYTES];
    table_begin(&table, headings, style(options));
    for (uint32_t i = 0; i < s->link_count; i++) {
        const struct rsm_links_item *link = &s->links[i];
        table_cell(&table, "%" PRIu32, link->node);
        table_cell(&table, "%s", link->address);
        table_cell(&table, "%" PRIu32, link->port);
        table_cell(&table, "%s", text_link_state(link->state));
        table_color(&table, link_color(link));
        text_age(text, link->up_ms);
        table_cell(&table, "%s", text);
        size_cell(&table, link->sent_bytes, options->human);
        size_cell(&table, link->received_bytes, options->human);
        if (link->version != 0)
            table_cell(&table, "%" PRIu32, link->version);
        else
            table_cell(&table, "-");
        table_cell(&table, "%s", text_link_auth(s->link_auth));
        text_date(text, link->expires);
        table_cell(&table, "%s", text);
        text_age(text, link->failure_ms);
        table_cell(&table, "%s", text);
        table_cell(&table, "%s", link->text);
    }
    return table_end(&table, out);
}

/* A number that only the segment's owner sees. */
static void owners_cell(struct table *table, uint32_t number)
{
    if (number == RSM_INSPECT_HIDDEN)
        table_cell(table, "-");
    else
        table_cell(table, "%" PRIu32, number);
}

static void process_cell(struct table *table, uint32_t pid)
{
    if (pid == 0)
        table_cell(table, "-");
    else
        table_cell(table, "%" PRIu32, pid);
}

static void access_cell(struct table *table, const struct rsm_inspect_item *item)
{
    if (item->permission == RSM_INSPECT_HIDDEN)
        table_cell(table, "-");
    else if (item->published != 0 && item->acl_count != 0)
        table_cell(table, "list of %" PRIu32, item->acl_count);
    else
        table_cell(table, "%04" PRIo32, item->permission);
}

/* "1:0666 2:0444 and 3 more" */
static void access_list_cell(struct table *table, const struct rsm_inspect_item *item)
{
    char text[RSM_PROTO_ACL_SHOWN_MAX * sizeof "4294967295:37777777777" + TEXT_BYTES] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < item->acl_shown && item->published != 0; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu32 ":%04" PRIo32,
                                 used > 0 ? " " : "", item->acl[i].node, item->acl[i].permission);
    if (used > 0 && item->acl_count > item->acl_shown)
        snprintf(text + used, sizeof text - used, " and %" PRIu32 " more",
                 item->acl_count - item->acl_shown);
    table_cell(table, "%s", text);
}

static int show_exports(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {
        "EXPORTED", "#SIZE",        "~OWNER", "?#PID",    "ACCESS",       "#CONNECTIONS",
        "+#EVENTS", "?~CONTROLLER", "STATE",  "+#PINNED", "+ACCESS-LIST", NULL};
    struct table table;
    char text[TEXT_BYTES];
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->exports.count; i++) {
        const struct rsm_inspect_item *item = &s->exports.list[i].item;
        text_segment_id(text, item);
        table_cell(&table, "%s", text);
        size_cell(&table, item->length, options->human);
        table_cell(&table, "%s", text_user(item->uid));
        process_cell(&table, item->pid);
        access_cell(&table, item);
        owners_cell(&table, item->connections);
        table_cell(&table, "%" PRIu32, item->pending);
        table_cell(&table, "%s", item->controller);
        table_cell(&table, "%s", text_export_state(item));
        size_cell(&table, item->pinned, options->human);
        access_list_cell(&table, item);
    }
    return table_end(&table, out);
}

/* All of them together. */
static void inexact_cell(struct table *table, const struct mapping_counts *stores)
{
    uint64_t sum = stores->unknown + stores->blocked + stores->by_calls;
    table_cell(table, "%" PRIu64, sum);
    table_color(table, sum > 0 ? TABLE_RED : TABLE_PLAIN);
}

static int show_imports(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {"IMPORTED", "#FROM",        "#SIZE",      "#BY",
                                           "~USER",    "?#PID",        "RIGHTS",     "STATE",
                                           "+#EVENTS", "?~CONTROLLER", "+TRANSPORT", "+TRAP",
                                           "+WHY",     "+#INEXACT",    "+#EVICTED",  NULL};
    struct table table;
    char text[TEXT_BYTES];
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->imports.count; i++) {
        const struct rsm_inspect_item *item = &s->imports.list[i].item;
        text_segment_id(text, item);
        table_cell(&table, "%s", text);
        table_cell(&table, "%" PRIu32, s->imports.list[i].exporter);
        if (item->export_id == 0)
            table_cell(&table, "-");
        else
            size_cell(&table, item->length, options->human);
        table_cell(&table, "%" PRIu32, item->node);
        table_cell(&table, "%s", text_user(item->uid));
        process_cell(&table, item->pid);
        text_rights(text, item->permission);
        table_cell(&table, "%s", text);
        table_cell(&table, "%s", item->export_id == 0 ? "aborted" : "connected");
        table_color(&table, item->export_id == 0 ? TABLE_RED : TABLE_PLAIN);
        table_cell(&table, "%" PRIu32, item->pending);
        table_cell(&table, "%s", item->controller);
        table_cell(&table, "%s", item->transport[0] != '\0' ? item->transport : "-");
        table_cell(&table, "%s", rsmcore_map_trap_name(item->choice.trap));
        table_cell(&table, "%s", rsmcore_map_reason_name(item->choice.reason));
        inexact_cell(&table, &s->imports.list[i].counts);
        table_cell(&table, "%" PRIu64, s->imports.list[i].counts.evicted);
    }
    return table_end(&table, out);
}

static void time_cell(struct table *table, uint64_t us)
{
    if (us < 1000)
        table_cell(table, "%" PRIu64 "us", us);
    else if (us < 1000000)
        table_cell(table, "%" PRIu64 "ms", us / 1000);
    else
        table_cell(table, "%" PRIu64 "s", us / 1000000);
}

/* A line for each member of a writer. */
static int show_groups(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {"GROUP",   "#BY",     "~USER", "#PID",
                                           "#NUMBER", "#MEMBER", "#PUTS", "#LAST",
                                           "#LAG",    "#LACKED", NULL};
    struct table table;
    char text[TEXT_BYTES];
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->imports.count; i++) {
        const struct rsm_inspect_item *item = &s->imports.list[i].item;
        const struct rsm_group_stats *stats = &s->imports.list[i].group;
        if (stats->group == 0)
            continue;
        text_segment_id(text, item);
        table_cell(&table, "%s", text);
        table_cell(&table, "%" PRIu32, item->node);
        table_cell(&table, "%s", text_user(item->uid));
        process_cell(&table, item->pid);
        table_cell(&table, "%" PRIu32, stats->group);
        table_cell(&table, "%" PRIu32, s->imports.list[i].exporter);
        table_cell(&table, "%" PRIu64, stats->puts);
        time_cell(&table, stats->quiet_us);
        time_cell(&table, stats->lag_us);
        table_cell(&table, "%" PRIu64, stats->lacked);
        table_color(&table, stats->lacked > 0 ? TABLE_RED : TABLE_PLAIN);
    }
    return table_end(&table, out);
}

static bool has_groups(const struct snapshot *s)
{
    for (size_t i = 0; i < s->imports.count; i++)
        if (s->imports.list[i].group.group != 0)
            return true;
    return false;
}

static int show_interrupts(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {"INTERRUPT", "KIND",     "~OWNER",   "#PID", "ACCESS",
                                           "SHARED",    "#PENDING", "#WAITING", NULL};
    struct table table;
    table_begin(&table, headings, style(options));
    for (size_t i = 0; i < s->interrupt_count; i++) {
        const struct rsm_interrupts_item *item = &s->interrupts[i];
        table_cell(&table, "0x%" PRIx32, item->number);
        table_cell(&table, "%s", text_interrupt_kind(item->kind));
        table_cell(&table, "%s", text_user(item->uid));
        process_cell(&table, item->pid);
        table_cell(&table, "%04" PRIo32, item->mode);
        table_cell(&table, "%s", item->shared != 0 ? "yes" : "no");
        table_cell(&table, "%" PRIu32, item->pending);
        table_cell(&table, "%" PRIu32, item->waiting);
    }
    return table_end(&table, out);
}

/* A line of shares; `numbers` are `step` apart. */
static void share_cells(struct table *table, const uint64_t *numbers, size_t step, bool human)
{
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++)
        size_cell(table, numbers[i * step],
                  human && (i == RSM_SHARES_BYTES || i == RSM_SHARES_PINNED));
}

static void share_holder_cell(struct table *table, const struct rsm_shares_user *user)
{
    if (user->node == 0)
        table_cell(table, "%s", text_user(user->uid));
    else if (user->uid == RSM_SHARES_ALL_USERS)
        table_cell(table, "node %" PRIu32, user->node);
    else
        table_cell(table, "%" PRIu32 " of node %" PRIu32, user->uid, user->node);
}

static int show_shares(FILE *out, const struct snapshot *s, const struct options *options)
{
    static const char *const headings[] = {
        "~SHARE-OF",  "#CONNECTIONS", "#DESCRIPTORS", "#SEGMENTS", "#MEMORY", "#PINNED",
        "+#REQUESTS", "+#RECORDS",    "+#INTERRUPTS", "+#THREADS", NULL};
    const size_t step = sizeof s->limits[0] / sizeof(uint64_t);
    struct table table;
    table_begin(&table, headings, style(options));
    table_cell(&table, "(limit)");
    share_cells(&table, &s->limits[0].total, step, options->human);
    table_cell(&table, "(all users)");
    share_cells(&table, &s->limits[0].users, step, options->human);
    table_cell(&table, "(one user)");
    share_cells(&table, &s->limits[0].one, step, options->human);
    table_cell(&table, "(in use)");
    share_cells(&table, &s->limits[0].used, step, options->human);
    for (size_t i = 0; i < s->user_count; i++) {
        share_holder_cell(&table, &s->users[i]);
        share_cells(&table, s->users[i].used, 1, options->human);
    }
    return table_end(&table, out);
}

static int show_all_controllers(FILE *out, const struct snapshot *s, const struct options *options)
{
    return show_controllers(out, s, options) | show_failed(out, s, options);
}

static const struct {
    unsigned section;
    int (*show)(FILE *out, const struct snapshot *s, const struct options *options);
} sections[] = {
    {SECTION_CONTROLLERS, show_all_controllers},
    {SECTION_TOPOLOGY, show_topology},
    {SECTION_LINKS, show_links},
    {SECTION_SHARES, show_shares},
    {SECTION_EXPORTS, show_exports},
    {SECTION_IMPORTS, show_imports},
    {SECTION_GROUPS, show_groups},
    {SECTION_INTERRUPTS, show_interrupts},
};

/* Whether a section is empty on most nodes: there are links only where a cluster has several hosts,
 * groups and interrupts only where some programs run. Then it is shown only if asked for. */
static bool is_empty(const struct snapshot *s, unsigned section)
{
    return (section == SECTION_LINKS && s->link_count == 0) ||
           (section == SECTION_GROUPS && !has_groups(s)) ||
           (section == SECTION_INTERRUPTS && s->interrupt_count == 0);
}

static int show_one(FILE *out, const struct snapshot *s, const struct options *options)
{
    int result = 0;
    show_node(out, s, options->human);
    show_rates(out, s, options);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        unsigned section = sections[i].section;
        if ((options->sections & section) == 0 ||
            (options->sections == SECTIONS_ALL && is_empty(s, section)))
            continue;
        fputc('\n', out);
        result |= sections[i].show(out, s, options);
    }
    return result;
}

int show_text(FILE *out, struct snapshot *const snapshots[], size_t count,
              const struct options *options)
{
    int result = 0;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (snapshots[i]->failure[0] != '\0')
            continue;
        if (!first)
            fputs("\n\n", out);
        first = false;
        result |= show_one(out, snapshots[i], options);
    }
    return result;
}
