/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The sides of a test, whichever API it is about: nodes, on one host or two, processes there, and
 * daemons. What does not go as it should fails the test.
 *
 * Peers are started before the test's own first call of the API.
 */
#ifndef TESTS_CONFORMANCE_SIDES_H
#define TESTS_CONFORMANCE_SIDES_H

#include "harness.h"
#include "suite.h"

/** Split a new world into two hosts, if there are to be two. */
void stage_split(struct world *world);
/** Be a process of that world, on no side yet. */
void stage_set(struct world *world);
/** Start what the test needs before its first line: the daemons, if there are two hosts. */
void stage_open(void);
/** End the daemons that the test started. */
void stage_clear(void);

/* The side, before the first call of the API. */
void act_as_exporter(void);
void act_as_importer(void);

/** A process of the exporter's or the importer's node. */
struct actor *exporter_start(void);
struct actor *importer_start(void);

bool two_machines(void);
bool two_hosts(void); /* ... on two hosts, with a daemon each */
bool one_node(void);  /* exporter and importer are on the same */

/** Daemons that serve every user, on all nodes of the test; applies to root only. Before everything
 *  else. */
void serve_all_users(void);
/** A node other than this one that a list may name. */
rsm_node_id_t node_other_than(rsm_node_id_t node);
/** A daemon of one node with this rsm.conf. */
void serve_configured(unsigned node, const char *configuration);
/** End a node's daemon and wait until nobody answers there. */
void node_end(unsigned node);

#endif
