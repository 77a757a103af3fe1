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

enum { TCP_STAGED_PUT_MAX = 256, TCP_STAGE_BYTES = 4096 };

struct tcp_stage_buffers {
    uint8_t bytes[TCP_STAGE_BYTES];   /**< under the stage's lock */
    uint8_t out[2 * TCP_STAGE_BYTES]; /**< under the connection's: what did not fit into the
                                       *   socket, and all of `bytes` */
};

/** Small writes of a connection that have been collected. */
struct tcp_stage {
    pthread_mutex_t lock; /**< of what follows; held for an instant */
    int64_t last_ns;      /**< when the latest small write was made */
    unsigned run;         /**< writes before it that followed each other closely */
    uint32_t used;
    struct tcp_stage_buffers *buffers; /**< NULL: nothing has been collected so far */

    uint32_t out_begin, out_end; /**< under the connection's lock: what goes into the socket next */
};

struct tcp_conn {
    struct rsm_conn base;
    const struct tcp_options *options; /**< the port's */
    struct tcp_tls *tls;               /**< the port's; NULL: the connection is plain */
    struct tcp_sender *sender;         /**< the port's */
    struct tcp_conn *prev, *next;      /**< in the sender's list; under its lock */
    bool waits;                        /**< is in it */
    struct tcp_address address;        /**< of rsm-tcpd */
    uint64_t grant;
    uint8_t signal_token[TCP_TOKEN_BYTES];

    atomic_int broken; /**< enum rsm_status: what every further access gets */
    pthread_mutex_t lock;
    struct tcp_channel channel;
    bool dirty;  /**< writes may be under way */
    bool posted; /**< and signals */
    struct {
        bool waits;    /**< a FLUSH has been sent, and its answer has not been taken */
        bool posted;   /**< it also stands for signals */
        uint32_t id;   /**< of the FLUSH */
        int64_t until; /**< clock: when the answer is overdue */
    } asked;           /**< ... by tcp_complete_begin() */
    uint32_t id;       /**< of the latest request that is answered */
    uint64_t failed;   /**< as the latest DONE says */

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
/** Receive in the same way, until at least @p enough bytes have come. The parts are what is left
 *  then. */
enum rsm_status tcp_stream_receive(const struct tcp_channel *channel,
                                   const struct tcp_options *options, struct iovec *parts,
                                   unsigned count, size_t enough);
/** The same, with the time for the first byte running until @p until. */
enum rsm_status tcp_stream_receive_until(const struct tcp_channel *channel,
                                         const struct tcp_options *options, struct iovec *parts,
                                         unsigned count, size_t enough, int64_t until);
/** Whether a small frame fits into the socket now. */
bool tcp_stream_has_room(const struct tcp_channel *channel);
/** Open a stream of a connection: connect, and show the token. */
enum rsm_status tcp_stream_open(const struct tcp_conn *conn, enum tcp_stream stream,
                                const uint8_t token[TCP_TOKEN_BYTES], struct tcp_channel *made);
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

/** Collect a write of at most TCP_STAGED_PUT_MAX bytes, if it is one of many that follow each other
 *  closely. False: send it. Takes no lock that a send is made under. */
bool tcp_stage_add(struct tcp_conn *conn, const struct tcp_frame *frame, const void *payload);
/** Such a write has been sent. */
void tcp_stage_sent_directly(struct tcp_conn *conn);
/** Whether something has been collected and not been taken. */
bool tcp_stage_holds(struct tcp_conn *conn);
/** What has to be sent before anything else, under the connection's lock. The writes count as under
 *  way. tcp_stage_taken() follows, when it has been sent, before this is called again. */
struct iovec tcp_stage_take(struct tcp_conn *conn);
void tcp_stage_taken(struct tcp_conn *conn);

/* ------------------------------------------------------------------ transfer.c */

/** The stream cannot go on. Writes that have not been waited for are lost, and no other call
 *  reports it. Under the connection's lock. */
enum rsm_status tcp_break_off(struct tcp_conn *conn);
/** Send what has been collected. */
void tcp_drain(struct tcp_conn *conn);

enum rsm_status tcp_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
enum rsm_status tcp_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status tcp_put_complete(struct rsm_conn *base, uint64_t offset, const void *src,
                                 size_t length);
enum rsm_status tcp_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                              unsigned width, size_t count);
enum rsm_status tcp_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                              size_t count);
enum rsm_status tcp_putv(struct rsm_conn *base, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_getv(struct rsm_conn *base, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_order(struct rsm_conn *conn);
enum rsm_status tcp_complete(struct rsm_conn *base);
void tcp_complete_begin(struct rsm_conn *base);
enum rsm_status tcp_health(struct rsm_conn *conn);
enum rsm_status tcp_post(struct rsm_conn *base, bool coalesce);

/* ------------------------------------------------------------------ signals.c */

extern const struct rsm_signal_ops tcp_signal_ops;
