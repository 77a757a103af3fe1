/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The import half's port and connections, shared by its files: import.c (port, table),
 *  local.c (registered memory), connect.c (making and ending connections), sendq.c (posting and
 *  waiting), receive.c (messages of the node and signals of the exporter), stream.c (moving a
 *  vector), transfer.c (the transfers of the table), work.c (transfers whose end is reported).
 *
 *  There is no thread: a thread that waits polls for all. Messages of the node complete on another
 *  queue than posted work requests, so transfers do not poll it, and only signals wake threads that
 *  wait for them. Each connection has one lock, which is released while a thread sleeps, spins or
 *  copies, because the caller's memory may be a mapping whose fault another connection has to
 *  serve.
 *
 *  The mapping engine calls transfers, order, complete and health from a SIGSEGV handler. They
 *  allocate nothing if verbs_may_allocate() returns false, and are no cancellation points. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "transport/verbs/common/device.h"
#include "transport/verbs/import/sendq.h"
#include "transport/verbs/common/queue.h"
#include "transport/verbs/common/wire.h"

enum {
    VERBS_BOUNCE_SLOTS = 8, /* into which a connection's bounce memory is divided */
    VERBS_WR_LIST_MAX =
        16, /* work requests posted at a time; they lie on the stack, see RSM_CAP_FAULT_SAFE */
    VERBS_SEND_DEPTH = 256, /* work requests under way */
    VERBS_RECV_DEPTH = 4,   /* what may come unasked: a grant, then two credits and a signal */
    VERBS_ACK_DEPTH = 4,    /* work requests for which there is room beside VERBS_SEND_DEPTH */
    VERBS_READS_MAX = 64,   /* reads of one call whose data has not been delivered yet */
    VERBS_MTU_MAX = 4096,
};

/** Memory of the port that connections post from and land in. */
struct verbs_bounce {
    struct verbs_bounce *next;
    uint8_t *bytes; /**< bounce memory, then VERBS_RECV_DEPTH messages */
    uint32_t lkey;
};

/** Memory that the application has registered. */
struct verbs_region {
    struct verbs_region *prev, *next;
    uintptr_t start;
    size_t length;
    struct ibv_mr *mr;
};

struct verbs_port {
    struct rsm_port base;
    struct verbs_options options;
    struct verbs_device device;
    struct verbs_path path;
    struct ibv_pd *pd;
    uint32_t spin_us;
    bool spin_adapts;            /**< longer, on connections that answer a little later */
    uint64_t register_from;      /**< bytes from which a get registers its destination */
    pthread_mutex_t lock;        /**< guards bounce and chunks */
    struct verbs_bounce *bounce; /**< free ones */
    struct verbs_bounce_chunk *chunks;
    pthread_rwlock_t regions_lock; /**< held for reading while a transfer uses a region */
    struct verbs_region *regions;
    atomic_uint region_count;
};

struct verbs_conn {
    struct rsm_conn conn;
    struct verbs_port *port;
    atomic_bool failed; /* for health(), without the lock */
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_comp_channel *send_channel;
    struct ibv_cq *cq; /* of what is posted here */
    struct ibv_comp_channel *recv_channel;
    struct ibv_cq *recv_cq; /* of what the node sends */
    struct ibv_qp *qp;
    struct verbs_bounce *bounce;
    size_t slot_bytes;
    uint32_t inline_bytes;
    uint32_t max_message; /* bytes of one work request */
    bool granted;
    bool can_signal; /* signals of the exporter may come this way */
    uint32_t rights;
    uint32_t count; /* pieces */
    struct {
        uint64_t end; /* in the segment */
        uint64_t address;
        uint32_t key;
    } piece[VERBS_PIECES_MAX];

    pthread_mutex_t lock;    /* guards what follows, and posting and polling */
    pthread_cond_t progress; /* a completion came, or no thread sleeps for all any more */
    bool has_sleeper;        /* a thread sleeps on the descriptors, for all */
    uint64_t event_since; /* when a thread that cannot take events of `events` saw one; 0: never */
    bool signals_armed;   /* signals of the exporter are armed at the node */
    bool signalled;       /* `signals` have come and were not taken */
    bool unacknowledged;  /* they were taken, and are not acknowledged */
    struct verbs_sendq sendq;
    uint32_t credit;   /* signals that may be sent */
    uint32_t received; /* messages of the node, and signals */
    struct rsm_signals signals;
    struct verbs_works *works;                      /* submitted; NULL: nothing was yet */
    uint64_t spin_ns;                               /* polling before a sleep */
    uint64_t bounce_slot_until[VERBS_BOUNCE_SLOTS]; /* free when this number is complete */
    bool bounce_slot_held[VERBS_BOUNCE_SLOTS];      /* until its data has been copied out */
};

static inline struct verbs_conn *verbs_of(struct rsm_conn *conn)
{
    return RSM_CONTAINER_OF(conn, struct verbs_conn, conn);
}

static inline struct verbs_port *verbs_port_of(struct rsm_port *port)
{
    return RSM_CONTAINER_OF(port, struct verbs_port, base);
}

/** Whether the caller may allocate: it is not the mapping engine, which blocks all signals. Makes a
 *  system call. */
bool verbs_may_allocate(void);

/** Disable cancellation until verbs_cancel_let_go() of the result, because a cancelled thread would
 *  keep its locks and slots. */
int verbs_cancel_hold(void);
void verbs_cancel_let_go(int before);

/* ------------------------------------------------------------------ local.c */

bool verbs_local_open(struct verbs_port *port);
void verbs_local_close(struct verbs_port *port);
/** NULL: none could be registered; the log says why. */
struct verbs_bounce *verbs_bounce_get(struct verbs_port *port);
void verbs_bounce_put(struct verbs_port *port, struct verbs_bounce *bounce);
enum rsm_status verbs_register_memory(struct rsm_port *base, void *address, size_t length,
                                      void **cookie);
void verbs_unregister_memory(struct rsm_port *base, void *cookie);
/** The registration that covers all of the range, else NULL. regions_lock is held. */
const struct verbs_region *verbs_region_of(const struct verbs_port *port, const void *address,
                                           size_t length);

/* ------------------------------------------------------------------ connect.c */

enum rsm_status verbs_connect(struct verbs_port *port, const struct rsm_offer *offer, uint64_t size,
                              uint32_t rights, struct rsm_conn **conn);
void verbs_disconnect(struct rsm_conn *conn);

/* ------------------------------------------------------------------ sendq.c: with the lock held
 */

/** Work requests that are posted together. */
struct verbs_wr_list {
    uint32_t count;
    struct ibv_send_wr wr[VERBS_WR_LIST_MAX];
    struct ibv_sge sge[VERBS_WR_LIST_MAX];
};

/** Post the chain and empty it. Waits for room. @return the number of its last request, 0 if the
 *  connection is dead. */
uint64_t verbs_post(struct verbs_conn *conn, struct verbs_wr_list *chain);

/** Post that immediate data, about signals of the exporter: at once, whatever is under way. */
void verbs_post_immediate(struct verbs_conn *conn, uint32_t immediate);

/** Take what has completed, without waiting. */
void verbs_poll(struct verbs_conn *conn);

/** What a thread can wait for. */
struct verbs_wait {
    bool (*over)(const struct verbs_conn *conn, uint64_t number);
    uint64_t number;
    uint64_t until; /* by rsm_clock_ns(); 0: as long as the fabric may take */
    bool receive; /* it is the node's to send; not for the mapping engine, which waits for own ones
                   */
};

/** Wait until it is over; false: `until` has come, or nothing at all happened for the configured
 *  time. If requests were under way then, the connection is dead. */
bool verbs_wait(struct verbs_conn *conn, struct verbs_wait wait);
/** ... until request @p number has completed. */
bool verbs_wait_for(struct verbs_conn *conn, uint64_t number);

/** The connection has failed: stop it. */
void verbs_fail(struct verbs_conn *conn, const char *why);

/** A free slot of the bounce memory, -1 if there is none at the moment. */
int verbs_bounce_slot_find(const struct verbs_conn *conn);

/* ------------------------------------------------------------------ receive.c */

/** Post the receive of message @p index, 0..VERBS_RECV_DEPTH - 1. */
bool verbs_receive_post(struct verbs_conn *conn, unsigned index);
/** Take what the node has sent, without waiting; with the lock held. @return whether there was
 *  something. */
bool verbs_poll_receives(struct verbs_conn *conn);
/** Let the next signal be noticed; false with errno. */
bool verbs_arm_receive_channel(struct verbs_conn *conn);

int verbs_signal_fd(struct rsm_conn *conn);
enum rsm_status verbs_arm_signals(struct rsm_conn *conn);
enum rsm_status verbs_poll_signals(struct rsm_conn *conn, struct rsm_signals *taken);
void verbs_acknowledge_signals(struct rsm_conn *conn);

/* ------------------------------------------------------------------ transfer.c */

enum rsm_status verbs_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
enum rsm_status verbs_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status verbs_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                unsigned width, size_t count);
enum rsm_status verbs_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                                size_t count);
enum rsm_status verbs_putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                           unsigned *done);
enum rsm_status verbs_getv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                           unsigned *done);

/* ------------------------------------------------------------------ work.c */

extern const struct rsm_completion_ops verbs_completion_ops;
/** The connection ends, and its queue pair has gone: give up what it has of works. */
void verbs_works_end(struct verbs_conn *conn);
