/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The two sides of the dialogue. Each returns the program's exit status. */
#ifndef RSMTEST_PARTIES_H
#define RSMTEST_PARTIES_H

#include <stdbool.h>

#include "options.h"

/* Exit statuses. */
enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
};

/* How long a side waits for a signal, in milliseconds, before it looks at the mailbox anyway. It
 * bounds the time until a silent end of the peer is noticed. */
#define LOOK_AGAIN_MS 1000

int run_exporter(const struct options *options, rsmapi_controller_handle_t controller);
int run_importer(const struct options *options, rsmapi_controller_handle_t controller);

/** SIGINT or SIGTERM has come: tidy up and end. */
bool stop_requested(void);

#endif
