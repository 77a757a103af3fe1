/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Handles, and the resources behind them.
 *
 *  A handle is a number that looks like a pointer: kind, slot of a table, and which use of the
 *  slot. It is never dereferenced. An invalid handle, or one of a resource that has gone, is
 *  detected by a look-up in the table, without a lock.
 *
 *  Resources form a tree. A descriptor owns what was made with it, a segment its maps, a map its
 *  sequences. Ending a resource ends all below it.
 *
 *  A function holds a resource while it uses it, and drops it before it returns. Ending a resource
 *  cancels the waits in it, and waits until no function holds it. A thread does not hold a resource
 *  while it runs a callback of the program.
 *
 *  Ending a resource waits for other threads that are ending its children. A callback does not
 *  wait, because these may be waiting for its return: it leaves the rest of the end to the last of
 *  them.
 *
 *  Locks: one for tree and table, in object.c, under which no other code is called. A resource may
 *  have a lock of its own for its state; core functions may be called under it where their headers
 *  do not say that they wait, callbacks of the program never. A thread takes the locks of two
 *  resources only in the order owner, child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

enum sisci_kind {
    SISCI_DESC = 1,
    SISCI_LOCAL_SEGMENT,
    SISCI_REMOTE_SEGMENT,
    SISCI_MAP,
    SISCI_SEQUENCE,
    SISCI_DMA_QUEUE,
    SISCI_BLOCK_TRANSFER,
    SISCI_LOCAL_INTERRUPT,
    SISCI_REMOTE_INTERRUPT,
    SISCI_LOCAL_DATA_INTERRUPT,
    SISCI_REMOTE_DATA_INTERRUPT,
};

struct sisci_object;

/** What can still be asked of a resource that has ended. */
struct sisci_remains {
    uint64_t size;
    unsigned id, node;
};

/** What resources of a kind have in common. */
struct sisci_type {
    enum sisci_kind kind;
    /** Make present and future waits in a resource return. No lock is held. NULL: there are no
     *  waits in it. */
    void (*cancel)(struct sisci_object *object);
    /** Release what it stands for; object.c frees the structure. It is not held and has no
     *  children, its handle is stale, and no lock is held. */
    void (*release)(struct sisci_object *object);
    /** Answer a subcommand of SCIQuery(). The caller holds it. SCI_ERR_ILLEGAL_QUERY: there is no
     *  such subcommand, or no answer. NULL: there is none at all. */
    sci_error_t (*query)(struct sisci_object *object, unsigned subcommand,
                         unsigned long long *answer);
    /** Describe it for programs that ask when it has ended. Called under the lock of the tree.
     *  NULL: there is nothing to ask. */
    void (*leave)(const struct sisci_object *object, struct sisci_remains *remains);
};

/** The first member of each resource, which is from malloc(3). Only object.c touches what is in
 *  it. */
struct sisci_object {
    const struct sisci_type *type;
    uintptr_t handle;
    struct sisci_object *owner;
    struct sisci_object *first;       /**< of those that it owns, the latest first */
    struct sisci_object *next, *prev; /**< among those of the owner */
    bool is_left;                     /**< the thread that ends its last child ends it, too */
};

/** How a resource is ended. */
enum sisci_end {
    SISCI_END_ALL,    /**< with everything below it */
    SISCI_END_UNUSED, /**< only if there is nothing below it */
};

/** Check what is the same in all functions: SCI_ERR_NOT_INITIALIZED, SCI_ERR_ILLEGAL_FLAG.
 *  @param known  the flags that the function has. */
sci_error_t sisci_check(unsigned flags, unsigned known);

/**
 * Give a resource a handle and an owner, which the caller holds (NULL: the library). The resource
 * is otherwise complete: other threads may use it from now on, and may end it with its owner. A
 * caller that needs it afterwards holds it by its handle.
 * @param[out] handle the handle; memory of the library's, not of the program's. Unchanged on error.
 * @return SCI_ERR_OK; SCI_ERR_API_NOSPC, SCI_ERR_NOSPC; SCI_ERR_ILLEGAL_PARAMETER: the owner is
 *         being ended. On error the resource is still the caller's alone.
 */
sci_error_t sisci_object_enter(struct sisci_object *object, const struct sisci_type *type,
                               struct sisci_object *owner, void **handle);

/** Hold the resource of a handle: the structure that goes with the kind. NULL: it is none of this
 *  kind. Takes no lock. */
void *sisci_hold(const void *handle, enum sisci_kind kind);

/**
 * The same, of a handle that a program passed, if nothing has been found wrong before: *error is
 * SCI_ERR_OK. If it is no handle of this kind, *error becomes SCI_ERR_ILLEGAL_PARAMETER.
 * @return NULL: *error says why; else the resource, of the structure that goes with the kind.
 */
void *sisci_need(const void *handle, enum sisci_kind kind, sci_error_t *error);

/** sisci_need() in a function that ends a resource. NULL and SCI_ERR_OK: SCITerminate() has ended
 *  it, which is no error. */
void *sisci_need_to_end(const void *handle, enum sisci_kind kind, sci_error_t *error);

/** What a resource left that had this handle; zeros: nothing, or a later resource in its place has
 *  left something. */
struct sisci_remains sisci_remains_of(const void *handle);

/** One more hold of a resource that the caller holds. */
void sisci_hold_again(struct sisci_object *object);

void sisci_drop(struct sisci_object *object);

/** The handle for programs, of a resource that the caller holds. */
static inline void *sisci_handle(const struct sisci_object *object)
{
    return (void *)
        object->handle; // NOLINT(performance-no-int-to-ptr): it is only printed and compared
}

/**
 * End a resource that the caller holds, and drop it in any case.
 * @return SCI_ERR_OK: it has gone, or, in a callback, goes as soon as other threads have ended what
 *         they end of it; SCI_ERR_BUSY: something is below it; SCI_ERR_ILLEGAL_PARAMETER: another
 *         thread ends it.
 */
sci_error_t sisci_end(struct sisci_object *object, enum sisci_end how);

/** What functions do that remove a resource: check flags and handle, and end it with everything
 *  below it. */
sci_error_t sisci_remove(const void *handle, enum sisci_kind kind, unsigned flags);

/** End all that there is: the library ends. */
void sisci_end_everything(void);

/** Begin and end of use, counted. sisci_library_end() returns whether it was the last. */
void sisci_library_begin(void);
bool sisci_library_end(void);
/** Whether it was used, and no more is. */
bool sisci_library_is_over(void);

/* wait.c: waits of the API, cancellation points that no signal ends */

/** One attempt: wait up to @p timeout_ms milliseconds, 0 or more, and take what has come. */
typedef enum rsm_status (*sisci_attempt)(void *argument, int timeout_ms);

/**
 * Wait until an attempt ends otherwise than by RSM_ST_TIMEOUT or RSM_ST_INTERRUPTED, or for
 * @p timeout milliseconds (SCI_INFINITE_TIMEOUT: for ever; 0: one attempt).
 *
 * A thread that is cancelled meanwhile (pthread_cancel(3)) ends within a tenth of a second, drops
 * @p held and takes nothing.
 */
enum rsm_status sisci_wait(struct sisci_object *held, unsigned timeout, sisci_attempt attempt,
                           void *argument);

/** How long a function tries to connect; begin by sisci_connect_limit(). */
struct sisci_connect_limit {
    int64_t end; /**< rsm_deadline(); INT64_MIN: it tries once */
    int pause_ms;
};

/** That of a function with these flags and this timeout in milliseconds: without
 *  RSM_SCI_FLAG_CONNECT_WAIT it tries once. */
struct sisci_connect_limit sisci_connect_limit(unsigned flags, unsigned timeout);

/**
 * Whether to try once more, after a pause, which is a cancellation point: the caller holds nothing.
 * @param error of the last attempt. SCI_ERR_NO_SUCH_SEGMENT becomes SCI_ERR_TIMEOUT when the time
 *              is over; other errors stay.
 */
bool sisci_connect_again(struct sisci_connect_limit *limit, sci_error_t *error);
