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
#include "mapping/space.h"
#include "mapping/mechanism.h"

static struct rsm_conn *inner_of(struct rsm_conn *conn)
{
    return mapping_of(conn)->space.inner;
}

/* Whether there is anything that a barrier of the transport would not know. What other threads do
 * at this moment is not before it. */
static bool is_idle(struct mapping *mapping)
{
    return mapping_is_foreign(mapping) || mapping_has_no_stores(&mapping->space);
}

/* order() and complete(): by the transport's own alone where there are no stores to send. */
static enum rsm_status barrier(struct mapping *mapping,
                               enum rsm_status (*transports)(struct rsm_conn *conn),
                               enum rsm_status (*with_stores)(struct mapping_space *space))
{
    struct mapping_mask before;
    if (is_idle(mapping)) {
        atomic_fetch_add(&mapping->space.epoch, 1);
        return transports(mapping->space.inner);
    }
    mapping_enter(mapping, &before);
    enum rsm_status status = with_stores(&mapping->space);
    mapping_leave(mapping, &before);
    return status;
}

static enum rsm_status conn_order(struct rsm_conn *conn)
{
    return barrier(mapping_of(conn), inner_of(conn)->ops->order, mapping_barrier_order);
}

static enum rsm_status conn_complete(struct rsm_conn *conn)
{
    return barrier(mapping_of(conn), inner_of(conn)->ops->complete, mapping_barrier_complete);
}

/* The lock is given up in between, for it may be much. */
void mapping_reread_all(struct mapping *mapping, uint32_t first, uint32_t end)
{
    struct mapping_mask before;
    while (mapping->space.mirror != NULL && first < end) {
        mapping_enter(mapping, &before);
        first = mapping_reread(&mapping->space, first, end);
        mapping_leave(mapping, &before);
    }
}

static void acquire(struct rsm_conn *conn)
{
    struct mapping *mapping = mapping_of(conn);
    struct mapping_mask before;
    if (!mapping_has_views(mapping))
        return;
    if (mapping->mechanism->signals)
        mapping_trap_renew();
    if (mapping_shows_nothing(&mapping->space))
        return;
    mapping_enter(mapping, &before);
    mapping_acquire(&mapping->space);
    mapping_leave(mapping, &before);
    mapping_reread_all(mapping, 0, mapping->space.page_count);
}

/* No signal is sent for data that has not arrived. Barriers report the cause. */
static enum rsm_status conn_signal(struct rsm_conn *conn, bool coalesce)
{
    struct mapping *mapping = mapping_of(conn);
    struct rsm_conn *inner = inner_of(conn);
    struct mapping_mask before;
    if (mapping_is_foreign(mapping))
        return RSM_ST_STALE;
    uint32_t failures = rsm_conn_failures(inner);
    mapping_enter(mapping, &before);
    mapping_flush(&mapping->space);
    mapping_settle(&mapping->space);
    mapping_leave(mapping, &before);
    return rsm_conn_failures(inner) == failures ? inner->ops->signals->post(inner, coalesce)
                                                : RSM_ST_TRANSFER;
}

static enum rsm_status conn_health(struct rsm_conn *conn)
{
    return inner_of(conn)->ops->health(inner_of(conn));
}

static void *place_view(const struct mapping *mapping, const struct mapping_view *view, bool fixed,
                        void *hint)
{
    size_t page = mapping->space.page_size;
    size_t length = (size_t)view->count * page;
    void *address =
        mmap(hint, length, PROT_NONE, MAP_SHARED | MAP_NORESERVE | (fixed ? MAP_FIXED : 0),
             mapping->fd, (off_t)(view->first * page));
    /* A child that touches it dies at once instead of storing into its parent's. */
    if (address != MAP_FAILED)
        (void)madvise(address, length, MADV_DONTFORK);
    return address == MAP_FAILED ? NULL : address;
}

/* What runs as long as there are views. */
static enum rsm_status start(struct mapping *mapping)
{
    enum rsm_status status = mapping_service_start(mapping);
    if (status == RSM_ST_OK && mapping->mechanism->start != NULL) {
        status = mapping->mechanism->start(mapping);
        if (status != RSM_ST_OK)
            mapping_service_stop(mapping);
    }
    return status;
}

static void stop(struct mapping *mapping)
{
    if (mapping->mechanism->stop != NULL)
        mapping->mechanism->stop(mapping);
    mapping_service_stop(mapping);
}

/* What a new view takes beside its addresses. Called with the mapping lock held. */
static enum rsm_status prepare_view(struct mapping *mapping, const struct mapping_view *view)
{
    struct mapping_mask before;
    enum rsm_status status = atomic_load(&mapping->views) == 0 ? start(mapping) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        return status;
    /* Its pages begin inaccessible as the new view is, and see what was put before. */
    mapping_enter(mapping, &before);
    mapping_acquire(&mapping->space);
    mapping_settle(&mapping->space);
    mapping_leave(mapping, &before);
    mapping_reread_all(mapping, view->first, view->first + view->count);
    return RSM_ST_OK;
}

/* Put the view where it is to be. What may fail without that has been done before: the program's
 * own memory, where a view is to replace that, is gone from here on. If this fails all the same,
 * nothing else shall come to lie there. */
static enum rsm_status show_view(struct mapping *mapping, struct mapping_view *view, bool fixed,
                                 void *address)
{
    size_t length = view->count * mapping->space.page_size;
    view->address = place_view(mapping, view, fixed, address);
    if (view->address == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status =
        mapping->mechanism->attach(mapping, view) ? mapping_view_add(view) : RSM_ST_NO_MEMORY;
    if (status != RSM_ST_OK &&
        (!fixed ||
         mmap(view->address, length, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED))
        munmap(view->address, length);
    return status;
}

static enum rsm_status add_view(struct mapping *mapping, struct mapping_view *view, bool fixed,
                                void *address)
{
    enum rsm_status status = prepare_view(mapping, view);
    if (status != RSM_ST_OK)
        return status;
    status = show_view(mapping, view, fixed, address);
    if (status != RSM_ST_OK && atomic_load(&mapping->views) == 0)
        stop(mapping);
    return status;
}

/* A mirror has to be able to read. */
static bool may_map(const struct mapping *mapping)
{
    if (mapping->space.options.mode != MAPPING_MIRROR || mapping->space.mirror != NULL)
        return true;
    rsm_log_error("no mapping with mode=mirror of a segment that may only be written, see "
                  "rsm_map(7)");
    return false;
}

static enum rsm_status conn_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                                uint32_t rights, bool fixed, void **address)
{
    struct mapping *mapping = mapping_of(conn);
    size_t page = mapping->space.page_size;
    if (mapping_is_foreign(mapping))
        return RSM_ST_STALE;
    if (offset % page != 0 || (fixed && (uintptr_t)*address % page != 0))
        return RSM_ST_ALIGNMENT;
    if (length == 0 || offset > mapping->space.size || length > mapping->space.size - offset)
        return RSM_ST_RANGE;
    if (fixed && *address == NULL)
        return RSM_ST_MAP_FAILED;
    if (!may_map(mapping))
        return RSM_ST_UNSUPPORTED;
    struct mapping_view *view = calloc(1, sizeof *view);
    if (view == NULL)
        return RSM_ST_NO_MEMORY;
    *view = (struct mapping_view){.owner = mapping,
                                  .first = mapping_page_of(&mapping->space, offset),
                                  .count = (uint32_t)((length + page - 1) / page),
                                  .rights = rights};
    pthread_mutex_lock(&mapping->map_lock);
    enum rsm_status status = add_view(mapping, view, fixed, *address);
    pthread_mutex_unlock(&mapping->map_lock);
    if (status == RSM_ST_OK)
        *address = view->address;
    else
        free(view);
    return status;
}

static struct mapping_counts counts(struct rsm_conn *conn)
{
    const struct mapping *mapping = mapping_of(conn);
    const struct mapping_let_through *count = &mapping->space.let_through;
    if (mapping_is_foreign(mapping))
        return (struct mapping_counts){.unknown = 0}; /* the parent reports its own */
    return (struct mapping_counts){.unknown = atomic_load(&count->unknown),
                                   .blocked = atomic_load(&count->blocked),
                                   .by_calls = atomic_load(&count->by_calls),
                                   .evicted = atomic_load(&mapping->space.evicted)};
}

static void log_counters(struct mapping *mapping, const struct mapping_counters *c)
{
    const struct mapping_counts other = counts(&mapping->conn);
    rsm_log_info("mapping by %s ended: traps=%" PRIu64 " loads=%" PRIu64 " emulated=%" PRIu64
                 " promotions=%" PRIu64 " flushes=%" PRIu64 " pages=%" PRIu64 " runs=%" PRIu64
                 " two-way=%" PRIu64 " refreshes=%" PRIu64 " unknown=%" PRIu64 " blocked=%" PRIu64
                 " by-calls=%" PRIu64 " evictions=%" PRIu64,
                 mapping->mechanism->name, c->traps, c->loads, c->stores, c->promotions, c->flushes,
                 c->flushed_pages, c->runs, c->two_way_pages, c->refreshes, other.unknown,
                 other.blocked, other.by_calls, other.evicted);
}

/* No view is left: what was cached is not what the next one will see. */
static void close_space(struct mapping *mapping)
{
    struct mapping_mask before;
    stop(mapping);
    mapping_enter(mapping, &before);
    mapping_forget(&mapping->space);
    struct mapping_counters counters = mapping->space.counters;
    mapping->space.counters = (struct mapping_counters){.traps = 0};
    mapping_leave(mapping, &before);
    log_counters(mapping, &counters);
    mapping_memory_trim(&mapping->space);
}

static enum rsm_status conn_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    struct mapping *mapping = mapping_of(conn);
    (void)length;
    if (mapping_is_foreign(mapping))
        return RSM_ST_OK; /* the child never had it */
    pthread_mutex_lock(&mapping->map_lock);
    struct mapping_view *view = mapping_view_remove(mapping, address);
    if (view == NULL) {
        pthread_mutex_unlock(&mapping->map_lock);
        return RSM_ST_INVALID;
    }
    if (atomic_load(&mapping->views) == 0)
        close_space(mapping);
    mapping_views_tidy();
    pthread_mutex_unlock(&mapping->map_lock);
    free(view);
    return RSM_ST_OK;
}

/* Signals of the exporter are taken from the transport's connection (core/event_listener.c). */
static const struct rsm_signal_ops signal_ops = {
    .size = sizeof(struct rsm_signal_ops),
    .post = conn_signal,
};

static uint64_t now(void)
{
    return (uint64_t)(rsm_clock_ns() / RSM_NS_PER_US);
}

static void release(struct mapping *mapping, bool inherited)
{
    mapping_mechanism_end(mapping);
    mapping_memory_free(&mapping->space, mapping->fd, inherited);
    pthread_mutex_destroy(&mapping->map_lock);
    free(mapping);
}

static void conn_disconnect(struct rsm_conn *conn)
{
    struct mapping *mapping = mapping_of(conn);
    struct rsm_conn *inner = mapping->space.inner;
    bool inherited = mapping_is_foreign(mapping);
    /* A thread may still be on its way out of the handler after a fault that came too late. */
    while (!inherited && atomic_load(&mapping->users) > 0)
        sched_yield();
    release(mapping, inherited);
    inner->ops->disconnect(inner);
}

/* What the core asks of the port goes to the transport's own table, so the port's operations are
 * not here; nor are completions, which the core makes out of put and get. */
static const struct rsm_import_ops conn_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = RSM_MAPPING_NAME,
    .disconnect = conn_disconnect,
    .put = mapping_conn_put,
    .get = mapping_conn_get,
    .put_elems = mapping_conn_put_elems,
    .get_elems = mapping_conn_get_elems,
    .putv = mapping_conn_putv,
    .getv = mapping_conn_getv,
    .map = conn_map,
    .unmap = conn_unmap,
    .order = conn_order,
    .complete = conn_complete,
    .health = conn_health,
    .signals = &signal_ops,
};

static enum rsm_status init_space(struct mapping *made, struct rsm_conn *inner, uint64_t size,
                                  uint32_t rights)
{
    struct mapping_space *space = &made->space;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (size == 0 || size / page >= MAPPING_NO_PAGE)
        return RSM_ST_RANGE;
    space->inner = inner;
    space->size = size;
    space->page_size = page;
    space->page_count = (uint32_t)((size + page - 1) / page);
    space->rights = rights;
    space->protect = mapping_view_protect;
    space->now = now;
    space->woken = mapping_service_wake;
    space->release_pages = mapping_memory_release_pages;
    space->release_entries = mapping_memory_release_entries;
    space->dirty_first = space->dirty_last = space->streak = MAPPING_NO_PAGE;
    space->latest = MAPPING_NO_PAGE;
    return mapping_memory_make(space, &made->fd);
}

static bool may_wrap(const struct rsm_conn *inner, const struct mapping_options *options)
{
    const char *why = NULL;
    if (options->mode == MAPPING_OFF)
        why = "rsm.conf or RSM_MAP_MODE switches them off";
    else if ((inner->caps & RSM_CAP_FAULT_SAFE) == 0)
        why = "the transport does not say that it may be called from a signal handler";
    if (why != NULL)
        rsm_log_error("no software mapping: %s, see rsm_map(7)", why);
    return why == NULL;
}

static enum rsm_status wrap(struct rsm_conn *inner, uint64_t size, uint32_t rights,
                            const struct mapping_settings *configured, struct rsm_conn **wrapped)
{
    struct mapping_options options;
    enum rsm_status status = mapping_options_read(&options, configured);
    if (status == RSM_ST_OK)
        status = may_wrap(inner, &options) ? RSM_ST_OK : RSM_ST_UNSUPPORTED;
    if (status != RSM_ST_OK)
        return status;
    struct mapping *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->fd = -1;
    made->process = mapping_process();
    pthread_mutex_init(&made->map_lock, NULL);
    made->conn = (struct rsm_conn){.ops = &conn_ops,
                                   .port = inner->port,
                                   .caps = inner->caps | RSM_CAP_MAP,
                                   .core = inner->core};
    status = init_space(made, inner, size, rights);
    made->space.options = options;
    made->faultfd = made->pagemap = -1;
    if (status == RSM_ST_OK)
        status = mapping_mechanism_choose(made);
    if (status == RSM_ST_OK && made->space.mirror == NULL)
        status = mapping_memory_bound(&made->space, options.cache_bytes);
#if MAPPING_HAS_DECODER
    mapping_vector_init();
#endif
    if (status != RSM_ST_OK) {
        release(made, false);
        return status;
    }
    *wrapped = &made->conn;
    return RSM_ST_OK;
}

static struct mapping_choice choice(struct rsm_conn *conn)
{
    return mapping_mechanism_choice(mapping_of(conn));
}

__attribute__((visibility("default"))) const struct rsm_mapping_ops rsm_mapping_ops_v1 = {
    .abi_version = RSM_MAPPING_ABI,
    .size = sizeof(struct rsm_mapping_ops),
    .wrap = wrap,
    .acquire = acquire,
    .shows = mapping_view_overlaps,
    .choice = choice,
    .counts = counts,
};
