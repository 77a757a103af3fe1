/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The command line. rsmd(8) is the reference. */
#ifndef RSMD_OPTIONS_H
#define RSMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct rsmd_options {
    bool foreground;
    bool check;   /* only look at the configuration */
    bool version; /* only print it */
    bool help;
    int take_over; /* only tell whether state of this version could be; 0: not asked */
    bool embedded;
    bool all_users;  /* serve them though root does not run the daemon */
    bool keep_state; /* at SIGTERM, in the service manager's store */
    bool to_syslog;
    const char *config;      /* NULL: not given */
    uint32_t node;           /* 0: not given */
    const char *runtime_dir; /* NULL: not given */
    int log_level;           /* -1: not given */
    int ready_fd;            /* -1: nobody waits */
    int linger_ms;
};

/** Parse. False: what is wrong has been printed to stderr. */
bool rsmd_options_parse(struct rsmd_options *options, int argc, char **argv);

void rsmd_options_help(void);

#endif
