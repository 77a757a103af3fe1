/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "gauge.h"
#include "report.h"

enum {
    TIME_DEFAULT_MS = 200,
    TIME_LEAST_MS = 1,
    TIME_MAX_MS = 60000,
    LIST_BYTES = 1024,
};

enum option_code {
    OPTION_ADAPTER = 256,
    OPTION_API,
    OPTION_BESIDE,
    OPTION_CSV,
    OPTION_ID,
    OPTION_JSON,
    OPTION_LIMIT_ARGS,
    OPTION_LIMIT_DEVICE,
    OPTION_PAIR,
    OPTION_PLOT,
    OPTION_SERVE,
    OPTION_TURNS,
    OPTION_VERSION,
    OPTION_WIDE
};

static const struct option known[] = {
    {"adapter", required_argument, NULL, OPTION_ADAPTER},
    {"api", required_argument, NULL, OPTION_API},
    {"beside", required_argument, NULL, OPTION_BESIDE},
    {"controller", required_argument, NULL, 'c'},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"help", no_argument, NULL, 'h'},
    {"id", required_argument, NULL, OPTION_ID},
    {"importers", required_argument, NULL, 'i'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"limit-args", required_argument, NULL, OPTION_LIMIT_ARGS},
    {"limit-device", required_argument, NULL, OPTION_LIMIT_DEVICE},
    {"node", required_argument, NULL, 'n'},
    {"only", required_argument, NULL, 'o'},
    {"pair", required_argument, NULL, OPTION_PAIR},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"registered", no_argument, NULL, 'r'},
    {"runtime-dir", required_argument, NULL, 'd'},
    {"serve", no_argument, NULL, OPTION_SERVE},
    {"sizes", required_argument, NULL, 's'},
    {"time", required_argument, NULL, 't'},
    {"turns", required_argument, NULL, OPTION_TURNS},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"wide", no_argument, NULL, OPTION_WIDE},
    {NULL, 0, NULL, 0},
};

static void print_help(FILE *to)
{
    fputs("Usage: rsmperf [OPTION]...\n"
          "       rsmperf --serve [OPTION]...    on one node, and\n"
          "       rsmperf --node N [OPTION]...   on another one\n"
          "Measures latency and bandwidth of remote shared memory (RSMAPI), and beside them\n"
          "what the machine itself takes. Without --serve and --node both sides run on this\n"
          "host.\n"
          "\n"
          "  -c, --controller NAME  controller to use (default: sci0)\n"
          "  -d, --runtime-dir DIR  where nodes have their sockets\n"
          "                         (default: RSM_RUNTIME_DIR)\n"
          "  -i, --importers K      processes that import at once, 1 to 16 (default: 1)\n"
          "  -n, --node N           measure against 'rsmperf --serve' on node N\n"
          "  -o, --only LIST        operations to measure, separated by commas\n"
          "                         (default: all)\n"
          "  -r, --registered       transfers use registered memory, as perftest's do\n"
          "  -s, --sizes LIST       sizes of transfers: 8,4K,1M or 1-64M, which doubles\n"
          "                         (default: 1-64M)\n"
          "  -t, --time MS          time for each figure and its limit (default: 200 ms)\n"
          "  --adapter N            adapter that SISCI uses (default: 0)\n"
          "  --api NAME             operations of that API: rsm or sisci (default: rsm)\n"
          "  --beside LIST          measure ucx, mpi or both of this host in addition\n"
          "  --csv                  for spreadsheets: comma-separated values\n"
          "  --id ID                segment id at which the server is asked\n"
          "                         (default: 0x4f5246)\n"
          "  --json                 for programs: one line of JSON\n"
          "  --limit-args ARGS      further options for the programs of perftest\n"
          "  --limit-device A,B     compare with perftest: server on device A, client on B\n"
          "  --pair I,E             importers on node I, exporter on node E of this host\n"
          "  --plot FILE            draw times and bandwidths by size, as SVG\n"
          "  --serve                be the far side, until SIGINT or SIGTERM\n"
          "  --turns N              measure figures and limits in turn, 1 to 15 times,\n"
          "                         and show the turn with the median ratio (default: 1)\n"
          "  --wide                 more columns: fastest sample, time of the limit, target\n"
          "  -h, --help             print this and exit\n"
          "  --version              print the version and exit\n"
          "\n"
          "Operations:",
          to);
    for (unsigned i = 0; i < GAUGES; i++)
        fprintf(to, "%s%s", i % 6 == 0 ? "\n  " : " ", gauges[i]->name);
    fputc('\n', to);
}

static bool expected(const char *option, const char *what, const char *value)
{
    complain("--%s: expected %s, not '%s'", option, what, value);
    return false;
}

/* A number from `least` to `most` that ends at `*end`. */
static bool number(const char *text, unsigned long min, unsigned long max, unsigned long *value,
                   char **end)
{
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoul(text, end, 0);
    return errno == 0 && *value >= min && *value <= max;
}

static bool whole_number(const char *text, unsigned long min, unsigned long max,
                         unsigned long *value)
{
    char *end;
    return number(text, min, max, value, &end) && *end == '\0';
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* "4096", "4K", "64M"; ends at `*end`. */
static bool take_size(const char *text, size_t *size, char **end)
{
    unsigned long value;
    if (!number(text, 1, BYTES_MAX, &value, end))
        return false;
    unsigned shift = **end == 'k' || **end == 'K' ? 10 : **end == 'm' || **end == 'M' ? 20 : 0;
    if (shift != 0)
        ++*end;
    if (value > (unsigned long)BYTES_MAX >> shift)
        return false;
    *size = value << shift;
    return true;
}

static bool add_size(struct options *options, size_t size)
{
    if (options->size_count == SIZES_MAX ||
        (options->size_count > 0 && size <= options->sizes[options->size_count - 1]))
        return false;
    options->sizes[options->size_count++] = size;
    return true;
}

static bool take_sizes(struct options *options, const char *text)
{
    char *at = (char *)(uintptr_t)text;
    options->size_count = 0;
    for (;; at++) {
        size_t first, last;
        if (!take_size(at, &first, &at))
            break;
        last = first;
        if (*at == '-' && !take_size(at + 1, &last, &at))
            break;
        if (last < first)
            break;
        size_t size = first;
        while (size <= last && add_size(options, size))
            size *= 2;
        if (size <= last)
            break;
        if (*at == '\0')
            return true;
        if (*at != ',')
            break;
    }
    return expected("sizes", "at most 32 sizes from 1 to 64M, ascending, such as 8,4K,1M or 1-64M",
                    text);
}

/* --- other values ------------------------------------------------------------------------------
 */

static bool take_only(struct options *options, const char *text)
{
    char list[LIST_BYTES], *rest = NULL;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list)
        return expected("only", "a shorter list", text);
    options->wanted = 0;
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        unsigned i = 0;
        while (i < GAUGES && strcmp(gauges[i]->name, word) != 0)
            i++;
        if (i == GAUGES)
            return expected("only", "operations that --help lists", word);
        options->wanted |= (uint64_t)1 << i;
    }
    return options->wanted != 0 || expected("only", "operations that --help lists", text);
}

static bool take_beside(struct options *options, const char *text)
{
    char list[LIST_BYTES], *rest = NULL;
    bool any = false;
    snprintf(list, sizeof list, "%s", text);
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        unsigned i = 0;
        while (i < BESIDES && strcmp(beside_names[i], word) != 0)
            i++;
        if (i == BESIDES)
            return expected("beside", "ucx, mpi or both", text);
        any = options->beside[i] = true;
    }
    return any || expected("beside", "ucx, mpi or both", text);
}

static bool take_pair(struct options *options, const char *text)
{
    unsigned long importer, exporter;
    char *end;
    if (!number(text, 1, NODE_MAX, &importer, &end) || *end != ',' ||
        !whole_number(end + 1, 1, NODE_MAX, &exporter))
        return expected("pair", "two node ids from 1 to 65535, such as 1,2", text);
    options->importer_node = (uint32_t)importer;
    options->exporter_node = (uint32_t)exporter;
    return true;
}

static bool take_devices(struct options *options, const char *text)
{
    const char *comma = strchr(text, ',');
    size_t first = comma != NULL ? (size_t)(comma - text) : strlen(text);
    const char *second = comma != NULL ? comma + 1 : text;
    if (first == 0 || first >= DEVICE_BYTES || *second == '\0' || strlen(second) >= DEVICE_BYTES ||
        (comma != NULL && strchr(second, ',') != NULL))
        return expected("limit-device", "one or two devices, such as rxe0,rxe1", text);
    snprintf(options->limit_device[0], DEVICE_BYTES, "%.*s", (int)first, text);
    snprintf(options->limit_device[1], DEVICE_BYTES, "%s", second);
    options->limit_devices_given = true;
    return true;
}

static bool take_controller(struct options *options, const char *text)
{
    if (*text == '\0' || strlen(text) >= sizeof options->controller)
        return expected("controller", "a name of 1 to 255 characters", text);
    strcpy(options->controller, text);
    return true;
}

static bool take_number(struct options *options, int code, const char *text)
{
    unsigned long value;
    switch (code) {
    case 'n':
        if (!whole_number(text, 1, NODE_MAX, &value))
            return expected("node", "a node id from 1 to 65535", text);
        options->server_node = (uint32_t)value;
        return true;
    case 'i':
        if (!whole_number(text, 1, IMPORTERS_MAX, &value))
            return expected("importers", "a number from 1 to 16", text);
        options->importers = (unsigned)value;
        return true;
    case OPTION_ADAPTER:
        if (!whole_number(text, 0, ADAPTER_MAX, &value))
            return expected("adapter", "a number from 0 to 255", text);
        options->adapter = (unsigned)value;
        return true;
    case 't':
        if (!whole_number(text, TIME_LEAST_MS, TIME_MAX_MS, &value))
            return expected("time", "milliseconds, 1 to 60000", text);
        options->time_ms = (unsigned)value;
        return true;
    case OPTION_TURNS:
        if (!whole_number(text, 1, TURNS_MAX, &value))
            return expected("turns", "a number from 1 to 15", text);
        options->turns = (unsigned)value;
        return true;
    default:
        if (!whole_number(text, 0x400000, 0x7fffffff, &value))
            return expected("id", "a segment id from 0x400000 to 0x7fffffff", text);
        options->id = (uint32_t)value;
        return true;
    }
}

static bool take_format(struct options *options, enum format format)
{
    if (options->format != FORMAT_TABLE && options->format != format) {
        complain("only one of --csv, --json and --wide");
        return false;
    }
    options->format = format;
    return true;
}

static bool take_api(struct options *options, const char *text)
{
    options->sisci = strcmp(text, "sisci") == 0;
    return options->sisci || strcmp(text, "rsm") == 0 || expected("api", "rsm or sisci", text);
}

static bool take(struct options *options, int code)
{
    switch (code) {
    case 'c':
        return take_controller(options, optarg);
    case 'd':
        return *optarg == '\0' ? expected("runtime-dir", "a directory", optarg)
                               : setenv("RSM_RUNTIME_DIR", optarg, 1) == 0;
    case 'o':
        return take_only(options, optarg);
    case 's':
        return take_sizes(options, optarg);
    case 'r':
        options->registered = true;
        return true;
    case OPTION_CSV:
        return take_format(options, FORMAT_CSV);
    case OPTION_API:
        return take_api(options, optarg);
    case OPTION_JSON:
        return take_format(options, FORMAT_JSON);
    case OPTION_WIDE:
        return take_format(options, FORMAT_WIDE_TABLE);
    case OPTION_PLOT:
        options->plot = optarg;
        return *optarg != '\0' || expected("plot", "a file", optarg);
    case OPTION_LIMIT_ARGS:
        options->limit_args = optarg;
        return true;
    case OPTION_LIMIT_DEVICE:
        return take_devices(options, optarg);
    case OPTION_BESIDE:
        return take_beside(options, optarg);
    case OPTION_PAIR:
        return take_pair(options, optarg);
    case OPTION_SERVE:
        options->role = ROLE_SERVE;
        return true;
    case 'i':
    case 'n':
    case 't':
    case OPTION_ADAPTER:
    case OPTION_ID:
    case OPTION_TURNS:
        return take_number(options, code, optarg);
    default:
        return false; /* getopt has said why */
    }
}

static enum options_result settle(struct options *options, int argc, char *argv[])
{
    if (optind < argc) {
        complain("expected an option, not '%s'", argv[optind]);
        return OPTIONS_WRONG;
    }
    bool serves = options->role == ROLE_SERVE, asks = options->server_node != 0;
    if (serves + asks + (options->exporter_node != 0) > 1) {
        complain("only one of --serve, --node and --pair");
        return OPTIONS_WRONG;
    }
    if (options->limit_args != NULL && !options->limit_devices_given) {
        complain("--limit-args is for --limit-device, which is missing");
        return OPTIONS_WRONG;
    }
    if ((options->beside[BESIDE_UCX] || options->beside[BESIDE_MPI]) &&
        (serves || asks || options->importers > 1)) {
        complain("--beside is for one importer and both sides on this host");
        return OPTIONS_WRONG;
    }
    for (unsigned i = 0; i < GAUGES; i++)
        if (gauges[i]->sisci != options->sisci)
            options->wanted &= ~((uint64_t)1 << i);
    if (options->wanted == 0) {
        complain("--only: none of these operations is of --api %s",
                 options->sisci ? "sisci" : "rsm");
        return OPTIONS_WRONG;
    }
    if (asks)
        options->role = ROLE_MEASURE;
    return OPTIONS_RUN;
}

enum options_result options_parse(int argc, char *argv[], struct options *options)
{
    *options = (struct options){.role = ROLE_BOTH,
                                .controller = "sci0",
                                .id = DEFAULT_ID,
                                .importers = 1,
                                .time_ms = TIME_DEFAULT_MS,
                                .turns = 1,
                                .wanted = UINT64_MAX};
    for (size_t size = 1; size <= BYTES_MAX; size *= 2)
        add_size(options, size);
    int code;
    while ((code = getopt_long(argc, argv, "c:d:hi:n:o:rs:t:", known, NULL)) != -1) {
        if (code == 'h') {
            print_help(stdout);
            return OPTIONS_SHOWN;
        }
        if (code == OPTION_VERSION) {
            puts("rsmperf (librsm) " RSM_RELEASE);
            return OPTIONS_SHOWN;
        }
        if (!take(options, code)) {
            fputs("rsmperf: --help lists the options\n", stderr);
            return OPTIONS_WRONG;
        }
    }
    return settle(options, argc, argv);
}
