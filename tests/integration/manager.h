/* SPDX-License-Identifier: BSD-3-Clause */
/** @file As much of a service manager as rsmd meets: its notification socket and its descriptor store. */
#ifndef MANAGER_H
#define MANAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct world;
struct manager;

/** One that keeps descriptors, or closes them at once as systemd does by default. Its socket is
 *  in the environment of whatever is started until manager_end(). */
struct manager *manager_start(bool keeps);
void manager_end(struct manager *manager);

/** From now on it reads nothing, or again. In force when this returns. */
void manager_stall(struct manager *manager, bool stalled);
/** It reads what it gets, and does not answer the next barrier. */
void manager_be_slow(struct manager *manager);
/** Wait until it has something to keep. */
void manager_await_kept(const struct manager *manager);

/** Start a daemon that keeps its state, with what the manager keeps, and wait until it listens. */
pid_t manager_start_daemon(struct manager *manager, struct world *world, unsigned node);
/** The service has stopped for good: nothing is kept any more. */
void manager_drop(struct manager *manager);
/** Whether there is anything. */
bool manager_has_kept(const struct manager *manager);

#endif
