/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX beside us: its own ucx_perftest, whose server has another process's memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum {
    COMMAND_BYTES = 256,
    COLUMNS_MAX = 16,
    ITERATIONS = 100000,
    ITERATIONS_MIN = 20,
    ROUNDS = 20000, /* of a game of two, which may need a scheduler's turns */
    WARM_UPS = 10,  /* one of so many iterations */
    PORT_TRIES = 3, /* another process may take the port first */
};
#define TRANSFER_BYTES ((size_t)256 << 20) /* about so many are moved by one run */
#define MIB_PER_S      (1048576 / 1e9)     /* bytes per ns */
#define US             1e3                 /* ns */

/* The operation without "-stream". */
static const struct {
    const char *operation, *test;
} tests[] = {{"put", "ucp_put_bw"}, {"get", "ucp_get"}, {"pingpong", "ucp_put_lat"}};

/* Which field of a line of comma-separated values has that name; -1: none. */
static int column_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (int column = 0; column < COLUMNS_MAX; column++) {
        size_t width = strcspn(line, ",\r\n");
        if (width == length && strncmp(line, name, length) == 0)
            return column;
        if (line[width] != ',')
            break;
        line += width + 1;
    }
    return -1;
}

/* The number in that field, or 0. */
static double number_at(const char *line, int column)
{
    for (; column > 0; column--) {
        line += strcspn(line, ",\r\n");
        if (*line++ != ',')
            return 0;
    }
    char *end;
    double value = strtod(line, &end);
    bool whole = end > line && strchr(",\r\n", *end) != NULL; /* or the text's end */
    return whole && isfinite(value) && value > 0 ? value : 0;
}

double beside_ucx_parse(const char *text, size_t bytes, bool stream)
{
    static const char *const medians[] = {"50.0_percentile_lat", "typical_lat"};
    for (const char *line = text, *next; (next = strchr(line, '\n')) != NULL; line = next + 1) {
        int column = stream ? column_of(line, "overall_bw") : -1;
        for (int i = 0; i < 2 && !stream && column < 0; i++)
            column = column_of(line, medians[i]);
        if (column < 0)
            continue;
        double value = number_at(next + 1, column);
        return value == 0 ? 0 : stream ? (double)bytes / (value * MIB_PER_S) : value * US;
    }
    return 0;
}

double beside_ucx(const struct options *options, const struct result *result, unsigned window)
{
    static char text[PROGRAM_TEXT_BYTES];
    static bool said;
    char server[COMMAND_BYTES], client[COMMAND_BYTES];
    bool stream = result->gauge->stream, game = strcmp(result->gauge->name, "pingpong") == 0;
    size_t i = 0, bytes = result->bytes, max = game ? ROUNDS : ITERATIONS;
    (void)options;
    if (!program_is_there("ucx_perftest", "ucx-utils", "nothing is compared with UCX", &said))
        return 0;
    while (strncmp(tests[i].operation, result->gauge->name, strlen(tests[i].operation)) != 0)
        i++;
    size_t iterations = TRANSFER_BYTES / bytes;
    iterations = iterations > max ? max : iterations < ITERATIONS_MIN ? ITERATIONS_MIN : iterations;
    for (int run = 0; run < PORT_TRIES; run++) {
        unsigned port = program_port();
        snprintf(server, sizeof server, "ucx_perftest -p %u", port);
        snprintf(client, sizeof client,
                 "ucx_perftest 127.0.0.1 -p %u -t %s -s %zu -n %zu -w %zu -O %u -f -v", port,
                 tests[i].test, bytes, iterations, iterations / WARM_UPS, window);
        double ns = program_pair(server, client, text) ? beside_ucx_parse(text, bytes, stream) : 0;
        if (ns > 0)
            return ns;
    }
    program_complain("ucx_perftest", text);
    return 0;
}
