/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the tests of a group share: a daemon of node 1 and, for some, a client that exports. */
#ifndef TESTS_RSMD_FIXTURE_H
#define TESTS_RSMD_FIXTURE_H

#include "peer.h"

extern struct daemon daemon_1;
extern uint64_t page; /* size in bytes */
extern int socket_1;  /* of the exporter */

/** For cmocka: a configured daemon. */
int daemon_setup(void **state);
int daemon_teardown(void **state);
/** The same: an embedded daemon, and socket_1 connected to it. */
int exporter_setup(void **state);
int exporter_teardown(void **state);

#endif
