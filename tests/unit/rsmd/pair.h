/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Two processes on different hosts, one of which has a segment: what most tests of hosts.h begin with. */
#ifndef TESTS_RSMD_PAIR_H
#define TESTS_RSMD_PAIR_H

#include "hosts.h"

/** Of node 1 and of node 2, and of one user. */
extern struct person exporter, importer;
/** By offer_page(). */
extern uint32_t export_id;

/** cmocka setup and teardown: hosts_begin() and pair_meet(), and their end. */
int pair_begin(void **state);
void pair_meet(void);
int pair_end(void **state);

#endif
