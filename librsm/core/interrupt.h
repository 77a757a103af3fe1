/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Named interrupts: events without a segment. A process creates one under a number of its
 *  node; processes of any node that reaches this one connect to it by node and number and trigger
 *  it. All but plain ones bring a message of up to RSM_INTERRUPT_DATA_MAX bytes each time
 *  (protocol/proto.h). Triggers without a waiting thread are kept: N triggers satisfy N waits.
 *
 *  All functions are thread-safe, but none may be running on an object that is removed or
 *  disconnected. */
#pragma once

#include <stddef.h>

#include "base/exports.h"
#include "core/controller.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_interrupt;
struct rsmcore_trigger;

/**
 * Create an interrupt of this node.
 * @param number  of all 32 bits; with RSM_INTERRUPT_ASSIGN_NUMBER it receives one that was free.
 * @param flags   RSM_INTERRUPT_*.
 * @param mode    permission bits for owner, group and others: processes with the right to write may
 *                trigger it.
 * @return RSM_ST_OK, RSM_ST_ID_IN_USE, RSM_ST_INVALID, RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY,
 *         RSM_ST_UNREACHABLE: no daemon; else what rsmcore_control_call() says.
 */
enum rsm_status rsmcore_interrupt_create(enum rsm_interrupt_kind kind, uint32_t *number,
                                         uint32_t flags, unsigned mode,
                                         struct rsmcore_interrupt **interrupt);

/** Remove it. Its number is free at once; later triggers fail with RSM_ST_NOT_FOUND. In a forked
 *  child only the child's copy of the handle is freed. */
void rsmcore_interrupt_remove(struct rsmcore_interrupt *interrupt);

/**
 * Take one trigger, waiting up to @p timeout_ms milliseconds for it (0: not at all, negative: for
 * ever).
 * @param data    receives the first *length bytes of the message; NULL with a length of 0.
 * @param length  receives how many these are. NULL, as data: of a plain interrupt.
 * @return RSM_ST_OK, RSM_ST_TIMEOUT, RSM_ST_INTERRUPTED: a signal handler ran; RSM_ST_STALE:
 *         cancelled, or the daemon has died; else what rsmcore_control_call() says, and the message
 * comes by a later call.
 */
enum rsm_status rsmcore_interrupt_wait(struct rsmcore_interrupt *interrupt, int timeout_ms,
                                       void *data, size_t *length);

/** Let all that wait, and all that will, return RSM_ST_STALE. */
void rsmcore_interrupt_cancel(struct rsmcore_interrupt *interrupt);

/** Give its number up: it is free at once, and later triggers fail with RSM_ST_NOT_FOUND. Messages
 *  that were not taken are lost. The handle stays until it is removed. */
void rsmcore_interrupt_withdraw(struct rsmcore_interrupt *interrupt);

/** Trigger it from the process that made it. A plain one. */
void rsmcore_interrupt_raise(struct rsmcore_interrupt *interrupt);

/** A descriptor that poll(2), select(2) and epoll(7) report readable while a trigger can be taken
 * or after a cancellation. The same at each call; closed by rsmcore_interrupt_remove(). */
enum rsm_status rsmcore_interrupt_descriptor(struct rsmcore_interrupt *interrupt, int *fd);

/** Its event counter, to sleep on (core/event_sleep.h). It is open. */
struct rsmcore_event *rsmcore_interrupt_event(const struct rsmcore_interrupt *interrupt);

/**
 * Find the interrupt of a node, the own one or another that @p controller reaches.
 * @return RSM_ST_OK, RSM_ST_NOT_FOUND, RSM_ST_DENIED, RSM_ST_INVALID, RSM_ST_UNREACHABLE,
 *         RSM_ST_NO_ROUTE, RSM_ST_NO_CONTROLLER, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmcore_interrupt_connect(struct rsmcore_controller *controller, uint32_t node,
                                          enum rsm_interrupt_kind kind, uint32_t number,
                                          struct rsmcore_trigger **trigger);
void rsmcore_interrupt_disconnect(struct rsmcore_trigger *trigger);

/**
 * Trigger it. A thread that takes the trigger sees what the caller stored before, and completed
 * over its connections.
 * @param length  bytes of the message, at most RSM_INTERRUPT_DATA_MAX; 0 of a plain interrupt.
 * @return RSM_ST_OK: it will be taken, unless it is removed; RSM_ST_NOT_FOUND: it has gone;
 *         RSM_ST_NO_RESOURCES: its queue is full; RSM_ST_RANGE: too long; RSM_ST_INVALID;
 *         RSM_ST_DENIED; RSM_ST_UNREACHABLE: its node is out of reach, or did not answer in time;
 *         in the latter case it may have been triggered.
 */
enum rsm_status rsmcore_interrupt_trigger(struct rsmcore_trigger *trigger, const void *data,
                                          size_t length);

/** Whether the daemon of @p node answers: the local node, or one that @p controller reaches.
 *  Returns RSM_ST_OK, or fails as rsmcore_interrupt_connect(). */
enum rsm_status rsmcore_node_probe(struct rsmcore_controller *controller, uint32_t node);

RSMCORE_EXPORTS_END
