/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A bridge made of an ivshmem server, for two daemons of one host: port.c has the session
 * and the descriptors, memory.c the extents and the imports, poster.c the half in the processes.
 * The name of the device is
 *
 *     ivshmem:SOCKET[,timeout=MS][,heartbeat=MS][,wait=MS]
 *
 * timeout: after which a silent peer has failed, the node's unless told. heartbeat: between two,
 * a sixth of the time-out and at most 100. wait: how long the port waits, when it opens, for a
 * peer that is there; 500.
 *
 * Nothing can take a mapping from a process here. An import that was cut goes on reaching the
 * memory until the process disconnects; until then the memory is not used again, and no new
 * session begins. Every process that imports or exports gets a descriptor of all of the shared
 * memory.
 */
#ifndef TESTS_IVSHMEM_PORT_H
#define TESTS_IVSHMEM_PORT_H

#include <pthread.h>

/* A table that cannot grow must not end the daemon: whoever adds looks at hh.tbl. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "client.h"
#include "session.h"
#include "transport/ntb/common/ports.h"
#include "transport/ntb/common/status.h"
#include "transport/ntb/node/port.h"
#include "words.h"

#define IVSHMEM_PREFIX "ivshmem:"

enum { IVSHMEM_GRANULE = 4096, IVSHMEM_EXTENTS_MAX = 16384 };

extern const struct ntb_port_ops ntb_port_ivshmem;
extern const struct ntb_poster_ops ntb_poster_ivshmem;

struct ivshmem_extent {
    uint64_t id, offset, length;
    bool exposed; /* it was there during a session */
    bool closed;
    UT_hash_handle hh; /* by id */
};

struct ivshmem_import {
    uint64_t id;
    uint32_t epoch;
    int page; /* memfd of the status page */
    struct ntb_status *status;
    UT_hash_handle hh; /* by id */
};

struct ivshmem_event {
    struct ntb_port_event what;
    struct ivshmem_event *prev, *next;
};

struct ivshmem_port {
    struct ntb_port base;
    struct ivshmem ivshmem;
    struct ntb_session session;
    uint32_t node;
    uint64_t half;      /* bytes */
    uint64_t own, peer; /* where the pools begin in the shared memory */
    uint32_t link_seq;
    bool wary;    /* nothing is made before there was a session: see open */
    bool watched; /* the own bells are in the set */
    int epoll, timer, wake;
    int posted; /* epoll of the bell that processes of the other host ring; it is in the first one */
    pthread_mutex_t lock; /* of what follows */
    bool up;
    uint64_t last_id;
    struct ivshmem_extent *extents; /* in the order in which they were made, as the next ones */
    struct ivshmem_import *imports;
    unsigned old_imports; /* of a session that is over, and whose memory processes may still have */
    struct ivshmem_event *events;
    bool lost; /* there was no memory for an event */
};

static inline struct ivshmem_port *ivshmem_port_of(struct ntb_port *port)
{
    return RSM_CONTAINER_OF(port, struct ivshmem_port, base);
}

/* port.c */

/** Make the port's descriptor readable. */
void ivshmem_wake(const struct ivshmem_port *port);
/** Lock held. An event that finds no memory is as good as lost, and the queue says so. */
void ivshmem_tell(struct ivshmem_port *port, enum ntb_port_event_type type, uint64_t id);

/* memory.c: operations of struct ntb_port_ops, and what the session needs of them */

int ivshmem_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity);
enum rsm_status ivshmem_extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                    struct ntb_port_memory *memory);
void ivshmem_extent_close(struct ntb_port *base, const struct ntb_port_memory *memory);
bool ivshmem_extent_release(struct ntb_port *base, uint64_t id);
int ivshmem_extent_share(struct ntb_port *base, const struct ntb_port_memory *memory, bool writable,
                         uint64_t *offset);
enum rsm_status ivshmem_import_make(struct ntb_port *base, const struct ntb_grant_piece *piece,
                                    uint32_t epoch, bool writable, uint32_t connection,
                                    struct ntb_port_import *made);
bool ivshmem_posts(struct ntb_port *base, uint32_t first, uint32_t count, uint64_t *words);
void ivshmem_import_revoke(struct ntb_port *base, uint64_t id);
void ivshmem_import_close(struct ntb_port *base, uint64_t id);
/** Lock held. The extent's range may be used again. */
void ivshmem_end_extent(struct ivshmem_port *port, struct ivshmem_extent *extent);
void ivshmem_free_import(struct ivshmem_import *import);

#endif
