/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An importer and an exporter that move checked data in lockstep, in every way that crosses the
 * network: put, barrier, signal there, signal back, get. A round in which a byte or a signal is
 * lost does not end well.
 */
#ifndef TESTS_INTEGRATION_EXCHANGE_H
#define TESTS_INTEGRATION_EXCHANGE_H

#include "harness.h"

enum { EXCHANGE_BYTES = 32768 /* of the segment */ };

/** Shared by the test and its actors: made by exchange_set_up(). */
struct exchange {
    atomic_bool stop, served;  /* no more rounds; and none that waits for an answer */
    atomic_uint begun, done;   /* rounds of the importer */
    _Atomic int64_t failed_ms; /* when it got an error */
    char call[64];             /* from which call */
};
extern struct exchange *exchange;

/** Before any actor. */
void exchange_set_up(void);

/** Begin in both, which have the segment and the connection in slot 0. */
void exchange_begin(struct actor *exporter, struct actor *importer);
/** Wait for so many more rounds; they must come within @p timeout_ms. */
void exchange_await(unsigned rounds, int timeout_ms);
/** Stop. The importer's answer: RSM_SUCCESS, or the first error. */
int exchange_end(struct actor *exporter, struct actor *importer);
/** Wait until the importer has an error, and stop; how long it took since @p since_ms. */
int64_t exchange_await_error(struct actor *exporter, struct actor *importer, int64_t since_ms,
                             int *error);

#endif
