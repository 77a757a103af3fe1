/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a forked child gets for a connection that it has inherited, if the transport does not say
 * RSM_CAP_FORK: RSM_ST_STALE from every operation. Such a connection has a table of these functions
 * in place of its transport's, which is that of its port. The transport is not called in the child,
 * not even to disconnect: what the two processes share is the parent's.
 */
#include "transport/generic.h"

#include <stdatomic.h>

#include "base/fork.h"

static atomic_uint process;

unsigned rsmcore_guard_process(void)
{
    return atomic_load_explicit(&process, memory_order_relaxed);
}

static void in_child(void)
{
    atomic_fetch_add(&process, 1);
}

RSMCORE_FORK_PART(part, RSMCORE_FORK_GUARDS, in_child);

static bool is_inherited(const struct rsm_conn *conn)
{
    return rsmcore_completions_process(conn->core) != rsmcore_guard_process();
}

/* The operation of the transport, or the one answer. */
#define PASS(conn, call)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(is_inherited(conn), 0))                                               \
            return RSM_ST_STALE;                                                                   \
        return (conn)->port->ops->call;                                                            \
    } while (0)

static void guard_disconnect(struct rsm_conn *conn)
{
    if (!is_inherited(conn))
        conn->port->ops->disconnect(conn);
}

static enum rsm_status guard_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    PASS(conn, put(conn, offset, src, length));
}

static enum rsm_status guard_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    PASS(conn, get(conn, offset, dst, length));
}

static enum rsm_status guard_get_snapshot(struct rsm_conn *conn, uint64_t offset, void *dst,
                                          size_t length, bool *snapshot)
{
    *snapshot = false;
    PASS(conn, get_snapshot(conn, offset, dst, length, snapshot));
}

static enum rsm_status guard_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                       unsigned width, size_t count)
{
    PASS(conn, put_elems(conn, offset, src, width, count));
}

static enum rsm_status guard_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                       unsigned width, size_t count)
{
    PASS(conn, get_elems(conn, offset, dst, width, count));
}

static enum rsm_status guard_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    *done = 0;
    PASS(conn, putv(conn, vec, count, done));
}

static enum rsm_status guard_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    *done = 0;
    PASS(conn, getv(conn, vec, count, done));
}

static enum rsm_status guard_put_complete(struct rsm_conn *conn, uint64_t offset, const void *src,
                                          size_t length)
{
    PASS(conn, put_complete(conn, offset, src, length));
}

static enum rsm_status guard_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                                 uint32_t rights, bool fixed, void **address)
{
    PASS(conn, map(conn, offset, length, rights, fixed, address));
}

static enum rsm_status guard_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    PASS(conn, unmap(conn, address, length));
}

static enum rsm_status guard_order(struct rsm_conn *conn)
{
    PASS(conn, order(conn));
}

static enum rsm_status guard_complete(struct rsm_conn *conn)
{
    PASS(conn, complete(conn));
}

static void guard_complete_begin(struct rsm_conn *conn)
{
    if (!is_inherited(conn))
        conn->port->ops->complete_begin(conn);
}

static void guard_acquire(struct rsm_conn *conn)
{
    if (!is_inherited(conn))
        conn->port->ops->acquire(conn);
}

static enum rsm_status guard_health(struct rsm_conn *conn)
{
    PASS(conn, health(conn));
}

static enum rsm_status guard_post(struct rsm_conn *conn, bool coalesce)
{
    PASS(conn, signals->post(conn, coalesce));
}

static int guard_fd(struct rsm_conn *conn)
{
    return is_inherited(conn) ? -1 : conn->port->ops->signals->fd(conn);
}

static enum rsm_status guard_arm(struct rsm_conn *conn)
{
    PASS(conn, signals->arm(conn));
}

static enum rsm_status guard_poll(struct rsm_conn *conn, struct rsm_signals *taken)
{
    *taken = (struct rsm_signals){.count = 0};
    PASS(conn, signals->poll(conn, taken));
}

static void guard_acknowledge(struct rsm_conn *conn)
{
    if (!is_inherited(conn))
        conn->port->ops->signals->acknowledge(conn);
}

static const struct rsm_signal_ops guard_signals = {
    .size = sizeof guard_signals,
    .post = guard_post,
    .fd = guard_fd,
    .arm = guard_arm,
    .poll = guard_poll,
    .acknowledge = guard_acknowledge,
};

static enum rsm_status guard_submit(struct rsm_conn *conn, const struct rsm_work *work)
{
    PASS(conn, completions->submit(conn, work));
}

static unsigned guard_poll_works(struct rsm_conn *conn, struct rsm_completion *taken, unsigned max)
{
    return is_inherited(conn) ? 0 : conn->port->ops->completions->poll(conn, taken, max);
}

static enum rsm_status guard_wait_for_works(struct rsm_conn *conn, int timeout_ms)
{
    PASS(conn, completions->wait(conn, timeout_ms));
}

static const struct rsm_completion_ops guard_completions = {
    .size = sizeof guard_completions,
    .submit = guard_submit,
    .poll = guard_poll_works,
    .wait = guard_wait_for_works,
};

void rsmcore_guard_make(const struct rsm_import_ops *full, struct rsm_import_ops *guarded)
{
    *guarded = *full; /* what is asked of ports stays */
    guarded->disconnect = guard_disconnect;
    guarded->put = guard_put;
    guarded->get = guard_get;
    guarded->put_elems = guard_put_elems;
    guarded->get_elems = guard_get_elems;
    guarded->putv = guard_putv;
    guarded->getv = guard_getv;
    if (full->put_complete != NULL)
        guarded->put_complete = guard_put_complete;
    guarded->map = guard_map;
    guarded->unmap = guard_unmap;
    guarded->order = guard_order;
    guarded->complete = guard_complete;
    if (full->complete_begin != NULL)
        guarded->complete_begin = guard_complete_begin;
    if (full->get_snapshot != NULL)
        guarded->get_snapshot = guard_get_snapshot;
    if (full->acquire != NULL)
        guarded->acquire = guard_acquire;
    guarded->health = guard_health;
    guarded->signals = &guard_signals;
    if (full->completions != &rsmcore_completion_ops)
        guarded->completions = &guard_completions;
}
