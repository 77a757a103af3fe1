/* SPDX-License-Identifier: BSD-3-Clause */
/* What --group found: a table, comma-separated values, or JSON. */
#include <stdio.h>

#include "group.h"
#include "json.h"
#include "show.h"
#include "table.h"

enum { FORMAT_VERSION = 1 };

static void time_cell(struct table *table, double ns)
{
    char text[SHOW_TIME_BYTES];
    table_cell(table, "%s", show_time(text, ns));
}

static void add_row(struct table *table, const struct group_row *row)
{
    table_cell(table, "%u", row->members);
    table_cell(table, "%zu", row->bytes);
    if (row->failure[0] != '\0') {
        for (int i = 0; i < 6; i++)
            table_cell(table, "-");
        return;
    }
    time_cell(table, row->best);
    time_cell(table, row->p50);
    time_cell(table, row->p99);
    time_cell(table, row->p9999);
    table_cell(table, "%llu", (unsigned long long)row->samples);
    if (row->of_one > 0)
        table_cell(table, "%.2f", row->of_one);
    else
        table_cell(table, "-");
}

static bool show_table(const struct group_run *run)
{
    static const char *const headings[] = {"#MEMBERS", "#BYTES",   "+#BEST",  "#P50", "#P99",
                                           "#P99.99",  "#SAMPLES", "#OF ONE", NULL};
    struct table table;
    printf("rsmperf (librsm) " RSM_RELEASE ", controller ");
    table_print_safe(stdout, run->options->controller);
    printf(": until every member has what was put\n\n");
    table_begin(&table, headings, run->options->format == FORMAT_WIDE_TABLE ? TABLE_WIDE : 0);
    for (unsigned i = 0; i < run->count; i++)
        add_row(&table, &run->rows[i]);
    return table_end(&table, stdout) == 0;
}

static void show_csv_rows(const struct group_run *run)
{
    puts("members,bytes,best_ns,p50_ns,p99_ns,p9999_ns,samples,of_one,error");
    for (unsigned i = 0; i < run->count; i++) {
        const struct group_row *row = &run->rows[i];
        printf("%u,%zu,", row->members, row->bytes);
        if (row->failure[0] != '\0') {
            puts(",,,,,,failed");
            continue;
        }
        printf("%.10g,%.10g,%.10g,%.10g,%llu,", row->best, row->p50, row->p99, row->p9999,
               (unsigned long long)row->samples);
        if (row->of_one > 0)
            printf("%.10g", row->of_one);
        puts(",");
    }
}

static void write_row(struct json *json, const struct group_row *row)
{
    json_open(json, NULL, '{');
    json_number(json, "members", row->members);
    json_number(json, "bytes", row->bytes);
    if (row->failure[0] != '\0') {
        json_string(json, "error", row->failure);
    } else {
        json_real(json, "best_ns", row->best);
        json_real(json, "p50_ns", row->p50);
        json_real(json, "p99_ns", row->p99);
        json_real(json, "p9999_ns", row->p9999);
        json_number(json, "samples", row->samples);
        json_real_or_null(json, "of_one", row->of_one);
    }
    json_close(json, '{');
}

static void show_json_rows(const struct group_run *run)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_number(&json, "rsmperf", FORMAT_VERSION);
    json_string(&json, "version", RSM_RELEASE);
    json_string(&json, "controller", run->options->controller);
    json_number(&json, "time_ms", run->options->time_ms);
    json_open(&json, "group", '[');
    for (unsigned i = 0; i < run->count; i++)
        write_row(&json, &run->rows[i]);
    json_close(&json, '[');
    if (run->failure[0] != '\0')
        json_string(&json, "error", run->failure);
    json_close(&json, '{');
    putchar('\n');
}

bool group_show(const struct group_run *run)
{
    switch (run->options->format) {
    case FORMAT_JSON:
        show_json_rows(run);
        return true;
    case FORMAT_CSV:
        show_csv_rows(run);
        return true;
    case FORMAT_TABLE:
    case FORMAT_WIDE_TABLE:
        break;
    }
    return run->count == 0 || show_table(run);
}
