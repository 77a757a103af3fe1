/* SPDX-License-Identifier: BSD-3-Clause */
/** @file An importing process, and what the process that started it says to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "report.h"
#include "samples.h"

/** Take one figure. */
struct importer_order {
    uint32_t gauge; /**< index */
    uint64_t bytes;
};

struct importer_reply {
    uint32_t node;              /**< the importer's; of the first reply */
    int error;                  /**< of RSMAPI, or an enum trouble */
    char failure[REPORT_BYTES]; /**< in words; empty: there is none */
};

/** In memory that both share. */
struct importer_results {
    struct samples ours, limit;
};

/** What an importing process needs. The results are read between its replies only. */
struct importer_task {
    const struct options *options;
    uint32_t server_node, server_id;
    int socket; /**< SOCK_SEQPACKET: a reply when it is there, then one for each order */
    struct importer_results *results;
};

/** Be an importer until the other end of the socket is closed. */
_Noreturn void importer_main(const struct importer_task *task);
