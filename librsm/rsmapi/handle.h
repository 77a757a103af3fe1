/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The structures behind RSMAPI's opaque handles.
 *
 *  Every handle starts with a tag of its kind. So a handle of another kind is refused, and
 *  functions that take either kind of segment can distinguish them. The tag is cleared before a
 *  handle is freed; using a freed handle is undefined all the same. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/controller.h"
#include "core/event.h"
#include "core/export.h"
#include "core/import.h"
#include "rsm/rsmapi.h"
#include "rsm/transport.h"

enum {
    RSMAPI_TAG_CONTROLLER = 0x4c52544e,
    RSMAPI_TAG_EXPORT = 0x54505845,
    RSMAPI_TAG_IMPORT = 0x54504d49,
    RSMAPI_TAG_LOCAL_MEMORY = 0x4d454d4c,
};

/** An open controller: one per controller and process, in the list of controller.c. */
struct __rsmapi_controller_handle {
    uint32_t tag;
    unsigned references; /* opens not yet released; 0: no longer in the list */
    unsigned holders;    /* local memory handles that keep the core's controller alive */
    struct rsmcore_controller *core;
    struct __rsmapi_controller_handle *next;
    unsigned unit;
    char type[MAXNAMELEN];
};

/** What exports and imports have in common; the first member of both. */
struct rsmapi_segment {
    uint32_t tag;
    unsigned pollfd_references; /* guarded by lock */
    struct rsmcore_event *event;
    /* Guards pollfd references and the mapping of an import. Not held over requests to rsmd: a
     * child that is forked meanwhile could not even destroy its copy of the handle. */
    pthread_mutex_t lock;
    /* In the table of poll descriptors while pollfd_references is not 0; guarded by its lock. */
    int pollfd;
    struct rsmapi_segment *next_pollfd;
};

struct __rsm_memseg_export_handle {
    struct rsmapi_segment segment;
    struct rsmcore_export *core;
    bool loopback;
    bool rebind_allowed;
    bool unpublishing; /* by a thread that waits for rsmd; guarded by the segment's lock */
};

/** A connection. What put and get read is atomic, for they take no lock: a transfer that races with
 *  map or unmap sees the bounds of either. The core does not check rights and range again, so
 *  `usable` never has a right that was not granted, and `end` never lies behind the segment. */
struct __rsm_memseg_import_handle {
    struct rsmapi_segment segment;
    struct rsmcore_import *core;
    uint32_t rights;          /* RSM_RIGHT_* granted at connect */
    _Atomic uint32_t usable;  /* of these, what an explicit mapping leaves to put and get */
    _Atomic uint64_t first;   /* [first, end): segment bytes that put and get may touch */
    _Atomic uint64_t end;     /* the whole segment while not mapped */
    _Atomic bool mapped;      /* changed under the lock */
    _Atomic bool has_barrier; /* one was initialised and none destroyed since */
    _Atomic uint32_t mode;    /* rsm_barrier_mode_t */
    void *address;            /* of the mapping; guarded by the lock, as is its length */
    size_t length;
};

/** Memory prepared for scatter-gather transfers. */
struct __rsm_localmemory_handle {
    uint32_t tag;
    struct __rsmapi_controller_handle *controller; /* held */
    void *address;                                 /* no length: transfers are not held to it */
    void *cookie;                                  /* of the transport's registration */
};

static inline bool rsmapi_is_controller(const struct __rsmapi_controller_handle *handle)
{
    return handle != NULL && handle->tag == RSMAPI_TAG_CONTROLLER;
}

static inline bool rsmapi_is_export(const struct __rsm_memseg_export_handle *handle)
{
    return handle != NULL && handle->segment.tag == RSMAPI_TAG_EXPORT;
}

static inline bool rsmapi_is_import(const struct __rsm_memseg_import_handle *handle)
{
    return handle != NULL && handle->segment.tag == RSMAPI_TAG_IMPORT;
}

/** The common part of an export or import handle; NULL if @p handle is neither. */
struct rsmapi_segment *rsmapi_segment_of(void *handle);

void rsmapi_segment_init(struct rsmapi_segment *segment, uint32_t tag, struct rsmcore_event *event);
/** Before the handle is freed. No poll descriptor reference may be left. */
void rsmapi_segment_end(struct rsmapi_segment *segment);

/** The import that a segment is, or NULL. */
static inline struct __rsm_memseg_import_handle *rsmapi_import_of(struct rsmapi_segment *segment)
{
    return segment->tag == RSMAPI_TAG_IMPORT ? (struct __rsm_memseg_import_handle *)segment : NULL;
}

/** After an event of the segment: loads see what its poster stored before. */
static inline void rsmapi_see_stores(struct rsmapi_segment *segment)
{
    struct __rsm_memseg_import_handle *import = rsmapi_import_of(segment);
    if (import != NULL)
        rsmcore_import_acquire(import->core);
}

/** Make a handle that is about to be freed unrecognisable. */
void rsmapi_tag_clear(uint32_t *tag);

/** Keep a controller's core object beyond the controller's last release. Thread-safe. */
void rsmapi_controller_hold(struct __rsmapi_controller_handle *controller);
void rsmapi_controller_drop(struct __rsmapi_controller_handle *controller);

/** Bytes of a page: the alignment that RSMAPI asks of memory and offsets. */
size_t rsmapi_page_size(void);

/** Ids that access lists may name and that a topology shows. The core has ids up to
 *  RSM_NODE_ID_MAX; programs size their tables by this. */
enum { RSMAPI_NODE_ID_MAX = 64 };

/** Bits other than RSM_PERM_READ and RSM_PERM_WRITE do not matter. */
static inline uint32_t rsmapi_rights(rsm_permission_t permission)
{
    return ((permission & RSM_PERM_READ) != 0 ? RSM_RIGHT_READ : 0) |
           ((permission & RSM_PERM_WRITE) != 0 ? RSM_RIGHT_WRITE : 0);
}
