/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scitest: lines read by a client on one node are printed by a server on another one. The client
 * writes them into a segment of the server's and interrupts the server.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "scitest.h"

enum {
    LONG_VERSION = 256,
    DEFAULT_ID = 0x5c1,
    DEFAULT_SIZE = 4096,
    LARGEST_SIZE = 1 << 30,
    TIMEOUT_DEFAULT = 30,
    TIMEOUT_MAX = 86400,
};

static void print_usage(FILE *to)
{
    (void)fprintf(to,
                  "Usage: %s [-a adapter] [-k id] [-b bytes]\n"
                  "       %s -c [-n node] [-a adapter] [-k id] [-w seconds]\n"
                  "Passes lines of text from a client to a server by SISCI.\n\n"
                  "  -c          be the client: send each line of the input; else be the server\n"
                  "  -n node     the server's node id (default: this node)\n"
                  "  -a adapter  number of the adapter (default 0)\n"
                  "  -k id       of the segment and the server's interrupt (default %#x)\n"
                  "  -b bytes    size of the segment (default %d)\n"
                  "  -w seconds  client: how long to wait for the server (default %d)\n"
                  "  -h, --help, --version\n",
                  program_invocation_short_name, program_invocation_short_name, DEFAULT_ID,
                  DEFAULT_SIZE, TIMEOUT_DEFAULT);
}

static bool parse_number(int letter, const char *text, unsigned min, unsigned max, unsigned *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < min || value > max) {
        complain("-%c %s: a number from %u to %u is expected", letter, text, min, max);
        return false;
    }
    *number = (unsigned)value;
    return true;
}

/* False: the program ends with *status. */
static bool take_option(int letter, struct options *options, int *status)
{
    *status = STATUS_USAGE;
    switch (letter) {
    case 'c':
        options->client = true;
        return true;
    case 'n':
        return parse_number(letter, optarg, 1, 65535, &options->node);
    case 'a':
        return parse_number(letter, optarg, 0, 63, &options->adapter);
    case 'k':
        return parse_number(letter, optarg, 0, UINT32_MAX, &options->id);
    case 'b':
        return parse_number(letter, optarg, sizeof(struct mailbox) + 1, LARGEST_SIZE,
                            &options->size);
    case 'w':
        return parse_number(letter, optarg, 1, TIMEOUT_MAX, &options->timeout);
    case 'h':
        print_usage(stdout);
        *status = STATUS_DONE;
        return false;
    case LONG_VERSION:
        (void)printf("%s (librsm) %s\n", program_invocation_short_name, RSM_RELEASE);
        *status = STATUS_DONE;
        return false;
    default:
        print_usage(stderr);
        return false;
    }
}

static bool parse(int argc, char *argv[], struct options *options, int *status)
{
    static const struct option long_options[] = {
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, LONG_VERSION},
        {NULL, 0, NULL, 0},
    };
    int letter;
    while ((letter = getopt_long(argc, argv, "chn:a:k:b:w:", long_options, NULL)) != -1)
        if (!take_option(letter, options, status))
            return false;
    if (optind == argc)
        return true;
    complain("what is \"%s\"?", argv[optind]);
    *status = STATUS_USAGE;
    return false;
}

static int run(struct options *options)
{
    sci_desc_t desc = NULL;
    unsigned node = 0;
    if (!CALL(SCIOpen, &desc, 0))
        return STATUS_FAILED;
    int status = STATUS_FAILED;
    if (CALL(SCIGetLocalNodeId, options->adapter, &node, 0)) {
        (void)printf("local node id = %u\n", node);
        if (options->node == 0)
            options->node = node;
        status = options->client ? run_client(desc, options) : run_server(desc, options);
    }
    if (!CALL(SCIClose, desc, 0))
        status = STATUS_FAILED;
    return status;
}

int main(int argc, char *argv[])
{
    struct options options = {.id = DEFAULT_ID, .size = DEFAULT_SIZE, .timeout = TIMEOUT_DEFAULT};
    int status;
    if (!parse(argc, argv, &options, &status))
        return status;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!CALL(SCIInitialize, 0))
        return STATUS_FAILED;
    status = run(&options);
    SCITerminate();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output could not be written");
        status = STATUS_FAILED;
    }
    return status;
}
