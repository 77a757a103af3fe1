/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two hosts on one machine: nodes with a runtime directory of their own each, which therefore do
 * not find each other's sockets, and rsmds that are linked by TCP on loopback addresses. Data goes
 * over whatever transport their configuration names.
 *
 * In a test that networks.sh runs each host has a network of its own, instead of loopback addresses.
 *
 * The daemons are started and ended by the test; they do not end by themselves.
 */
#ifndef TESTS_INTEGRATION_HOSTS_H
#define TESTS_INTEGRATION_HOSTS_H

#include "harness.h"

/** A host: its node, and what its rsm.conf says beside the nodes (controllers, limits). */
struct host {
    unsigned node;
    const char *configuration;
};

/** Split the world into two hosts. Before any actor is started. Nothing runs yet. */
void hosts_split(struct world *world, const struct host hosts[2]);
/** The same of two machines with these addresses, of which this is one. They trust MUNGE, unless the addresses
 *  are loopback ones. */
void hosts_split_machines(struct world *world, const struct host hosts[2],
                          const char *const addresses[2]);

/** The address of the first or second host of a split world, with a buffer of its own for each. */
const char *host_address(unsigned index);

/** Enter the network of a node's host, for this thread and those that it starts. Of tests whose own process uses the
 *  library. */
void host_enter(const struct world *world, unsigned node);
/** The same in a child that is to be a process of the node: it has no way back. */
void host_become(const struct world *world, unsigned node);

/** Start the daemon of a node and wait until it listens. End it by world_daemon_end(), or let the
 *  harness find it killed. */
pid_t host_start(struct world *world, unsigned node);

/** Start both daemons, in the order of the hosts, and wait until the link is up. */
void hosts_start(struct world *world, pid_t daemons[2]);
/** End those that have not been ended, which are not 0, stopped or not; and make them 0. */
void hosts_end(pid_t daemons[2]);

/** Wait until the daemon of @p node says that its link to @p other is up, or is not. */
void host_await_link(const struct world *world, unsigned node, unsigned other, bool up);

/** Wait until all controllers of @p node that have @p other among their remote ends reach it: a fabric may come up
 *  later than the link. */
void host_await_reach(const struct world *world, unsigned node, unsigned other);

/** One request to a node's daemon, as a client of that node; it must succeed. */
struct rsm_msg;
void host_ask(const struct world *world, unsigned node, struct rsm_msg *msg);

/** Wait until the daemon of a node has so many exports and imports together. */
void host_await_segments(const struct world *world, unsigned node, unsigned count);

/** Remove what hosts_split() has made. False with a message: there was more. For
 *  world_teardown(). */
bool hosts_remove(const struct world *world);

#endif
