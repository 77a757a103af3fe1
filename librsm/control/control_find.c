/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/control_find.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "protocol/runtime.h"
#include "control/spawn.h"

enum {
    START_PAUSE_MAX_MS = 1024,
    SILENT_STARTS_MAX = 11, /* with ever longer pauses that is two seconds */
    RETRY_PAUSE_MS = 5,
};

int rsmcore_control_local_max_ms = 10000;

static void pause_ms(int ms)
{
    const struct timespec pause = rsm_timespec(ms * RSM_NS_PER_MS);
    nanosleep(&pause, NULL);
}

/* A search for the local node's daemon. */
struct search {
    struct rsmcore_runtime runtime;
    char path[RSM_PROTO_PATH_MAX];
    int64_t deadline;
    int64_t next_start; /* ms; no daemon is started before that */
    int start_pause_ms;
    int silent_starts; /* in a row */
    bool awaited;      /* none runs, and this process may not start it */
};

static uint32_t time_left(const struct search *search)
{
    return (uint32_t)rsm_deadline_left_ms(search->deadline);
}

/* Start a daemon if the pause is over. RSM_ST_OK: it listened; RSM_ST_BUSY: try again later. */
static enum rsm_status start_daemon(struct search *search)
{
    if (rsm_clock_ms() < search->next_start)
        return RSM_ST_BUSY;
    enum rsm_status status = rsmcore_runtime_prepare(&search->runtime);
    if (status == RSM_ST_OK)
        status = rsmcore_daemon_start(&search->runtime, time_left(search));
    if (status == RSM_ST_OK) /* if it is gone again, another process has used it */
        search->start_pause_ms = 1;
    if (status != RSM_ST_STALE)
        search->silent_starts = 0;
    else if (++search->silent_starts < SILENT_STARTS_MAX)
        status = RSM_ST_BUSY; /* killed, or the program is no daemon */
    else
        rsmcore_daemon_is_silent();
    if (status == RSM_ST_BUSY) {
        search->next_start = rsm_clock_ms() + search->start_pause_ms;
        if (search->start_pause_ms < START_PAUSE_MAX_MS)
            search->start_pause_ms *= 2;
    }
    return status;
}

/* Whether this process may not start the node's daemon: the service manager, the administrator or
 * the process that started the last one does. */
static bool is_for_others(const struct search *search)
{
    return search->runtime.system ||
           rsmcore_runtime_is_configured(&search->runtime, search->runtime.node);
}

/* No process listens: start a daemon, or wait for the one that another process starts. */
static enum rsm_status provide_daemon(struct search *search)
{
    search->awaited = is_for_others(search);
    return search->awaited ? RSM_ST_BUSY : start_daemon(search);
}

/* Find or start the local node's daemon. A daemon that is ending accepts and hangs up, one that
 * lost the race to start leaves the socket to the winner, a crowded one has no room for another
 * connection: all mean another attempt. A daemon that accepts and does not answer may be busy; this
 * waits for it on the one connection. */
static enum rsm_status search_daemon(struct search *search, struct rsmcore_control **control)
{
    for (;;) {
        uint32_t left = time_left(search);
        if (left == 0)
            return RSM_ST_TIMEOUT;
        enum rsm_status status =
            rsmcore_control_make(search->path, search->runtime.node, left, control);
        if (status == RSM_ST_OK)
            return RSM_ST_OK;
        if (status == RSM_ST_NOT_FOUND) {
            status = provide_daemon(search);
            if (status == RSM_ST_OK)
                continue;
        } else if (status == RSM_ST_STALE) {
            status = RSM_ST_BUSY;
        }
        if (status != RSM_ST_BUSY)
            return status;
        pause_ms(RETRY_PAUSE_MS);
    }
}

static void log_failure(const struct search *search, enum rsm_status status)
{
    unsigned node = search->runtime.node;
    char lock[RSM_PROTO_PATH_MAX];
    rsmcore_runtime_lock(&search->runtime, node, lock);
    if (!search->awaited || status != RSM_ST_TIMEOUT)
        rsm_log_error("no daemon for node %u at %s: %s", node, search->path,
                      rsmcore_status_text(status));
    else if (rsmcore_runtime_is_configured(&search->runtime, node))
        rsm_log_error("the daemon configured for node %u is not running: nobody listens at %s; if "
                      "none is ever to run there again, remove %s",
                      node, search->path, lock);
    else
        rsm_log_error("the system's daemon of node %u is not running: nobody listens at %s", node,
                      search->path);
}

enum rsm_status rsmcore_control_find(struct rsmcore_control **control)
{
    struct search search = {.deadline = rsm_deadline(rsmcore_control_local_max_ms),
                            .start_pause_ms = 1};
    enum rsm_status status = rsmcore_runtime_find(&search.runtime);
    if (status != RSM_ST_OK)
        return status == RSM_ST_DENIED ? RSM_ST_UNREACHABLE : status;
    rsmcore_runtime_socket(&search.runtime, search.runtime.node, search.path);
    status = search_daemon(&search, control);
    if (status == RSM_ST_OK)
        return RSM_ST_OK;
    log_failure(&search, status);
    return status == RSM_ST_VERSION || status == RSM_ST_NO_RESOURCES ? status : RSM_ST_UNREACHABLE;
}
