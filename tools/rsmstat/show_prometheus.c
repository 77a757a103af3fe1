/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gauges in Prometheus's text format, for the textfile collector of its node exporter. All samples of
 * a metric stand together, as the format demands.
 */
#include <inttypes.h>

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

static void metric(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# HELP rsm_%s %s\n# TYPE rsm_%s gauge\n", name, help, name);
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

static void show_up(FILE *out, const struct nodes *nodes)
{
    metric(out, "up", "Whether the node's daemon answers.");
    for (size_t i = 0; i < nodes->count; i++) {
        begin(out, "up", nodes->list[i]);
        end(out, nodes->list[i]->failure[0] == '\0');
    }
}

static void show_controllers(FILE *out, const struct nodes *nodes)
{
    metric(out, "controller_up", "Whether the daemon could open the controller.");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        for (size_t c = 0; c < s->controller_count; c++) {
            begin(out, "controller_up", s);
            label(out, "controller", s->controllers[c].about.name);
            label(out, "transport", s->controllers[c].about.transport);
            end(out, 1);
        }
        for (uint32_t c = 0; c < s->failed_count; c++) {
            begin(out, "controller_up", s);
            label(out, "controller", s->failed[c].name);
            label(out, "transport", s->failed[c].transport);
            end(out, 0);
        }
    }
}

static void show_links(FILE *out, const struct nodes *nodes)
{
    char remote[TEXT_BYTES];
    metric(out, "link_up", "Whether the link to another host's daemon is up.");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct snapshot *s = nodes->list[i];
        for (uint32_t n = 0; n < s->link_count; n++) {
            begin(out, "link_up", s);
            snprintf(remote, sizeof remote, "%" PRIu32, s->links[n].node);
            label(out, "to", remote);
            end(out, s->links[n].state == RSM_LINK_UP);
        }
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
    totals(out, &nodes, "exported_bytes", "Bytes of all exported segments.", exported_bytes);
    totals(out, &nodes, "segments", "Exported segments and imports.", segments);
    totals(out, &nodes, "clients", "Clients of the daemon, rsmstat included.", clients);
    show_controllers(out, &nodes);
    show_links(out, &nodes);
    show_shares(out, &nodes, "resource_used", "What of a limit of the node is in use.", false);
    show_shares(out, &nodes, "resource_limit", "A limit of the node.", true);
}
