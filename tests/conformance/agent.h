/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A suite between two machines. The tests run on one of them; on the other one an agent of the same program
 * makes, for each test, a runtime directory, a daemon and the processes that the test asks for, and looks
 * after them to their end. A test's own process takes one side, so that the whole suite takes two runs, one
 * on each machine.
 *
 * The agent believes whoever connects: it is for a network of the tests alone.
 */
#ifndef TESTS_CONFORMANCE_AGENT_H
#define TESTS_CONFORMANCE_AGENT_H

#include "harness.h"

/** Be the agent of the machine with this address, until killed. */
int agent_serve(const char *address);

/** Begin and end a test: all that it has had over there has gone when agent_end() returns. False: that could
 *  not be, or something was left behind. */
bool agent_begin(void);
bool agent_end(bool failed);

/* What follows fails the test if it cannot be done. */

/** The daemon of the other machine. */
void agent_daemon_start(unsigned node);
void agent_daemon_end(unsigned node);
/** Wait until the daemon over there says that its link to this node is up. */
void agent_await_link(unsigned node, unsigned other);
/** A process over there. */
struct actor *agent_actor(struct world *world, unsigned node);

#endif
