/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mailbox.h"
#include "report.h"

#define DEFAULT_SEGMENT_ID   0x400000
#define DEFAULT_SEGMENT_SIZE ((size_t)8192)
#define LARGEST_SEGMENT_SIZE ((size_t)1 << 30)
#define LARGEST_UNIT         999
#define LARGEST_NODE         65535

enum { LONG_VERSION = 256 };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, LONG_VERSION},
    {NULL, 0, NULL, 0},
};

/* What the option letters say before they are put together. */
struct given {
    const char *device;
    unsigned long unit;
    bool unit_set;
};

static void print_usage(FILE *to)
{
    (void)fprintf(to,
                  "Usage: %s [-e | -i] [-n node] [-d controller] [-u unit] [-k id] [-b bytes]\n"
                  "               [-l offset] [-c count] [-t test] [-CGOsv]\n"
                  "Passes lines of text from an importer to an exporter through shared memory.\n\n"
                  "  -e             export a segment and print what arrives in it (default)\n"
                  "  -i             import the segment and send what is typed\n"
                  "  -n node        the other side's node id (default: this node)\n"
                  "  -d controller  controller (default sci0)\n"
                  "  -u unit        the controller's unit number, in place of the one in -d\n"
                  "  -k id          segment id (default 0x400000)\n"
                  "  -b bytes       segment size, rounded up to whole pages (default 8192)\n"
                  "  -l offset      where in the segment the message lies (default 0)\n"
                  "  -c count       end after so many messages, 0: no limit (default 10)\n"
                  "  -t test        0: ask for messages (default), 1: importer makes them up\n"
                  "  -O             importer: put and get calls, no mapping\n"
                  "  -G             importer: as -O, each message as one gathered write\n"
                  "  -C             importer: read each message back and compare\n"
                  "  -s             importer: ask again only when the message was printed\n"
                  "  -v             say what is being done\n"
                  "  -h, --help, --version\n",
                  program_invocation_short_name);
}

static bool parse_number(char letter, const char *text, unsigned long max, unsigned long *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > max) {
        complain("-%c %s: a number from 0 to %lu is expected", letter, text, max);
        return false;
    }
    *number = value;
    return true;
}

static unsigned long largest_number(int letter)
{
    switch (letter) {
    case 't':
        return 1;
    case 'u':
        return LARGEST_UNIT;
    case 'n':
        return LARGEST_NODE;
    case 'b':
    case 'l':
        return LARGEST_SEGMENT_SIZE;
    case 'c':
        return ULONG_MAX;
    default:
        return UINT32_MAX;
    }
}

/* One option with a number. */
static bool take_number(int letter, const char *text, struct options *options, struct given *given)
{
    unsigned long number;
    if (!parse_number((char)letter, text, largest_number(letter), &number))
        return false;
    switch (letter) {
    case 'n':
        options->node = (rsm_node_id_t)number;
        options->node_given = number != 0;
        break;
    case 'k':
        options->segment_id = (rsm_memseg_id_t)number;
        break;
    case 'b':
        options->segment_size = number;
        break;
    case 'l':
        options->mailbox_offset = number;
        break;
    case 'c':
        options->count = number;
        break;
    case 't':
        options->made_up = number == 1;
        break;
    default:
        given->unit = number;
        given->unit_set = true;
        break;
    }
    return true;
}

static enum options_result take_letter(int letter, struct options *options, struct given *given)
{
    switch (letter) {
    case 'e':
        options->role = ROLE_EXPORTER;
        break;
    case 'i':
        options->role = ROLE_IMPORTER;
        break;
    case 'O':
        if (options->access == ACCESS_MAPPED)
            options->access = ACCESS_PUT;
        break;
    case 'G':
        options->access = ACCESS_GATHER;
        break;
    case 'C':
        options->check_back = true;
        break;
    case 's':
        options->synchronous = true;
        break;
    case 'v':
        options->verbose = true;
        break;
    case 'd':
        given->device = optarg;
        break;
    case 'h':
        print_usage(stdout);
        return OPTIONS_SHOWN;
    case LONG_VERSION:
        (void)printf("rsmtest (librsm) %s\n", RSM_RELEASE);
        return OPTIONS_SHOWN;
    case '?':
        print_usage(stderr);
        return OPTIONS_WRONG;
    default:
        return take_number(letter, optarg, options, given) ? OPTIONS_RUN : OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}

static bool name_controller(const struct given *given, struct options *options)
{
    size_t length = strlen(given->device);
    int written;
    if (given->unit_set) {
        while (length > 0 && strchr("0123456789", given->device[length - 1]) != NULL)
            length--;
        written = snprintf(options->controller, sizeof options->controller, "%.*s%lu", (int)length,
                           given->device, given->unit);
    } else {
        written = snprintf(options->controller, sizeof options->controller, "%s", given->device);
    }
    if (written <= 0 || (size_t)written >= sizeof options->controller) {
        complain("-d: a controller name has 1 to %zu characters", sizeof options->controller - 1);
        return false;
    }
    return true;
}

static bool settle_sizes(struct options *options)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    options->segment_size = (options->segment_size + page - 1) / page * page;
    if (options->mailbox_offset % 8 != 0) {
        complain("-l %zu: the offset must be a multiple of 8", options->mailbox_offset);
        return false;
    }
    if (options->mailbox_offset + MAILBOX_HEADER_SIZE >= options->segment_size) {
        complain("-l %zu: a segment of %zu bytes (-b) has no room for a message there",
                 options->mailbox_offset, options->segment_size);
        return false;
    }
    return true;
}

enum options_result options_parse(int argc, char *argv[], struct options *options)
{
    struct given given = {.device = "sci0"};
    *options = (struct options){
        .role = ROLE_EXPORTER,
        .segment_id = DEFAULT_SEGMENT_ID,
        .segment_size = DEFAULT_SEGMENT_SIZE,
        .count = 10,
    };
    int letter;
    while ((letter = getopt_long(argc, argv, "OCGehid:b:sl:n:k:t:c:u:v", long_options, NULL)) !=
           -1) {
        enum options_result result = take_letter(letter, options, &given);
        if (result != OPTIONS_RUN)
            return result;
    }
    if (optind < argc) {
        complain("%s: only options are expected", argv[optind]);
        print_usage(stderr);
        return OPTIONS_WRONG;
    }
    if (!name_controller(&given, options) || !settle_sizes(options))
        return OPTIONS_WRONG;
    return OPTIONS_RUN;
}
