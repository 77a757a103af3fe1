/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The exporting side. */
#ifndef RSMPERF_SERVE_H
#define RSMPERF_SERVE_H

#include "options.h"
#include "report.h"

/** Where a server can be asked, or why not. */
struct serve_address {
    uint32_t node, id;
    char failure[REPORT_BYTES]; /**< empty: there is none */
};

/**
 * Serve importers until SIGTERM or SIGINT, or until stopped.
 * @param id     of the segment for requests; 0: the system chooses. @param ready called once, when
 *               requests are possible or on failure.
 * @return an exit status.
 */
int serve(const struct options *options, uint32_t id,
          void (*ready)(void *context, const struct serve_address *address), void *context);

/** The same, for people: `rsmperf --serve`. */
int serve_main(const struct options *options);

#endif
