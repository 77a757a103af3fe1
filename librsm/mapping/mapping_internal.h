/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A software-mapped connection: its space, its views, its thread, its place among others. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <ucontext.h>

#include "mapping/handover.h"
#include "mapping/space.h"
#include "core/mapping.h"

/** Addresses at which a program sees part of a segment. */
struct mapping_view {
    struct mapping_view *next;    /* of all views of the process; guarded by the list's lock */
    struct mapping_view *sibling; /* of the owner's; guarded by its space's lock */
    struct mapping *owner;
    uint8_t *address;
    uint32_t first, count; /* pages of the segment */
    uint32_t rights;       /* RSM_RIGHT_* that the view was asked for */
};

struct mapping_mechanism; /* mechanism.h */

/** A thread of the engine. */
struct mapping_thread {
    pthread_t id;
    void *stack; /* and below it a page that stops what outgrows it */
};

/** What wrap() makes. */
struct mapping {
    struct rsm_conn conn; /* first: this is a connection */
    struct mapping_space space;
    struct mapping_view *first;   /* newest view; guarded by the space's lock */
    int fd;                       /* of the copy */
    unsigned process;             /* mapping_process() of its maker */
    _Atomic unsigned views;       /* how many it has */
    _Atomic uint32_t users;       /* threads in the handler that may use it */
    pthread_mutex_t map_lock;     /* serialises map and unmap */
    struct mapping_thread thread; /* runs while there are views */
    const struct mapping_mechanism *mechanism;
    int faultfd;                        /* of mechanisms that have one, else -1 */
    int pagemap;                        /* the same */
    bool kernel_faults;                 /* it works inside system calls too */
    bool hands_over;                    /* threads carry out their stores to its views */
    struct mapping_hands hands;         /* of fault_thread */
    int stop_fd;                        /* readable when fault_thread should end */
    struct mapping_thread fault_thread; /* of the mechanism that has one */
    _Atomic uint32_t work;              /* moves when the thread should look; a futex */
    atomic_bool asleep;                 /* it looks only if it is woken */
    _Atomic bool stopping;
};

/* ---- views.c */

/** Moves in a forked child: what the parent mapped is not there. */
unsigned mapping_process(void);
static inline bool mapping_is_foreign(const struct mapping *mapping)
{
    return mapping->process != mapping_process();
}

/** Add a view, which must be complete; the first one of its mechanism installs the signal
 *  handler. */
enum rsm_status mapping_view_add(struct mapping_view *view);
/** End the view at exactly this address: what was stored is sent, later stores to it are faults of
 *  the program. NULL if @p owner has none there.
 *  Threads that still are in the handler may use the owner. */
struct mapping_view *mapping_view_remove(struct mapping *owner, const void *address);
/** After views have ended, without any lock: remove the handler if no view is left that needs
 *  it. */
void mapping_views_tidy(void);
/** From the handler: the connection that shows memory at @p address, held until released. NULL if
 *  none does. */
struct mapping *mapping_view_owner(uintptr_t address);
/** The newest view of @p owner at @p address, or NULL. The space's lock is held. */
const struct mapping_view *mapping_view_at(const struct mapping *owner, uintptr_t address);
void mapping_view_release(struct mapping *owner);
/** From the handler: whether any view shows part of [address, address + length). */
bool mapping_view_shows(uintptr_t address, size_t length);
/** Whether any view shows part of [address, address + length). */
bool mapping_view_overlaps(const void *address, size_t length);
/** struct mapping_space's protect. */
bool mapping_view_protect(struct mapping_space *space, uint32_t first, uint32_t count,
                          enum mapping_state state);

/* ---- trap.c */

/** Install the handler of SIGSEGV, and take it away. Callers are serialised. */
enum rsm_status mapping_trap_install(void);
void mapping_trap_remove(void);
/** The program may have installed a handler of its own since: be in front of it. */
void mapping_trap_renew(void);

/** From another signal's handler: the thread is about to store to a page of a view that is not RW;
 *  @p address is where. The store is carried out or let through, whatever instruction it is, if the
 *  thread still is at the one whose address ends in @p pc; that it knows, at any. False: nothing
 *  has been done, and the thread tries again. */
bool mapping_trap_store(uintptr_t address, uint32_t pc, ucontext_t *context);

/* ---- service.c */

/** Start a thread of the engine with @p mapping as its argument. It has all signals blocked. */
enum rsm_status mapping_thread_start(struct mapping *mapping, void *(*run_it)(void *),
                                     struct mapping_thread *thread);
/** Wait for its end, which has been ordered. */
void mapping_thread_join(struct mapping_thread *thread);
enum rsm_status mapping_service_start(struct mapping *mapping);
void mapping_service_stop(struct mapping *mapping);
/** struct mapping_space's woken. */
void mapping_service_wake(struct mapping_space *space);

/* ---- transfer.c: these of the wrapped connection's table */

enum rsm_status mapping_conn_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length);
enum rsm_status mapping_conn_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status mapping_conn_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                       unsigned width, size_t count);
enum rsm_status mapping_conn_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                       unsigned width, size_t count);
enum rsm_status mapping_conn_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done);
enum rsm_status mapping_conn_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done);

/* ---- module.c */

/** mapping_reread() all of that, without the lock in between. */
void mapping_reread_all(struct mapping *mapping, uint32_t first, uint32_t end);

static inline struct mapping *mapping_of(struct rsm_conn *conn)
{
    return (struct mapping *)conn;
}

/** Whether there may be pages to think of. */
static inline bool mapping_has_views(struct mapping *mapping)
{
    return atomic_load(&mapping->views) > 0 && !mapping_is_foreign(mapping);
}

static inline void mapping_enter(struct mapping *mapping, struct mapping_mask *before)
{
    mapping_block(before);
    mapping_lock(&mapping->space.lock);
}

static inline void mapping_leave(struct mapping *mapping, const struct mapping_mask *before)
{
    mapping_unlock(&mapping->space.lock);
    mapping_unblock(before);
}

static inline struct mapping *mapping_of_space(struct mapping_space *space)
{
    return (struct mapping *)(void *)((char *)space - offsetof(struct mapping, space));
}

/* ---- atomics.c */

/** From the handler, before a store that cannot be decoded is let through: true if it is refused
 *  instead, and SIGBUS at @p address is what the program gets when the handler returns. */
bool mapping_atomics_refuse(const struct mapping_options *options, ucontext_t *context,
                            uintptr_t address);

/** Log once in the life of the process that a thread which blocks signals has stored; not from a
 *  handler. */
void mapping_report_blocked(void);

/** Log the first that was let through, once in the life of the process; not from a handler. */
void mapping_atomics_report(void);
