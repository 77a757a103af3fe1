/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const options_role_names[] = {
    [ROLE_CLIENT] = "client", [ROLE_NODE1] = "node1",     [ROLE_NODE2] = "node2",
    [ROLE_START] = "start",   [ROLE_STARTED] = "started", [ROLE_SIGNALS] = "signals",
};
enum { ROLES = sizeof options_role_names / sizeof options_role_names[0] };

struct options options = {.error = -1};

void options_usage(void)
{
    fputs("usage: faults [--role client|node1|node2|start|started|signals] [--kind KIND|GROUP]\n"
          "              [--part PART] [--error INDEX] [-n N] [--burst|--never]\n"
          "Run each part of the API with the n-th call of each kind failing, in the client unless\n"
          "another role is named; with --never, not returning if it can wait for somebody else. "
          "RSM_FAULTS_EACH says of which calls: place (default), of those\n"
          "from one place the first and the last; step, the same for each step of a part; call,\n"
          "all.\n",
          stderr);
}

static bool take_role(const char *name)
{
    for (int i = 0; i < ROLES; i++)
        if (strcmp(options_role_names[i], name) == 0) {
            options.role = (enum role)i;
            return true;
        }
    return false;
}

bool options_take(int argc, char **argv)
{
    static const struct option known[] = {
        {"role", required_argument, NULL, 'r'},
        {"kind", required_argument, NULL, 'k'},
        {"part", required_argument, NULL, 'p'},
        {"error", required_argument, NULL, 'e'},
        {"burst", no_argument, NULL, 'b'},
        {"never", no_argument, NULL, 'N'},
        {NULL, 0, NULL, 0},
    };
    const char *each = getenv("RSM_FAULTS_EACH");
    bool good = true;
    for (int code; good && (code = getopt_long(argc, argv, "n:", known, NULL)) != -1;) {
        switch (code) {
        case 'r':
            good = take_role(optarg);
            break;
        case 'k':
            options.group = optarg;
            break;
        case 'p':
            options.part = optarg;
            break;
        case 'e':
            options.error = atoi(optarg);
            break;
        case 'n':
            options.only = (unsigned)atoi(optarg);
            break;
        case 'b':
            options.burst = true;
            break;
        case 'N':
            options.never = true;
            break;
        default:
            good = false;
        }
    }
    if (each != NULL)
        options.each = strcmp(each, "call") == 0   ? CALLS
                       : strcmp(each, "step") == 0 ? STEPS
                                                   : PLACES;
    return good && optind == argc;
}
