/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "gauge.h"
#include "plain_tcp.h"
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
    OPTION_GROUP,
    OPTION_ID,
    OPTION_JSON,
    OPTION_LIMIT,
    OPTION_LIMIT_ARGS,
    OPTION_LIMIT_DEVICE,
    OPTION_MEMBER,
    OPTION_MEMBERS,
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
    {"group", no_argument, NULL, OPTION_GROUP},
    {"help", no_argument, NULL, 'h'},
    {"id", required_argument, NULL, OPTION_ID},
    {"importers", required_argument, NULL, 'i'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"limit-args", required_argument, NULL, OPTION_LIMIT_ARGS},
    {"limit-device", required_argument, NULL, OPTION_LIMIT_DEVICE},
    {"member", no_argument, NULL, OPTION_MEMBER},
    {"members", required_argument, NULL, OPTION_MEMBERS},
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
          "       rsmperf --member [OPTION]...   on some nodes, and\n"
          "       rsmperf --group [OPTION]...    on one more\n"
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
          "  --group                put to a group until every member has it\n"
          "  --id ID                segment id at which the server is asked, or the\n"
          "                         group's (default: 0x4f5246)\n"
          "  --json                 for programs: one line of JSON\n"
          "  --limit tcp[:ADDRESS]  compare with plain TCP, whose server listens there\n"
          "                         (default: 127.0.0.1)\n"
          "  --limit-args ARGS      further options for the programs of perftest\n"
          "  --limit-device A,B     compare with perftest: server on device A, client on B\n"
          "  --member               be a member of the group, until SIGINT or SIGTERM\n"
          "  --members LIST         with --group: start a member on each of these nodes of\n"
          "                         this host, and measure with 1, 2, 4 ... of them\n"
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

/* ------------------------------------------------------------------ sizes */

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

/* ------------------------------------------------------------------ other values */

static const char *gauge_name(unsigned i)
{
    return gauges[i]->name;
}

static const char *beside_name(unsigned i)
{
    return beside_names[i];
}

/* Names out of @p count, separated by commas, as bits. */
static bool take_names(const char *option, const char *what, const char *text,
                       const char *(*name)(unsigned i), unsigned count, uint64_t *bits)
{
    char list[LIST_BYTES], *rest = NULL;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list)
        return expected(option, "a shorter list", text);
    *bits = 0;
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        unsigned i = 0;
        while (i < count && strcmp(name(i), word) != 0)
            i++;
        if (i == count)
            return expected(option, what, word);
        *bits |= (uint64_t)1 << i;
    }
    return *bits != 0 || expected(option, what, text);
}

static bool take_only(struct options *options, const char *text)
{
    return take_names("only", "operations that --help lists", text, gauge_name, GAUGES,
                      &options->wanted);
}

static bool take_beside(struct options *options, const char *text)
{
    uint64_t bits;
    if (!take_names("beside", "ucx, mpi or both", text, beside_name, BESIDES, &bits))
        return false;
    for (unsigned i = 0; i < BESIDES; i++)
        options->beside[i] |= (bits >> i & 1) != 0;
    return true;
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

static bool take_members(struct options *options, const char *text)
{
    char *at = (char *)(uintptr_t)text;
    options->member_count = 0;
    for (;; at++) {
        unsigned long node;
        if (options->member_count == MEMBERS_MAX || !number(at, 1, NODE_MAX, &node, &at))
            break;
        options->members[options->member_count++] = (uint32_t)node;
        if (*at == '\0')
            return true;
        if (*at != ',')
            break;
    }
    return expected("members", "1 to 16 node ids from 1 to 65535, such as 1,2,3", text);
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

static bool take_limit(struct options *options, const char *text)
{
    struct in6_addr address;
    const char *at = strcmp(text, "tcp") == 0        ? "127.0.0.1"
                     : strncmp(text, "tcp:", 4) == 0 ? text + 4
                                                     : "";
    if (strlen(at) >= sizeof options->limit_address || !plain_address_read(at, &address))
        return expected("limit", "tcp, or tcp: and an address of the server's host", text);
    strcpy(options->limit_address, at);
    options->limit_tcp = true;
    return true;
}

static bool take_controller(struct options *options, const char *text)
{
    if (*text == '\0' || strlen(text) >= sizeof options->controller)
        return expected("controller", "a name of 1 to 255 characters", text);
    strcpy(options->controller, text);
    return true;
}

/* Options that are numbers, and members of struct options of 32 bits. */
static const struct {
    int code;
    const char *name;
    unsigned long min, max;
    const char *what;
    size_t offset;
} numbers[] = {
    {'i', "importers", 1, IMPORTERS_MAX, "a number from 1 to 16",
     offsetof(struct options, importers)},
    {'n', "node", 1, NODE_MAX, "a node id from 1 to 65535", offsetof(struct options, server_node)},
    {'t', "time", TIME_LEAST_MS, TIME_MAX_MS, "milliseconds, 1 to 60000",
     offsetof(struct options, time_ms)},
    {OPTION_ADAPTER, "adapter", 0, ADAPTER_MAX, "a number from 0 to 255",
     offsetof(struct options, adapter)},
    {OPTION_ID, "id", 0x400000, 0x7fffffff, "a segment id from 0x400000 to 0x7fffffff",
     offsetof(struct options, id)},
    {OPTION_TURNS, "turns", 1, TURNS_MAX, "a number from 1 to 15", offsetof(struct options, turns)},
};

static bool take_directory(struct options *options, const char *text)
{
    (void)options;
    return *text == '\0' ? expected("runtime-dir", "a directory", text)
                         : setenv("RSM_RUNTIME_DIR", text, 1) == 0;
}

static bool take_plot(struct options *options, const char *text)
{
    options->plot = text;
    return *text != '\0' || expected("plot", "a file", text);
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

/* Options whose values have a syntax of their own. */
static const struct {
    int code;
    bool (*take)(struct options *options, const char *text);
} values[] = {
    {'c', take_controller},
    {'d', take_directory},
    {'o', take_only},
    {'s', take_sizes},
    {OPTION_API, take_api},
    {OPTION_BESIDE, take_beside},
    {OPTION_LIMIT, take_limit},
    {OPTION_LIMIT_DEVICE, take_devices},
    {OPTION_PAIR, take_pair},
    {OPTION_PLOT, take_plot},
    {OPTION_MEMBERS, take_members},
};

static bool take_value(struct options *options, int code, const char *text)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].code == code)
            return values[i].take(options, text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned long number;
        if (numbers[i].code != code)
            continue;
        if (!whole_number(text, numbers[i].min, numbers[i].max, &number))
            return expected(numbers[i].name, numbers[i].what, text);
        memcpy((char *)options + numbers[i].offset, &(uint32_t){(uint32_t)number},
               sizeof(uint32_t));
        return true;
    }
    return false; /* getopt has said why */
}

static bool take(struct options *options, int code)
{
    switch (code) {
    case 'r':
        options->registered = true;
        return true;
    case OPTION_CSV:
        return take_format(options, FORMAT_CSV);
    case OPTION_JSON:
        return take_format(options, FORMAT_JSON);
    case OPTION_WIDE:
        return take_format(options, FORMAT_WIDE_TABLE);
    case OPTION_LIMIT_ARGS:
        options->limit_args = optarg;
        return true;
    case OPTION_SERVE:
        options->role = ROLE_SERVE;
        return true;
    case OPTION_GROUP:
        options->role = ROLE_GROUP;
        return true;
    case OPTION_MEMBER:
        options->role = ROLE_MEMBER;
        return true;
    default:
        return take_value(options, code, optarg);
    }
}

static void default_sizes(struct options *options, bool groups)
{
    static const size_t of_groups[] = {8, 64, 512, 4096, 65536};
    for (size_t i = 0; groups && i < sizeof of_groups / sizeof *of_groups; i++)
        add_size(options, of_groups[i]);
    for (size_t size = 1; !groups && size <= BYTES_MAX; size *= 2)
        add_size(options, size);
}

/* Groups have figures of their own, of which sizes, time and form of output can be chosen. */
static bool settle_group(struct options *options, bool groups)
{
    if (options->size_count == 0)
        default_sizes(options, groups);
    if (options->member_count > 0 && options->role != ROLE_GROUP) {
        complain("--members is for --group, which is missing");
        return false;
    }
    if (groups &&
        (options->server_node != 0 || options->exporter_node != 0 || options->importers > 1 ||
         options->turns > 1 || options->limit_tcp || options->limit_devices_given ||
         options->beside[BESIDE_UCX] || options->beside[BESIDE_MPI] || options->sisci ||
         options->registered || options->plot != NULL || options->wanted != UINT64_MAX)) {
        complain("--group and --member go only with -c, -d, -s, -t, --id, --members, --csv, --json "
                 "and --wide");
        return false;
    }
    return true;
}

static enum options_result settle(struct options *options, int argc, char *argv[])
{
    if (optind < argc) {
        complain("expected an option, not '%s'", argv[optind]);
        return OPTIONS_WRONG;
    }
    bool serves = options->role == ROLE_SERVE, asks = options->server_node != 0;
    bool groups = options->role == ROLE_GROUP || options->role == ROLE_MEMBER;
    if (!settle_group(options, groups))
        return OPTIONS_WRONG;
    if (serves + asks + (options->exporter_node != 0) > 1) {
        complain("only one of --serve, --node and --pair");
        return OPTIONS_WRONG;
    }
    if (options->limit_tcp && options->limit_devices_given) {
        complain("only one of --limit and --limit-device");
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
