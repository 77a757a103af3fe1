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

/* One number of each node. */
static void totals(FILE *out, const struct nodes *nodes, const char *name, const char *help,
                   uint64_t (*number)(const struct snapshot *s))
{
    metric(out, name, help);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        if (s->failure[0] != '\0')
            continue;
        begin(out, name, s);
        end(out, number(s));
    }
}

static uint64_t exported_bytes(const struct snapshot *s)
{
    return s->totals.exported_bytes;
}

static uint64_t segments(const struct snapshot *s)
{
    return s->totals.segments;
}

static uint64_t clients(const struct snapshot *s)
{
    return s->totals.clients;
}

static uint64_t connects(const struct snapshot *s)
{
    return s->totals.connects;
}

static uint64_t events(const struct snapshot *s)
{
    return s->totals.events;
}

static uint64_t longest_step(const struct snapshot *s)
{
    return s->totals.longest_step_us;
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

/* One number of each link; @p number says whether there is one. */
static void links(FILE *out, const struct nodes *nodes, const char *name, const char *help,
                  bool (*number)(const struct rsm_links_item *link, uint64_t *value))
{
    char remote[TEXT_BYTES];
    uint64_t value;
    metric(out, name, help);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        for (uint32_t n = 0; n < s->link_count; n++) {
            if (!number(&s->links[n], &value))
                continue;
            begin(out, name, s);
            snprintf(remote, sizeof remote, "%" PRIu32, s->links[n].node);
            label(out, "to", remote);
            end(out, value);
        }
    }
}

static bool link_is_up(const struct rsm_links_item *link, uint64_t *value)
{
    *value = link->state == RSM_LINK_UP;
    return true;
}

static bool link_uptime(const struct rsm_links_item *link, uint64_t *value)
{
    *value = link->up_ms / 1000;
    return link->up_ms != 0;
}

static bool link_failure_age(const struct rsm_links_item *link, uint64_t *value)
{
    *value = link->failure_ms / 1000;
    return link->failure_ms != 0;
}

static bool link_sent(const struct rsm_links_item *link, uint64_t *value)
{
    *value = link->sent_bytes;
    return true;
}

static bool link_received(const struct rsm_links_item *link, uint64_t *value)
{
    *value = link->received_bytes;
    return true;
}

static void show_links(FILE *out, const struct nodes *nodes)
{
    links(out, nodes, "link_up",
          "1 if the link to the daemon of another host, of node \"to\", is up, else 0.",
          link_is_up);
    links(out, nodes, "link_uptime_seconds",
          "Seconds since the link came up; no sample while it is down.", link_uptime);
    links(out, nodes, "link_failure_age_seconds",
          "Seconds since the link last failed; no sample if it never did.", link_failure_age);
    links(out, nodes, "link_sent_bytes_total",
          "Bytes that the daemon has sent over the link since it began.", link_sent);
    links(out, nodes, "link_received_bytes_total",
          "Bytes that the daemon has received over the link since it began.", link_received);
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
    totals(out, &nodes, "exported_bytes", "Bytes of memory in all exported segments of the node.",
           exported_bytes);
    totals(out, &nodes, "segments", "Number of exported segments and imports of the node.",
           segments);
    totals(out, &nodes, "clients", "Number of processes connected to the daemon, rsmstat included.",
           clients);
    totals(out, &nodes, "connects_total",
           "Connections of importers to segments of the node since its daemon began.", connects);
    totals(out, &nodes, "events_total",
           "Events that the daemon has carried from and to other hosts since it began.", events);
    totals(
        out, &nodes, "longest_step_microseconds",
        "Processor time that the daemon was at work at most before it looked for requests again.",
        longest_step);
    show_controllers(out, &nodes);
    show_links(out, &nodes);
    show_shares(out, &nodes, "resource_used",
                "How much of the limit \"resource\" of the node all users together have.", false);
    show_shares(out, &nodes, "resource_limit",
                "How much of \"resource\" all users of the node together may have.", true);
}
