/* SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum {
    LINE_BYTES = 512, /* longer ones are no table */
    COMMAND_BYTES = 2048,
    ITERATIONS = 1000,
    ITERATIONS_MIN = 20,
    RUNS = 4, /* it finds its clock's rate by regression and prints "inf" where that fails */
};
#define COUNT_MAX       1e12
#define BANDWIDTH_BYTES ((size_t)256 << 20) /* about so many are moved by one run */
#define LATENCY_BYTES   ((size_t)1 << 20)   /* beyond this latency is bandwidth */

/* Which of perftest's programs does what a gauge does. */
static const struct {
    const char *gauge, *program;
    bool bandwidth;
    unsigned depth; /* of its queue of sends; 0: its own choice */
} programs[] = {
    {"pingpong", "ib_write_lat", false, 0},
    {"get", "ib_read_lat", false, 0},
    {"put-stream", "ib_write_bw", true, 0},
    {"get-stream", "ib_read_bw", true, 0},
    {"sci-dma-queue", "ib_write_bw", true, SISCI_QUEUE_ENTRIES},
};

/* ------------------------------------------------------------------ reading */

/* "#bytes #iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%" in microseconds, or
 * "#bytes #iterations peak average rate" in Gb/s; comments and settings are around it. */
static bool parse_line(const char *line, size_t bytes, bool bandwidth, struct figure *figure)
{
    double field[9];
    int count = 0;
    for (char *end; count < 9; count++, line = end) {
        field[count] = strtod(line, &end); /* what is out of range is not finite, or 0 */
        if (end == line)
            break;
    }
    if (line[strspn(line, " \t\r")] != '\0')
        return false;
    if ((bandwidth ? count != 5 : count < 8) || field[0] != (double)bytes ||
        !(field[1] >= 1 && field[1] < COUNT_MAX))
        return false;
    *figure = (struct figure){.count = (uint64_t)field[1]};
    if (bandwidth) { /* 8 bits a byte, and Gb/s are bits per ns */
        figure->p50 = figure->p99 = figure->best = (double)bytes * 8 / field[3];
        if (field[2] > field[3])
            figure->best = (double)bytes * 8 / field[2];
    } else {
        figure->best = field[2] * 1e3;
        figure->p50 = field[4] * 1e3;
        figure->p99 = field[7] * 1e3;
    }
    return isfinite(figure->best + figure->p50 + figure->p99) && figure->best > 0 &&
           figure->p50 > 0 && figure->p99 > 0;
}

bool perftest_parse(const char *text, size_t bytes, bool bandwidth, struct figure *figure)
{
    while (*text != '\0') {
        char line[LINE_BYTES];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : 0, text);
        if (parse_line(line, bytes, bandwidth, figure))
            return true;
        text += length + (text[length] == '\n');
    }
    return false;
}

static bool run_pair(const struct options *options, const char *program, const char *common,
                     char text[PROGRAM_TEXT_BYTES])
{
    char server[COMMAND_BYTES], client[COMMAND_BYTES];
    unsigned port = program_port();
    const char *more = options->limit_args != NULL ? options->limit_args : "";
    snprintf(server, sizeof server, "%s -d %s -F -p %u %s %s", program, options->limit_device[0],
             port, common, more);
    snprintf(client, sizeof client, "%s -d %s -F -p %u %s %s 127.0.0.1", program,
             options->limit_device[1], port, common, more);
    return program_pair(server, client, text);
}

void perftest_limit(const struct options *options, struct result *result)
{
    static char text[PROGRAM_TEXT_BYTES];
    static bool said; /* once, whatever the number of figures that have no limit then */
    char common[64], depth[16] = "";
    size_t i = 0, count = sizeof programs / sizeof *programs, bytes = result->bytes;
    while (i < count && strcmp(programs[i].gauge, result->gauge->name) != 0)
        i++;
    if (i == count || (!programs[i].bandwidth && bytes > LATENCY_BYTES))
        return;
    if (!program_is_there(programs[i].program, "perftest", "figures have no limit", &said))
        return;
    size_t iterations = BANDWIDTH_BYTES / bytes;
    iterations = iterations > ITERATIONS       ? ITERATIONS
                 : iterations < ITERATIONS_MIN ? ITERATIONS_MIN
                                               : iterations;
    if (programs[i].depth > 0)
        snprintf(depth, sizeof depth, " -t %u", programs[i].depth);
    snprintf(common, sizeof common, "-s %zu -n %zu%s%s", bytes, iterations,
             programs[i].bandwidth ? " --report_gbits" : "", depth);
    for (int run = 0; run < RUNS && result->limit_name == NULL; run++) {
        if (!run_pair(options, programs[i].program, common, text))
            break;
        if (perftest_parse(text, bytes, programs[i].bandwidth, &result->limit))
            result->limit_name = programs[i].program;
    }
    if (result->limit_name == NULL)
        program_complain(programs[i].program, text);
}
