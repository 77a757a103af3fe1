/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/runtime.h"

enum { INTERVAL_DEFAULT = 2, INTERVAL_MAX = 3600 };

/* A section's option has this and the section's bit. */
enum { OPTION_SECTION = 1 << 16 };

enum option_code {
    OPTION_COLOR = 256,
    OPTION_JSON,
    OPTION_PROMETHEUS,
    OPTION_WATCH,
    OPTION_WIDE,
    OPTION_BYTES,
    OPTION_HUMAN,
    OPTION_VERSION,
};

static const struct option known[] = {
    {"all-nodes", no_argument, NULL, 'a'},
    {"bytes", no_argument, NULL, OPTION_BYTES},
    {"color", optional_argument, NULL, OPTION_COLOR},
    {"controllers", no_argument, NULL, OPTION_SECTION | SECTION_CONTROLLERS},
    {"exports", no_argument, NULL, OPTION_SECTION | SECTION_EXPORTS},
    {"groups", no_argument, NULL, OPTION_SECTION | SECTION_GROUPS},
    {"help", no_argument, NULL, 'h'},
    {"human", no_argument, NULL, OPTION_HUMAN},
    {"imports", no_argument, NULL, OPTION_SECTION | SECTION_IMPORTS},
    {"interrupts", no_argument, NULL, OPTION_SECTION | SECTION_INTERRUPTS},
    {"json", no_argument, NULL, OPTION_JSON},
    {"links", no_argument, NULL, OPTION_SECTION | SECTION_LINKS},
    {"node", required_argument, NULL, 'n'},
    {"prometheus", no_argument, NULL, OPTION_PROMETHEUS},
    {"runtime-dir", required_argument, NULL, 'd'},
    {"shares", no_argument, NULL, OPTION_SECTION | SECTION_SHARES},
    {"topology", no_argument, NULL, OPTION_SECTION | SECTION_TOPOLOGY},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"watch", optional_argument, NULL, OPTION_WATCH},
    {"wide", no_argument, NULL, OPTION_WIDE},
    {NULL, 0, NULL, 0},
};

static void print_help(FILE *to)
{
    fputs("Usage: rsmstat [OPTION]...\n"
          "Shows what a node of remote shared memory (RSMAPI) has: controllers, other\n"
          "nodes, exported and imported segments. Users see their own and what is connected\n"
          "to it, root sees all.\n"
          "\n"
          "  -n, --node N           look at node N (default: RSM_NODE, else the system\n"
          "                         daemon's node, else 1)\n"
          "  -d, --runtime-dir DIR  where nodes have their sockets\n"
          "                         (default: RSM_RUNTIME_DIR)\n"
          "  -a, --all-nodes        look at all nodes in that directory\n"
          "  --controllers          show controllers; these eight: that part alone\n"
          "  --topology             show which nodes the controllers reach\n"
          "  --links                show the links to daemons of other hosts\n"
          "  --shares               show what users have and may have of the node's limits\n"
          "  --exports              show exported segments\n"
          "  --imports              show imported segments\n"
          "  --groups               show the groups that are written to, and their members\n"
          "  --interrupts           show named interrupts, which programs of SISCI have\n"
          "  --bytes                sizes in bytes, not in KiB (K), MiB (M) and so on\n"
          "  --human                the default: sizes with units\n"
          "  --json                 for programs: one line of JSON\n"
          "  --prometheus           for Prometheus's textfile collector: gauges\n"
          "  --color[=WHEN]         colors: always, never, or auto (on a terminal; default)\n"
          "  --watch[=SECONDS]      show it again and again (default: every 2 seconds)\n"
          "  --wide                 more columns than 80 characters hold\n"
          "  -h, --help             print this and exit\n"
          "  --version              print the version and exit\n",
          to);
}

static bool complain(const char *option, const char *expected, const char *value)
{
    fprintf(stderr, "rsmstat: --%s: expected %s, not '%s'\n", option, expected, value);
    return false;
}

static bool take_interval(struct options *options, const char *text)
{
    char *end;
    errno = 0;
    unsigned long seconds = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || seconds < 1 ||
        seconds > INTERVAL_MAX)
        return complain("watch", "seconds, 1 to 3600", text);
    options->interval = (unsigned)seconds;
    return true;
}

/* What others have agreed on: <https://no-color.org>, and a terminal that can show none. */
static bool wants_colors(void)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return (none == NULL || *none == '\0') && terminal != NULL && strcmp(terminal, "dumb") != 0 &&
           isatty(STDOUT_FILENO) == 1;
}

static bool take_colors(struct options *options, const char *when)
{
    if (when == NULL || strcmp(when, "always") == 0)
        options->colors = true;
    else if (strcmp(when, "never") == 0)
        options->colors = false;
    else if (strcmp(when, "auto") == 0)
        options->colors = wants_colors();
    else
        return complain("color", "always, never or auto", when);
    return true;
}

static bool take_value(struct options *options, int code)
{
    switch (code) {
    case 'n':
        options->node = optarg;
        return rsmcore_node_id_parse(optarg) != 0 ||
               complain("node", "a node id from 1 to 65535", optarg);
    case 'd':
        options->directory = optarg;
        return *optarg != '\0' || complain("runtime-dir", "a directory", optarg);
    case OPTION_COLOR:
        return take_colors(options, optarg);
    case OPTION_WATCH:
        options->interval = INTERVAL_DEFAULT;
        return optarg == NULL || take_interval(options, optarg);
    case 'a':
        options->all_nodes = true;
        return true;
    case OPTION_BYTES:
    case OPTION_HUMAN:
        options->human = code == OPTION_HUMAN;
        return true;
    case OPTION_JSON:
        options->json = true;
        return true;
    case OPTION_PROMETHEUS:
        options->prometheus = true;
        return true;
    case OPTION_WIDE:
        options->wide = true;
        return true;
    default:
        return false; /* getopt has said why */
    }
}

static bool take(struct options *options, int code)
{
    if (code < OPTION_SECTION)
        return take_value(options, code);
    options->sections |= (unsigned)code & SECTIONS_ALL;
    return true;
}

static enum options_result settle(struct options *options, int argc, char *argv[])
{
    if (optind < argc) {
        fprintf(stderr, "rsmstat: expected an option, not '%s'\n", argv[optind]);
        return OPTIONS_WRONG;
    }
    if (options->all_nodes && options->node != NULL) {
        fputs("rsmstat: either --node or --all-nodes\n", stderr);
        return OPTIONS_WRONG;
    }
    if (options->prometheus &&
        (options->json || options->interval != 0 || options->sections != 0)) {
        fputs("rsmstat: --prometheus shows all that it has, once: no --json, --watch or parts\n",
              stderr);
        return OPTIONS_WRONG;
    }
    if (options->sections == 0)
        options->sections = SECTIONS_ALL;
    return OPTIONS_RUN;
}

enum options_result options_parse(int argc, char *argv[], struct options *options)
{
    *options = (struct options){.colors = wants_colors(), .human = true};
    int code;
    while ((code = getopt_long(argc, argv, "ad:hn:", known, NULL)) != -1) {
        if (code == 'h') {
            print_help(stdout);
            return OPTIONS_SHOWN;
        }
        if (code == OPTION_VERSION) {
            puts("rsmstat (librsm) " RSM_RELEASE);
            return OPTIONS_SHOWN;
        }
        if (!take(options, code)) {
            fputs("rsmstat: --help lists the options\n", stderr);
            return OPTIONS_WRONG;
        }
    }
    return settle(options, argc, argv);
}
