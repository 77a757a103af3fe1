/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The command line. rsmd(8) is the reference. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rsmd_options {
    bool foreground;
    bool check;   /* only check the configuration */
    bool version; /* only print it */
    bool help;
    int take_over; /* only check whether state of this version can be taken over; 0: do not */
    bool embedded;
    bool all_users;  /* serve all users although root does not run the daemon */
    bool keep_state; /* at SIGTERM, keep the state in the service manager's store */
    bool to_syslog;
    const char *config;      /* NULL: not given */
    uint32_t node;           /* 0: not given */
    const char *runtime_dir; /* NULL: not given */
    int log_level;           /* -1: not given */
    int ready_fd;            /* -1: no starter waits */
    int linger_ms;
};

/** Parse. False: what is wrong has been printed to stderr. */
bool rsmd_options_parse(struct rsmd_options *options, int argc, char **argv);

void rsmd_options_help(void);
