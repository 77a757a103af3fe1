/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gauges and counters in Prometheus's text format, for the textfile collector of its node exporter.
 * All samples of a metric stand together, as the format demands.
 */
#include <inttypes.h>
#include <string.h>

#include "show.h"
#include "text.h"

struct nodes {
    struct snapshot *const *list;
    size_t count;
};

/* The value of a label: what others have written must not end it. */
static void label(FILE *out, const char *name, const char *value)
{
    fprintf(out, ",%s=\"", name);
    for (; *value != '\0'; value++)
        if (*value == '\\' || *value == '"')
            fprintf(out, "\\%c", *value);
        else
            fputc(*value >= ' ' && *value <= '~' ? *value : '?', out);
    fputc('"', out);
}

/* Counters are those whose names end with _total, as the format wants it. */
static void metric(FILE *out, const char *name, const char *help)
{
    const char *ending = strrchr(name, '_');
    bool counter = ending != NULL && strcmp(ending, "_total") == 0;
    fprintf(out, "# HELP rsm_%s %s\n# TYPE rsm_%s %s\n", name, help, name,
            counter ? "counter" : "gauge");
}

static void begin(FILE *out, const char *name, const struct snapshot *s)
{
    fprintf(out, "rsm_%s{node=\"%" PRIu32 "\"", name, s->node);
}

static void end(FILE *out, uint64_t value)
{
    fprintf(out, "} %" PRIu64 "\n", value);
}

/* A number at @p offset, of 32 or 64 bits. */
struct number {
    const char *name, *help;
    size_t offset, size;
    bool age;      /* milliseconds, shown in seconds; 0: there is no sample */
    bool optional; /* 0: there is no sample */
};

#define NUMBER(type, member)                                                                       \
    .offset = offsetof(type, member), .size = sizeof((const type *)0)->member

/* Of each node. */
static const struct number totals[] = {
    {"exported_bytes", "Bytes of memory in all exported segments of the node.",
     NUMBER(struct snapshot, totals.exported_bytes)},
    {"segments", "Number of exported segments and imports of the node.",
     NUMBER(struct snapshot, totals.segments)},
    {"clients", "Number of processes connected to the daemon, rsmstat included.",
     NUMBER(struct snapshot, totals.clients)},
    {"connects_total", "Connections of importers to segments of the node since its daemon began.",
     NUMBER(struct snapshot, totals.connects)},
    {"events_total", "Events that the daemon has carried from and to other hosts since it began.",
     NUMBER(struct snapshot, totals.events)},
    {"longest_step_microseconds",
     "Processor time that the daemon was at work at most before it looked for requests again.",
     NUMBER(struct snapshot, totals.longest_step_us)},
};

/* Of each link. */
static const struct number link_numbers[] = {
    {"link_uptime_seconds", "Seconds since the link came up; no sample while it is down.",
     NUMBER(struct rsm_links_item, up_ms), .age = true},
    {"link_failure_age_seconds", "Seconds since the link last failed; no sample if it never did.",
     NUMBER(struct rsm_links_item, failure_ms), .age = true},
    {"link_sent_bytes_total", "Bytes that the daemon has sent over the link since it began.",
     NUMBER(struct rsm_links_item, sent_bytes)},
    {"link_certificate_expires_timestamp_seconds",
     "When the certificate of the other node, or of this one, expires; no sample without one.",
     NUMBER(struct rsm_links_item, expires), .optional = true},
    {"link_received_bytes_total",
     "Bytes that the daemon has received over the link since it began.",
     NUMBER(struct rsm_links_item, received_bytes)},
};

static uint64_t number_of(const struct number *number, const void *object)
{
    uint32_t narrow;
    uint64_t wide;
    if (number->size == sizeof narrow) {
        memcpy(&narrow, (const char *)object + number->offset, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, (const char *)object + number->offset, sizeof wide);
    return wide;
}

static void show_total(FILE *out, const struct nodes *nodes, const struct number *number)
{
    metric(out, number->name, number->help);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        if (s->failure[0] != '\0')
            continue;
        begin(out, number->name, s);
        end(out, number_of(number, s));
    }
}

static void show_up(FILE *out, const struct nodes *nodes)
{
    metric(out, "up", "1 if the daemon of the node answers, else 0; then it has no other sample.");
    for (size_t i = 0; i < nodes->count; i++) {
        begin(out, "up", nodes->list[i]);
        end(out, nodes->list[i]->failure[0] == '\0');
    }
}

static void show_controllers(FILE *out, const struct nodes *nodes)
{
    metric(out, "controller_up", "1 if the daemon could open the controller, else 0.");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        for (size_t c = 0; c < s->controller_count; c++) {
            begin(out, "controller_up", s);
            label(out, "controller", s->controllers[c].about.name);
            label(out, "transport", s->controllers[c].about.transport);
            end(out, 1);
        }
        for (uint32_t c = 0; c < s->failed_count; c++) {
            if (s->failed[c].ago_ms == 0) /* it is open, and among the others */
                continue;
            begin(out, "controller_up", s);
            label(out, "controller", s->failed[c].name);
            label(out, "transport", s->failed[c].transport);
            end(out, 0);
        }
    }
}

static void begin_link(FILE *out, const char *name, const struct snapshot *s, uint32_t to)
{
    char remote[TEXT_BYTES];
    begin(out, name, s);
    snprintf(remote, sizeof remote, "%" PRIu32, to);
    label(out, "to", remote);
}

static void show_link_states(FILE *out, const struct nodes *nodes)
{
    metric(out, "link_up",
           "1 if the link to the daemon of another host, of node \"to\", is up, else 0. "
           "Without a value for links on demand that are closed.");
    for (size_t i = 0; i < nodes->count; i++)
        for (uint32_t n = 0; n < nodes->list[i]->link_count; n++) {
            const struct rsm_links_item *link = &nodes->list[i]->links[n];
            if (link->state == RSM_LINK_IDLE) /* nothing is wrong with it */
                continue;
            begin_link(out, "link_up", nodes->list[i], link->node);
            end(out, link->state == RSM_LINK_UP);
        }
}

static void show_link_number(FILE *out, const struct nodes *nodes, const struct number *number)
{
    metric(out, number->name, number->help);
    for (size_t i = 0; i < nodes->count; i++)
        for (uint32_t n = 0; n < nodes->list[i]->link_count; n++) {
            uint64_t value = number_of(number, &nodes->list[i]->links[n]);
            if ((number->age || number->optional) && value == 0)
                continue;
            begin_link(out, number->name, nodes->list[i], nodes->list[i]->links[n].node);
            end(out, number->age ? value / 1000 : value);
        }
}

/* What of the node's limits is taken, and how much there is; nothing for a limit that is none. */
static void show_shares(FILE *out, const struct nodes *nodes, const char *name, const char *help,
                        bool limits)
{
    metric(out, name, help);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        for (unsigned r = 0; r < RSM_SHARES_COUNT && s->failure[0] == '\0'; r++) {
            uint64_t value = limits ? s->limits[r].total : s->limits[r].used;
            if (value == UINT64_MAX)
                continue;
            begin(out, name, s);
            label(out, "resource", text_resource(r));
            end(out, value);
        }
    }
}

void show_prometheus(FILE *out, struct snapshot *const snapshots[], size_t count)
{
    const struct nodes nodes = {.list = snapshots, .count = count};
    show_up(out, &nodes);
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        show_total(out, &nodes, &totals[i]);
    show_controllers(out, &nodes);
    show_link_states(out, &nodes);
    for (size_t i = 0; i < sizeof link_numbers / sizeof *link_numbers; i++)
        show_link_number(out, &nodes, &link_numbers[i]);
    show_shares(out, &nodes, "resource_used",
                "How much of the limit \"resource\" of the node all users together have.", false);
    show_shares(out, &nodes, "resource_limit",
                "How much of \"resource\" all users of the node together may have.", true);
}
