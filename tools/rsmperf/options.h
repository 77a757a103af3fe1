/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The command line of rsmperf. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IMPORTERS_MAX = 16,
    NODE_MAX = 65535,
    MEMBERS_MAX = 16, /* that one process starts */
    SIZES_MAX = 32,
    BYTES_MAX = 64 << 20, /* the largest transfer */
    TURNS_MAX = 15,
    NAME_BYTES = 256,
    DEVICE_BYTES = 64,
    ADAPTER_MAX = 255,
    DEFAULT_ID = 0x4f5246, /* of the segment at which a server is asked */
};

enum role {
    ROLE_BOTH,    /* exporter and importers on this host */
    ROLE_SERVE,   /* the remote side, for another rsmperf */
    ROLE_MEASURE, /* against a server */
    ROLE_GROUP,   /* a writer to a group */
    ROLE_MEMBER,  /* a member of a group, for another rsmperf */
};

enum format { FORMAT_TABLE, FORMAT_WIDE_TABLE, FORMAT_CSV, FORMAT_JSON };

/** With what else a pair is compared. */
enum beside { BESIDE_UCX, BESIDE_MPI, BESIDES };

struct options {
    enum role role;
    uint32_t server_node;          /**< ROLE_MEASURE */
    uint32_t importer_node;        /**< of --pair; 0: as the environment says */
    uint32_t exporter_node;        /**< of --pair; 0: as the environment says */
    uint32_t members[MEMBERS_MAX]; /**< ROLE_GROUP: nodes of this host, to start a member each */
    unsigned member_count;
    char controller[NAME_BYTES]; /**< as the library takes it */
    uint32_t id;                 /**< of the segment at which a server is asked */
    unsigned importers;          /**< at once */
    unsigned time_ms;            /**< for one figure and its limit */
    unsigned turns;              /**< that each figure and its limit are measured in */
    size_t sizes[SIZES_MAX];     /**< ascending */
    unsigned size_count;
    uint64_t wanted;  /**< bits: measures by their index */
    bool registered;  /**< the importers' memory, by a local memory handle */
    bool sisci;       /**< its operations are measured, and not those of RSMAPI */
    unsigned adapter; /**< of SISCI, in both processes */
    enum format format;
    const char *plot; /**< file for a picture, or NULL */
    bool beside[BESIDES];
    bool limit_devices_given;
    char limit_device[2][DEVICE_BYTES]; /**< of perftest's server and client */
    bool limit_tcp;                     /**< compare with a TCP connection */
    char limit_address[DEVICE_BYTES];   /**< at which its server listens */
    const char *limit_args;             /**< further options for perftest, or NULL */
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_SHOWN, /**< help or version, which is all that was wanted */
    OPTIONS_WRONG, /**< said why */
};

enum options_result options_parse(int argc, char *argv[], struct options *options);
