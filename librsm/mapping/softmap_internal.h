/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A software-mapped connection: its space, its views, its thread, its place among others. */
#ifndef RSMCORE_SOFTMAP_INTERNAL_H
#define RSMCORE_SOFTMAP_INTERNAL_H

#include <pthread.h>

#include "mapping/barrier.h"
#include "core/softmap.h"

/** Addresses at which a program sees part of a segment. */
struct softmap_view {
    struct softmap_view *next;    /* of all views of the process; guarded by the list's lock */
    struct softmap_view *sibling; /* of the owner's; guarded by its space's lock */
    struct softmap *owner;
    uint8_t *address;
    uint32_t first, count; /* pages of the segment */
    uint32_t rights;       /* RSM_RIGHT_* that the view was asked for */
};

struct softmap_mechanism; /* mechanism.h */

/** A thread of the engine. */
struct softmap_thread {
    pthread_t id;
    void *stack; /* and below it a page that stops what outgrows it */
};

/** What wrap() makes. */
struct softmap {
    struct rsm_conn conn; /* first: this is a connection */
    struct softmap_space space;
    struct softmap_view *first;   /* newest view; guarded by the space's lock */
    int fd;                       /* of the copy */
    unsigned process;             /* softmap_process() of who made it */
    _Atomic unsigned views;       /* how many it has */
    _Atomic uint32_t users;       /* threads in the handler that may use it */
    pthread_mutex_t mapping;      /* serialises map and unmap */
    struct softmap_thread thread; /* runs while there are views */
    const struct softmap_mechanism *mechanism;
    int faultfd;                        /* of mechanisms that have one, else -1 */
    int pagemap;                        /* the same */
    bool kernel_faults;                 /* it works inside system calls too */
    int stop_fd;                        /* readable when fault_thread should end */
    struct softmap_thread fault_thread; /* of the mechanism that has one */
    _Atomic uint32_t work;              /* moves when the thread should look; a futex */
    atomic_bool asleep;                 /* it looks only if it is woken */
    _Atomic bool stopping;
};

/* ---- views.c */

/** Moves in a forked child: what the parent mapped is not there. */
unsigned softmap_process(void);
static inline bool softmap_is_foreign(const struct softmap *softmap)
{
    return softmap->process != softmap_process();
}
/** Register fork handlers, once. */
enum rsm_status softmap_watch_fork(void);

/** Add a view, which must be complete; the first one of its mechanism installs the signal
 *  handler. */
enum rsm_status softmap_view_add(struct softmap_view *view);
/** End the view at exactly this address: what was stored is sent, later stores to it are faults of
 *  the program. NULL if @p owner has none there.
 *  Threads that still are in the handler may use the owner. */
struct softmap_view *softmap_view_remove(struct softmap *owner, const void *address);
/** After views have ended, without any lock: remove the handler if no view is left that needs it. */
void softmap_views_tidy(void);
/** From the handler: the connection that shows memory at @p address, held until released. NULL if
 *  none does. */
struct softmap *softmap_view_owner(uintptr_t address);
/** The newest view of @p owner at @p address, or NULL. The space's lock is held. */
const struct softmap_view *softmap_view_at(const struct softmap *owner, uintptr_t address);
void softmap_view_release(struct softmap *owner);
/** Whether any view shows part of [address, address + length). */
bool softmap_view_overlaps(const void *address, size_t length);
/** struct softmap_space's protect. */
bool softmap_view_protect(struct softmap_space *space, uint32_t first, uint32_t count,
                          enum softmap_state state);

/* ---- trap.c */

/** Install the handler of SIGSEGV, and take it away. Callers are serialised. */
enum rsm_status softmap_trap_install(void);
void softmap_trap_remove(void);
/** The program may have installed a handler of its own since: be in front of it. */
void softmap_trap_renew(void);

/* ---- service.c */

/** Start a thread of the engine with @p softmap as its argument. It has all signals blocked. */
enum rsm_status softmap_thread_start(struct softmap *softmap, void *(*run_it)(void *),
                                     struct softmap_thread *thread);
/** Wait for its end, which has been ordered. */
void softmap_thread_join(struct softmap_thread *thread);
enum rsm_status softmap_service_start(struct softmap *softmap);
void softmap_service_stop(struct softmap *softmap);
/** struct softmap_space's woken. */
void softmap_service_wake(struct softmap_space *space);

/* ---- transfer.c: these of the wrapped connection's table */

enum rsm_status softmap_conn_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length);
enum rsm_status softmap_conn_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status softmap_conn_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                       unsigned width, size_t count);
enum rsm_status softmap_conn_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                       unsigned width, size_t count);
enum rsm_status softmap_conn_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done);
enum rsm_status softmap_conn_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done);

/* ---- module.c */

/** softmap_reread() all of that, without the lock in between. */
void softmap_reread_all(struct softmap *softmap, uint32_t first, uint32_t end);

static inline struct softmap *softmap_of(struct rsm_conn *conn)
{
    return (struct softmap *)conn;
}

/** Whether there may be pages to think of. */
static inline bool softmap_has_views(struct softmap *softmap)
{
    return atomic_load(&softmap->views) > 0 && !softmap_is_foreign(softmap);
}

static inline void softmap_enter(struct softmap *softmap, sigset_t *before)
{
    softmap_block(before);
    softmap_lock(&softmap->space.lock);
}

static inline void softmap_leave(struct softmap *softmap, const sigset_t *before)
{
    softmap_unlock(&softmap->space.lock);
    softmap_unblock(before);
}

static inline struct softmap *softmap_of_space(struct softmap_space *space)
{
    return (struct softmap *)(void *)((char *)space - offsetof(struct softmap, space));
}

#endif
