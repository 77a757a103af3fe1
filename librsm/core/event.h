/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Event counters of segments. N posts satisfy N waits.
 *
 *  Each export and each import has one counter, in a page shared with the processes that may post
 *  to it. A post adds to the counter and wakes a sleeper by futex. If the owner has a poll
 *  descriptor, the post also requests rsmd to make that readable. Otherwise rsmd only passes the
 *  counters' descriptors on. All functions are thread-safe. */
#pragma once

#include <stdbool.h>

#include "base/exports.h"
#include "control/control.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_event;

/** Create the event object of handle @p id at @p end on @p control. It contacts rsmd at first
 *  use. */
enum rsm_status rsmcore_event_create(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_event **event);
void rsmcore_event_destroy(struct rsmcore_event *event);

/** Within how many milliseconds those who wait notice that the daemon has died. */
enum { RSMCORE_EVENT_LOOK_MS = 100 };

/** Whether anything can still come. RSM_ST_OK; the daemon that knows the segment has died:
 *  RSM_ST_STALE of an export, RSM_ST_ABORTED of an import. No system call. */
enum rsm_status rsmcore_event_state(const struct rsmcore_event *event);

/**
 * Consume one event, waiting up to @p timeout_ms milliseconds (0: not at all, negative: for ever).
 * @return RSM_ST_OK, RSM_ST_TIMEOUT, RSM_ST_INTERRUPTED (a signal handler ran, whether or not it
 *         was installed with SA_RESTART), RSM_ST_NO_RESOURCES; when there is no event, at once what
 *         rsmcore_event_state() says.
 */
enum rsm_status rsmcore_event_wait(struct rsmcore_event *event, int timeout_ms);

/**
 * Post to the peers of the handle: of an import the exporter, of an export every import that is
 * connected now. A peer that has gone is not an error: the event is lost.
 * @param coalesce  leave a counter alone that is not 0.
 * @return RSM_ST_OK; RSM_ST_UNREACHABLE: rsmd has died, or was needed and did not answer, and not
 *         all peers, if any, have the event; RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmcore_event_post(struct rsmcore_event *event, bool coalesce);

/** A descriptor that poll(2), select(2) and epoll(7) report readable (POLLIN | POLLRDNORM) while
 *  the counter is not 0. The same for every call; closed by rsmcore_event_destroy(). Reading it is
 *  not the way to consume events: rsmcore_event_wait() is. */
enum rsm_status rsmcore_event_descriptor(struct rsmcore_event *event, int *fd);

RSMCORE_EXPORTS_END
