/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection that a program uses in place of the transport's. */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "mapping/decode.h"
#include "mapping/memory.h"
#include "mapping/mechanism.h"
#include "mapping/vector.h"

enum { NS_PER_US = 1000 };

static struct rsm_conn *inner_of(struct rsm_conn *conn)
{
    return softmap_of(conn)->space.inner;
}

/* ---------------------------------------------------------------- order */

/* Whether there is anything that a barrier of the transport would not know. What other threads do
 * at this moment is not before it. */
static bool is_idle(struct softmap *softmap)
{
    return softmap_is_foreign(softmap) || (softmap_has_no_stores(&softmap->space) &&
                                           atomic_load(&softmap->space.pending) == RSM_ST_OK);
}

static enum rsm_status conn_order(struct rsm_conn *conn)
{
    struct softmap *softmap = softmap_of(conn);
    sigset_t before;
    if (is_idle(softmap)) {
        atomic_fetch_add(&softmap->space.epoch, 1);
        return softmap->space.inner->ops->order(softmap->space.inner);
    }
    softmap_enter(softmap, &before);
    enum rsm_status status = softmap_barrier_order(&softmap->space);
    softmap_leave(softmap, &before);
    return status;
}

static enum rsm_status conn_complete(struct rsm_conn *conn)
{
    struct softmap *softmap = softmap_of(conn);
    sigset_t before;
    if (is_idle(softmap)) {
        atomic_fetch_add(&softmap->space.epoch, 1);
        enum rsm_status status = softmap->space.inner->ops->complete(softmap->space.inner);
        if (status == RSM_ST_OK && !softmap_is_foreign(softmap) &&
            atomic_load(&softmap->space.asking) != 0) {
            softmap_enter(softmap, &before); /* then it has been remembered */
            softmap_leave(softmap, &before);
        }
        /* An error that a flush got meanwhile instead of this call. */
        enum rsm_status earlier =
            status == RSM_ST_OK ? softmap_take_error(&softmap->space) : RSM_ST_OK;
        return earlier != RSM_ST_OK ? earlier : status;
    }
    softmap_enter(softmap, &before);
    enum rsm_status status = softmap_barrier_complete(&softmap->space);
    softmap_leave(softmap, &before);
    return status;
}

/* The lock is given up in between, for it may be much. */
void softmap_reread_all(struct softmap *softmap, uint32_t first, uint32_t end)
{
    sigset_t before;
    while (softmap->space.mirror != NULL && first < end) {
        softmap_enter(softmap, &before);
        first = softmap_reread(&softmap->space, first, end);
        softmap_leave(softmap, &before);
    }
}

static void acquire(struct rsm_conn *conn)
{
    struct softmap *softmap = softmap_of(conn);
    sigset_t before;
    if (!softmap_has_views(softmap))
        return;
    if (softmap->mechanism->signals)
        softmap_trap_renew();
    if (softmap_has_no_stores(&softmap->space) && softmap_has_no_loads(&softmap->space))
        return;
    softmap_enter(softmap, &before);
    softmap_acquire(&softmap->space);
    softmap_leave(softmap, &before);
    softmap_reread_all(softmap, 0, softmap->space.page_count);
}

/* Complete, and leave an error to the next barrier. */
static enum rsm_status settle_all(struct softmap *softmap)
{
    sigset_t before;
    if (softmap_is_foreign(softmap))
        return RSM_ST_STALE;
    softmap_enter(softmap, &before);
    softmap_flush(&softmap->space);
    (void)softmap_settle(&softmap->space);
    enum rsm_status status = atomic_load(&softmap->space.pending);
    softmap_leave(softmap, &before);
    return status;
}

static enum rsm_status conn_signal(struct rsm_conn *conn, bool coalesce)
{
    /* Nobody is told of what has not arrived, and the next barrier says why. */
    enum rsm_status status = settle_all(softmap_of(conn));
    return status == RSM_ST_OK ? inner_of(conn)->ops->signals->post(inner_of(conn), coalesce)
                               : status;
}

static enum rsm_status conn_health(struct rsm_conn *conn)
{
    return inner_of(conn)->ops->health(inner_of(conn));
}

/* ---------------------------------------------------------------- mapping */

static void *place_view(const struct softmap *softmap, const struct softmap_view *view, bool fixed,
                        void *hint)
{
    size_t page = softmap->space.page_size;
    size_t length = (size_t)view->count * page;
    void *address =
        mmap(hint, length, PROT_NONE, MAP_SHARED | MAP_NORESERVE | (fixed ? MAP_FIXED : 0),
             softmap->fd, (off_t)(view->first * page));
    /* A child that touches it dies at once instead of storing into its parent's. */
    if (address != MAP_FAILED)
        (void)madvise(address, length, MADV_DONTFORK);
    return address == MAP_FAILED ? NULL : address;
}

/* What runs as long as there are views. */
static enum rsm_status start(struct softmap *softmap)
{
    enum rsm_status status = softmap_service_start(softmap);
    if (status == RSM_ST_OK && softmap->mechanism->start != NULL) {
        status = softmap->mechanism->start(softmap);
        if (status != RSM_ST_OK)
            softmap_service_stop(softmap);
    }
    return status;
}

static void stop(struct softmap *softmap)
{
    if (softmap->mechanism->stop != NULL)
        softmap->mechanism->stop(softmap);
    softmap_service_stop(softmap);
}

/* What a new view takes beside its addresses. Called with the mapping lock held. */
static enum rsm_status prepare_view(struct softmap *softmap, const struct softmap_view *view)
{
    sigset_t before;
    enum rsm_status status = atomic_load(&softmap->views) == 0 ? start(softmap) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        return status;
    /* Its pages begin inaccessible as the new view is, and see what was put before. */
    softmap_enter(softmap, &before);
    softmap_acquire(&softmap->space);
    (void)softmap_settle(&softmap->space);
    softmap_leave(softmap, &before);
    softmap_reread_all(softmap, view->first, view->first + view->count);
    return RSM_ST_OK;
}

/* Put the view where it is to be. What may fail without that has been done before: the program's
 * own memory, where a view is to replace that, is gone from here on. If this fails all the same,
 * nothing else shall come to lie there. */
static enum rsm_status show_view(struct softmap *softmap, struct softmap_view *view, bool fixed,
                                 void *address)
{
    size_t length = view->count * softmap->space.page_size;
    view->address = place_view(softmap, view, fixed, address);
    if (view->address == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status =
        softmap->mechanism->attach(softmap, view) ? softmap_view_add(view) : RSM_ST_NO_MEMORY;
    if (status != RSM_ST_OK &&
        (!fixed ||
         mmap(view->address, length, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED))
        munmap(view->address, length);
    return status;
}

static enum rsm_status add_view(struct softmap *softmap, struct softmap_view *view, bool fixed,
                                void *address)
{
    enum rsm_status status = prepare_view(softmap, view);
    if (status != RSM_ST_OK)
        return status;
    status = show_view(softmap, view, fixed, address);
    if (status != RSM_ST_OK && atomic_load(&softmap->views) == 0)
        stop(softmap);
    return status;
}

/* A mirror has to be able to read. */
static bool may_map(const struct softmap *softmap)
{
    if (softmap->space.options.mode != SOFTMAP_MIRROR || softmap->space.mirror != NULL)
        return true;
    rsm_log_error("no mapping with mode=mirror of a segment that may only be written, see "
                  "rsm_map(7)");
    return false;
}

static enum rsm_status conn_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                                uint32_t rights, bool fixed, void **address)
{
    struct softmap *softmap = softmap_of(conn);
    size_t page = softmap->space.page_size;
    if (softmap_is_foreign(softmap))
        return RSM_ST_STALE;
    if (offset % page != 0 || (fixed && (uintptr_t)*address % page != 0))
        return RSM_ST_ALIGNMENT;
    if (length == 0 || offset > softmap->space.size || length > softmap->space.size - offset)
        return RSM_ST_RANGE;
    if (fixed && *address == NULL)
        return RSM_ST_MAP_FAILED;
    if (!may_map(softmap))
        return RSM_ST_UNSUPPORTED;
    struct softmap_view *view = calloc(1, sizeof *view);
    if (view == NULL)
        return RSM_ST_NO_MEMORY;
    *view = (struct softmap_view){.owner = softmap,
                                  .first = softmap_page_of(&softmap->space, offset),
                                  .count = (uint32_t)((length + page - 1) / page),
                                  .rights = rights};
    pthread_mutex_lock(&softmap->mapping);
    enum rsm_status status = add_view(softmap, view, fixed, *address);
    pthread_mutex_unlock(&softmap->mapping);
    if (status == RSM_ST_OK)
        *address = view->address;
    else
        free(view);
    return status;
}

static void log_counters(const struct softmap *softmap, const struct softmap_counters *c)
{
    rsm_log_info("mapping by %s ended: traps=%" PRIu64 " loads=%" PRIu64 " emulated=%" PRIu64
                 " promotions=%" PRIu64 " flushes=%" PRIu64 " pages=%" PRIu64 " runs=%" PRIu64
                 " two-way=%" PRIu64 " refreshes=%" PRIu64,
                 softmap->mechanism->name, c->traps, c->loads, c->stores, c->promotions, c->flushes,
                 c->flushed_pages, c->runs, c->two_way_pages, c->refreshes);
}

/* No view is left: what was cached is not what the next one will see. */
static void close_space(struct softmap *softmap)
{
    sigset_t before;
    stop(softmap);
    softmap_enter(softmap, &before);
    softmap_forget(&softmap->space, 0, softmap->space.page_count);
    struct softmap_counters counters = softmap->space.counters;
    softmap->space.counters = (struct softmap_counters){.traps = 0};
    softmap_leave(softmap, &before);
    log_counters(softmap, &counters);
    softmap_memory_trim(&softmap->space);
}

static enum rsm_status conn_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    struct softmap *softmap = softmap_of(conn);
    (void)length;
    if (softmap_is_foreign(softmap))
        return RSM_ST_OK; /* the child never had it */
    pthread_mutex_lock(&softmap->mapping);
    struct softmap_view *view = softmap_view_remove(softmap, address);
    if (view == NULL) {
        pthread_mutex_unlock(&softmap->mapping);
        return RSM_ST_INVALID;
    }
    if (atomic_load(&softmap->views) == 0)
        close_space(softmap);
    softmap_views_tidy();
    pthread_mutex_unlock(&softmap->mapping);
    free(view);
    return RSM_ST_OK;
}

/* Signals of the exporter. Who waits for them sees to what the views show. */

static int conn_signal_fd(struct rsm_conn *conn)
{
    return inner_of(conn)->ops->signals->fd(inner_of(conn));
}

static enum rsm_status conn_arm_signals(struct rsm_conn *conn)
{
    return inner_of(conn)->ops->signals->arm(inner_of(conn));
}

static enum rsm_status conn_poll_signals(struct rsm_conn *conn, struct rsm_signals *taken)
{
    return inner_of(conn)->ops->signals->poll(inner_of(conn), taken);
}

static void conn_acknowledge_signals(struct rsm_conn *conn)
{
    inner_of(conn)->ops->signals->acknowledge(inner_of(conn));
}

static const struct rsm_signal_ops signal_ops = {
    .size = sizeof(struct rsm_signal_ops),
    .post = conn_signal,
    .fd = conn_signal_fd,
    .arm = conn_arm_signals,
    .poll = conn_poll_signals,
    .acknowledge = conn_acknowledge_signals,
};

/* ---------------------------------------------------------------- making and ending */

static uint64_t now(void)
{
    return (uint64_t)rsm_clock_ns() / NS_PER_US;
}

static void release(struct softmap *softmap, bool inherited)
{
    softmap_mechanism_end(softmap);
    softmap_memory_free(&softmap->space, softmap->fd, inherited);
    pthread_mutex_destroy(&softmap->mapping);
    free(softmap);
}

static void conn_disconnect(struct rsm_conn *conn)
{
    struct softmap *softmap = softmap_of(conn);
    struct rsm_conn *inner = softmap->space.inner;
    bool inherited = softmap_is_foreign(softmap);
    /* A thread may still be on its way out of the handler after a fault that came too late. */
    while (!inherited && atomic_load(&softmap->users) > 0)
        sched_yield();
    release(softmap, inherited);
    inner->ops->disconnect(inner);
}

/* What the core asks of the port goes to the transport's own table, so the port's operations are
 * not here; nor are completions, which the core makes out of put and get. */
static const struct rsm_import_ops conn_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = RSM_SOFTMAP_NAME,
    .disconnect = conn_disconnect,
    .put = softmap_conn_put,
    .get = softmap_conn_get,
    .put_elems = softmap_conn_put_elems,
    .get_elems = softmap_conn_get_elems,
    .putv = softmap_conn_putv,
    .getv = softmap_conn_getv,
    .map = conn_map,
    .unmap = conn_unmap,
    .order = conn_order,
    .complete = conn_complete,
    .health = conn_health,
    .signals = &signal_ops,
};

static enum rsm_status init_space(struct softmap *made, struct rsm_conn *inner, uint64_t size,
                                  uint32_t rights)
{
    struct softmap_space *space = &made->space;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (size == 0 || size / page >= SOFTMAP_NO_PAGE)
        return RSM_ST_RANGE;
    space->inner = inner;
    space->size = size;
    space->page_size = page;
    space->page_count = (uint32_t)((size + page - 1) / page);
    space->rights = rights;
    space->protect = softmap_view_protect;
    space->now = now;
    space->woken = softmap_service_wake;
    space->dirty_first = space->dirty_last = space->streak = SOFTMAP_NO_PAGE;
    return softmap_memory_make(space, &made->fd);
}

static bool may_wrap(const struct rsm_conn *inner, const struct softmap_options *options)
{
    const char *why = NULL;
    if (options->mode == SOFTMAP_OFF)
        why = "rsm.conf or RSM_MAP_MODE switches them off";
    else if ((inner->caps & RSM_CAP_FAULT_SAFE) == 0)
        why = "the transport does not say that it may be called from a signal handler";
    if (why != NULL)
        rsm_log_error("no software mapping: %s, see rsm_map(7)", why);
    return why == NULL;
}

static enum rsm_status wrap(struct rsm_conn *inner, uint64_t size, uint32_t rights,
                            const struct softmap_settings *configured, struct rsm_conn **wrapped)
{
    struct softmap_options options;
    enum rsm_status status = softmap_options_read(&options, configured);
    if (status == RSM_ST_OK)
        status = may_wrap(inner, &options) ? softmap_watch_fork() : RSM_ST_UNSUPPORTED;
    if (status != RSM_ST_OK)
        return status;
    struct softmap *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->fd = -1;
    made->process = softmap_process();
    pthread_mutex_init(&made->mapping, NULL);
    made->conn = (struct rsm_conn){.ops = &conn_ops,
                                   .port = inner->port,
                                   .caps = inner->caps | RSM_CAP_MAP,
                                   .core = inner->core};
    status = init_space(made, inner, size, rights);
    made->space.options = options;
    made->faultfd = made->pagemap = -1;
    if (status == RSM_ST_OK)
        status = softmap_mechanism_choose(made);
#if SOFTMAP_HAS_DECODER
    softmap_vector_init();
#endif
    if (status != RSM_ST_OK) {
        release(made, false);
        return status;
    }
    *wrapped = &made->conn;
    return RSM_ST_OK;
}

static struct softmap_choice choice(struct rsm_conn *conn)
{
    return softmap_mechanism_choice(softmap_of(conn));
}

__attribute__((visibility("default"))) const struct rsm_softmap_ops rsm_softmap_ops_v1 = {
    .abi_version = RSM_SOFTMAP_ABI,
    .size = sizeof(struct rsm_softmap_ops),
    .wrap = wrap,
    .acquire = acquire,
    .shows = softmap_view_overlaps,
    .choice = choice,
};
