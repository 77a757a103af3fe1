/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "show.h"
#include "table.h"

const char *show_time(char text[SHOW_TIME_BYTES], double ns)
{
    static const struct {
        double from, unit;
        const char *name;
    } units[] = {{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}, {0, 1, "ns"}};
    unsigned u = 0;
    while (ns < units[u].from)
        u++;
    double value = ns / units[u].unit;
    snprintf(text, SHOW_TIME_BYTES, "%.*f %s",
             value < 10    ? 2
             : value < 100 ? 1
                           : 0,
             value, units[u].name);
    return text;
}

static void time_cell(struct table *table, double ns)
{
    char text[SHOW_TIME_BYTES];
    table_cell(table, "%s", show_time(text, ns));
}

static void rate_cell(struct table *table, double mb_per_s)
{
    if (mb_per_s > 0)
        table_cell(table, "%.*f", mb_per_s < 100 ? 1 : 0, mb_per_s);
    else
        table_cell(table, "-");
}

/* What is compared with, and how that came out. */
static void limit_cells(struct table *table, const struct result *result)
{
    static const char *const words[] = {"-", "met", "missed"};
    if (result->limit_name == NULL) {
        for (int i = 0; i < 5; i++)
            table_cell(table, "-");
        return;
    }
    table_cell(table, "%s", result->limit_name);
    time_cell(table, result->limit.p50);
    table_cell(table, "%.2f%s", result->ratio, result_is_noisy(result) ? "~" : " ");
    table_cell(table, "%s", result->verdict == VERDICT_NONE ? "-" : result->target);
    table_cell(table, "%s", words[result->verdict]);
}

static void beside_cells(struct table *table, const struct alternative *other)
{
    if (other->p50 == 0) {
        for (int i = 0; i < 3; i++)
            table_cell(table, "-");
        return;
    }
    time_cell(table, other->p50);
    rate_cell(table, other->mb_per_s);
    table_cell(table, "%.2f", other->ratio);
}

static void add_row(struct table *table, const struct run *run, const struct result *result)
{
    table_cell(table, "%s", result->gauge->name);
    if (result->bytes != 0)
        table_cell(table, "%zu", result->bytes);
    else
        table_cell(table, "-");
    if (result->failure[0] != '\0') {
        for (int i = 0; i < 8; i++)
            table_cell(table, "-");
        table_cell(table, "failed");
    } else {
        time_cell(table, result->ours.best);
        time_cell(table, result->ours.p50);
        time_cell(table, result->ours.p99);
        rate_cell(table, result->mb_per_s);
        limit_cells(table, result);
    }
    for (unsigned i = 0; i < BESIDES; i++)
        if (run->options->beside[i])
            beside_cells(table, &result->beside[i]);
}

static void show_heading(FILE *out, const struct run *run)
{
    const struct machine *machine = &run->machine;
    fprintf(out, "rsmperf (librsm) " RSM_RELEASE ", controller ");
    table_print_safe(out, run->options->controller);
    fprintf(out, ", node %" PRIu32 " to node %" PRIu32 ", importers: %u%s\n", run->node,
            run->server_node, run->options->importers,
            run->options->registered ? ", registered memory" : "");
    table_print_safe(out, machine->processor);
    fprintf(out, ", %u processor%s, ", machine->processors, machine->processors == 1 ? "" : "s");
    table_print_safe(out, machine->system);
    if (machine->load >= 0)
        fprintf(out, ", load %.2f", machine->load);
    fputs("\n\n", out);
}

/* What makes figures worth less than they look. */
static void show_notes(FILE *out, const struct run *run)
{
    unsigned noisy = 0, met = 0, missed = 0;
    const struct machine *machine = &run->machine;
    for (unsigned i = 0; i < run->count; i++) {
        noisy += result_is_noisy(&run->results[i]);
        met += run->results[i].verdict == VERDICT_MET;
        missed += run->results[i].verdict == VERDICT_MISSED;
    }
    if (met + missed > 0)
        fprintf(out, "\nTargets: %u met, %u missed.\n", met, missed);
    if (noisy > 0)
        fprintf(out,
                "Note: ~ marks %u of %u figures whose repetitions differ by more than a fifth.\n",
                noisy, run->count);
    if (machine->load > 0.5 * machine->processors)
        fprintf(out, "Note: the machine was busy before this began (load %.2f on %u).\n",
                machine->load, machine->processors);
    if (run->options->role == ROLE_BOTH && 2 * run->options->importers > machine->processors)
        fprintf(out, "Note: %u processes and threads share %u processor%s.\n",
                2 * run->options->importers, machine->processors,
                machine->processors == 1 ? "" : "s");
}

/* Where there is more to compare with, that is of more interest than what goes if there is no
 * room. */
static void choose_headings(const struct run *run, const char *headings[TABLE_COLUMNS_MAX])
{
    static const char *const alone[] = {"OPERATION", "#BYTES",  "+#BEST", "#P50",
                                        "#P99",      "#MB/S",   "LIMIT",  "+#LIMIT-P50",
                                        "#RATIO",    "+TARGET", "VERDICT"};
    static const char *const others[] = {"OPERATION", "#BYTES",  "+#BEST",  "#P50",
                                         "?#P99",     "#MB/S",   "?LIMIT",  "+#LIMIT-P50",
                                         "?#RATIO",   "+TARGET", "?VERDICT"};
    static const char *const beside[BESIDES][3] = {
        [BESIDE_UCX] = {"#UCX-P50", "#UCX-MB/S", "+#UCX-RATIO"},
        [BESIDE_MPI] = {"#MPI-P50", "#MPI-MB/S", "+#MPI-RATIO"},
    };
    unsigned count = sizeof alone / sizeof *alone;
    bool any = false;
    for (unsigned i = 0; i < BESIDES; i++) {
        for (unsigned c = 0; c < 3 && run->options->beside[i]; c++)
            headings[count++] = beside[i][c];
        any |= run->options->beside[i];
    }
    headings[count] = NULL;
    memcpy(headings, any ? others : alone, sizeof alone);
}

int show_text(FILE *out, const struct run *run)
{
    const char *headings[TABLE_COLUMNS_MAX];
    struct table table;
    show_heading(out, run);
    choose_headings(run, headings);
    table_begin(&table, headings, run->options->format == FORMAT_WIDE_TABLE ? TABLE_WIDE : 0);
    for (unsigned i = 0; i < run->count; i++)
        add_row(&table, run, &run->results[i]);
    int failed = table_end(&table, out);
    show_notes(out, run);
    return failed;
}
