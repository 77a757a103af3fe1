/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The command line of rsmtest. */
#ifndef RSMTEST_OPTIONS_H
#define RSMTEST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <rsm/rsmapi.h>

enum role { ROLE_EXPORTER, ROLE_IMPORTER };

/* How the importer reaches the segment. */
enum access_way {
    ACCESS_MAPPED, /* loads and stores through a mapping */
    ACCESS_PUT,    /* put and get calls, no mapping */
    ACCESS_GATHER, /* as ACCESS_PUT, the message as one gathered write */
};

struct options {
    enum role role;
    enum access_way access;
    bool check_back;  /* importer: read each message back and compare */
    bool synchronous; /* importer: ask for a message when the former one was printed */
    bool made_up;     /* importer: make messages up instead of reading them */
    bool verbose;
    rsm_node_id_t node; /* 0: the local one */
    bool node_given;
    rsm_node_id_t local_node; /* known when the controller is open */
    rsm_memseg_id_t segment_id;
    char controller[64];
    size_t segment_size;   /* bytes, whole pages */
    size_t mailbox_offset; /* bytes from the start of the segment, multiple of 8 */
    unsigned long count;   /* messages; 0: no limit */
};

enum options_result { OPTIONS_RUN, OPTIONS_SHOWN, OPTIONS_WRONG };

/** Read the command line. OPTIONS_SHOWN: help or version was printed, nothing else is wanted;
 *  OPTIONS_WRONG: the mistake was named on stderr. */
enum options_result options_parse(int argc, char *argv[], struct options *options);

#endif
