/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The import half of the tcp transport: one TCP connection per import, whose requests are
 *  sent under the connection's lock and answered in their order. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "rsm/transport.h"
#include "transport/tcp/common/options.h"
#include "transport/tcp/common/records.h"
#include "transport/tcp/common/socket.h"
#include "transport/tcp/common/tls.h"
#include "transport/tcp/common/wire.h"

struct tcp_conn;

/** The thread that sends what connections of a port have collected. */
struct tcp_sender {
    pthread_mutex_t lock;
    pthread_t thread;
    pid_t process; /**< that has the thread */
    bool running;  /**< never false again */
    bool stop;
    pthread_cond_t wake;      /**< something waits, or stop */
    pthread_cond_t served;    /**< a connection has been served */
    struct tcp_conn *waiting; /**< with something to send, in their order */
    unsigned count;           /**< of them */
    unsigned in_vain;         /**< that were looked at in a row and could not be served */
    struct tcp_conn *serving; /**< not in the list meanwhile */
};

struct tcp_port {
    struct rsm_port base;
    struct tcp_options options;
    struct tcp_sender sender;
    pthread_mutex_t lock; /**< of what follows */
    struct tcp_tls *tls;  /**< NULL: no exporter has asked for it yet */
};

enum {
    TCP_STAGED_PUT_MAX = 4096,
    TCP_SLOTS = 16,
};

/** Frames of writes that have been collected: many small ones, or one. */
struct tcp_slot {
    uint32_t used; /**< bytes */
    uint8_t bytes[TCP_FRAME_BYTES + TCP_STAGED_PUT_MAX];
};

/** Slots in the order in which they are sent. */
struct tcp_slot_queue {
    unsigned count;
    uint8_t slot[TCP_SLOTS];
};

/** Writes of a connection that have been collected. */
struct tcp_stage {
    pthread_mutex_t lock;         /**< of what follows; held for an instant */
    int64_t last_ns;              /**< when the latest of these writes was made */
    unsigned run;                 /**< writes before it that followed each other closely */
    struct tcp_slot *slots;       /**< NULL: nothing has been collected so far */
    uint32_t busy;                /**< a bit for each slot that is being filled, or is in a queue */
    struct tcp_slot_queue filled; /**< that no send has taken */

    struct tcp_slot_queue out; /**< under the connection's lock: what goes into the socket next */
    uint32_t out_sent;         /**< bytes of its first slot that have gone */
};

enum {
    TCP_ANSWERS_MAX = 16,
    TCP_READ_BYTES = 4 << 20, /* that are to come at most */
};

/** An answer that is to come. */
struct tcp_answer {
    uint32_t id;             /**< of the request */
    uint32_t length;         /**< of the data */
    uint8_t *to;             /**< NULL: of a FLUSH */
    enum rsm_status *status; /**< gets the first failure; NULL: the connection counts it */
    uint32_t *open;          /**< counts those that are to come; NULL: they are not counted */
    bool *snapshot;          /**< whether the data is of one moment; NULL: it need not be */
    bool mixed;              /**< of a FLUSH: it stands for the connection's own writes, too */
};

/** Those of a connection, in their order. Under its lock. */
struct tcp_answers {
    struct tcp_answer ring[TCP_ANSWERS_MAX];
    uint32_t first, count;
    uint32_t reads;   /**< of them with data */
    uint32_t bytes;   /**< of data */
    uint32_t flushes; /**< of them whose failures the connection counts */
    uint8_t head[TCP_FRAME_BYTES];
    size_t got;       /**< of the next one: header and data */
    int64_t moved_ns; /**< clock: when something has come, or the first of them was asked for */
};

struct tcp_works;

struct tcp_conn {
    struct rsm_conn base;
    const struct tcp_options *options; /**< the port's */
    struct tcp_tls *tls;               /**< the port's; NULL: the connection is plain */
    struct tcp_sender *sender;         /**< the port's */
    struct tcp_conn *prev, *next;      /**< in the sender's list; under its lock */
    bool waits;                        /**< is in it */
    struct tcp_address address;        /**< of rsm-tcpd */
    uint64_t grant;
    uint64_t can; /**< TCP_CAN_* of rsm-tcpd */
    uint8_t signal_token[TCP_TOKEN_BYTES];

    atomic_int broken; /**< enum rsm_status: what every further access gets */
    pthread_mutex_t lock;
    struct tcp_channel channel;
    bool dirty;      /**< writes may be under way that no FLUSH stands for yet */
    bool posted;     /**< and signals */
    uint32_t id;     /**< of the latest request that is answered */
    uint64_t failed; /**< as the latest DONE says */
    struct tcp_answers answers;
    struct tcp_works *works; /**< NULL: there have been none */

    int signals;              /**< epoll instance of signal_socket, -1: none yet */
    atomic_int signal_socket; /**< -1: not armed */
    struct tcp_records *signal_records;
    uint8_t signal_bytes[TCP_FRAME_BYTES];
    uint32_t signal_got;

    struct tcp_stage stage;
};

static inline struct tcp_port *tcp_port_of(struct rsm_port *port)
{
    return RSM_CONTAINER_OF(port, struct tcp_port, base);
}

static inline struct tcp_conn *tcp_conn_of(struct rsm_conn *conn)
{
    return RSM_CONTAINER_OF(conn, struct tcp_conn, base);
}

/* ------------------------------------------------------------------ stream.c */

/** Send all of it; the parts are used up. Waits while the socket is full, as long as the peer takes
 *  something within the time-out. @return RSM_ST_OK, RSM_ST_ABORTED, RSM_ST_UNREACHABLE,
 *  RSM_ST_FAULT: the memory cannot be read. */
enum rsm_status tcp_stream_send(const struct tcp_channel *channel, uint32_t timeout_ms,
                                struct iovec *parts, unsigned count);
/** Send what fits into the socket, and count down *left, the bytes of all parts. Of an encrypted
 *  connection, records may still wait when nothing is left: tcp_channel_holds(). */
enum rsm_status tcp_stream_send_some(const struct tcp_channel *channel, struct iovec *parts,
                                     unsigned count, size_t *left);
/** Receive what has arrived; if that is nothing, wait for something until then, unless @p until is
 *  0. @return RSM_ST_OK, with the number of bytes in *moved; RSM_ST_ABORTED; RSM_ST_UNREACHABLE:
 *  nothing came; RSM_ST_FAULT. */
enum rsm_status tcp_stream_receive_some(const struct tcp_channel *channel,
                                        const struct tcp_options *options, struct iovec *parts,
                                        unsigned count, int64_t until, size_t *moved);
/** Receive all of it, as long as something comes within the time-out. */
enum rsm_status tcp_stream_receive(const struct tcp_channel *channel,
                                   const struct tcp_options *options, void *into, size_t length);
/** Wait until something can be received: RSM_ST_OK; RSM_ST_UNREACHABLE: not until then. */
enum rsm_status tcp_stream_await(const struct tcp_channel *channel, int64_t until);
/** Whether a small frame fits into the socket now. */
bool tcp_stream_has_room(const struct tcp_channel *channel);
/** Open a stream of a connection: connect, and show the token. *can: TCP_CAN_* of rsm-tcpd. */
enum rsm_status tcp_stream_open(const struct tcp_conn *conn, enum tcp_stream stream,
                                const uint8_t token[TCP_TOKEN_BYTES], struct tcp_channel *made,
                                uint64_t *can);
/** End the stream also where a child has the descriptor. */
void tcp_stream_close(struct tcp_channel *channel);

/* ------------------------------------------------------------------ stage.c */

void tcp_sender_init(struct tcp_sender *sender);
/** Start its thread, if there is none and a second processor to run it. */
void tcp_sender_start(struct tcp_sender *sender);
/** No connection of the port is left. */
void tcp_sender_destroy(struct tcp_sender *sender);
/** The thread no longer has anything to do with the connection. */
void tcp_sender_leave(struct tcp_conn *conn);

void tcp_stage_init(struct tcp_stage *stage);
void tcp_stage_destroy(struct tcp_stage *stage);
/** Collect a write of at most TCP_STAGED_PUT_MAX bytes, if it is one of many that follow each other
 *  closely. False: send it. Takes no lock that a send is made under, allocates nothing that a lock
 *  of the C library protects, and holds no lock while it reads the payload. */
bool tcp_stage_add(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload);
/** Such a write has been sent. */
void tcp_stage_sent_directly(struct tcp_conn *conn);
/** Whether something has been collected and not been taken. */
bool tcp_stage_holds(struct tcp_conn *conn);
/** What has to be sent before anything else, under the connection's lock. The writes count as under
 *  way. tcp_stage_sent() follows before this is called again. @return parts used. */
unsigned tcp_stage_take(struct tcp_conn *conn, struct iovec parts[TCP_SLOTS]);
/** All of it has been sent but the last @p left bytes. */
void tcp_stage_sent(struct tcp_conn *conn, size_t left);
/** Send what fits into the socket of what was taken before, or has been collected, under the
 *  connection's lock, without waiting. False: some of it is left, or the connection has been broken
 *  off. More may have been collected since. */
bool tcp_stage_push(struct tcp_conn *conn);

/* ------------------------------------------------------------------ batch.c */

/** The stream cannot go on. Writes that have not been waited for are lost, and no other call
 *  reports it. Under the connection's lock. @return RSM_ST_ABORTED. */
enum rsm_status tcp_break_off(struct tcp_conn *conn);

/* ------------------------------------------------------------------ answer.c, under the lock */

/** A request that is answered has been sent: conn->id, and all but `id` of *answer. */
void tcp_answers_expect(struct tcp_conn *conn, const struct tcp_answer *answer);
/** Send a read, and expect its answer; `length` and `to` say what. Waits if too many are under
 *  way. */
enum rsm_status tcp_ask(struct tcp_conn *conn, uint64_t offset, const struct tcp_answer *answer,
                        unsigned width);
/** Whether another read of so many bytes can be under way. */
bool tcp_answers_have_room(const struct tcp_conn *conn, size_t length);
/** Wait until one more can be expected. */
enum rsm_status tcp_answers_make_room(struct tcp_conn *conn);
/** Wait for all of them. On error the connection has been broken off, here and below. */
enum rsm_status tcp_settle(struct tcp_conn *conn);
/** Take those that have come, without waiting. */
enum rsm_status tcp_answers_poll(struct tcp_conn *conn);
/** Clock: when the peer has been silent for the time-out. */
int64_t tcp_answers_overdue(const struct tcp_conn *conn);
/** Whether the answer to a FLUSH is to come whose failures the connection counts. */
bool tcp_answers_hold_flush(const struct tcp_conn *conn);
/** Nothing will come any more. */
void tcp_answers_drop(struct tcp_conn *conn);

/* ------------------------------------------------------------------ work.c */

extern const struct rsm_completion_ops tcp_completion_ops;
void tcp_works_end(struct tcp_conn *conn);

/* ------------------------------------------------------------------ transfer.c */

/** Send what has been collected. */
void tcp_drain(struct tcp_conn *conn);
/** Ask what has failed of all writes so far, if there are any that nothing has asked for. Under the
 *  connection's lock. */
enum rsm_status tcp_ask_for_failures(struct tcp_conn *conn);

enum rsm_status tcp_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
enum rsm_status tcp_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status tcp_put_complete(struct rsm_conn *base, uint64_t offset, const void *src,
                                 size_t length);
enum rsm_status tcp_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                              unsigned width, size_t count);
enum rsm_status tcp_get_snapshot(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length,
                                 bool *snapshot);
enum rsm_status tcp_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                              size_t count);
enum rsm_status tcp_putv(struct rsm_conn *base, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_getv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_order(struct rsm_conn *conn);
enum rsm_status tcp_complete(struct rsm_conn *base);
void tcp_complete_begin(struct rsm_conn *base);
enum rsm_status tcp_health(struct rsm_conn *conn);
enum rsm_status tcp_post(struct rsm_conn *base, bool coalesce);

/* ------------------------------------------------------------------ signals.c */

extern const struct rsm_signal_ops tcp_signal_ops;
