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

struct tcp_port {
    struct rsm_port base;
    struct tcp_options options;
    pthread_mutex_t lock; /**< of what follows */
    struct tcp_tls *tls;  /**< NULL: no exporter has asked for it yet */
};

struct tcp_conn {
    struct rsm_conn base;
    const struct tcp_options *options; /**< the port's */
    struct tcp_tls *tls;               /**< the port's; NULL: the connection is plain */
    struct tcp_address address;        /**< of rsm-tcpd */
    uint64_t grant;
    uint8_t signal_token[TCP_TOKEN_BYTES];

    atomic_int broken; /**< enum rsm_status: what every further access gets */
    pthread_mutex_t lock;
    struct tcp_channel channel;
    bool dirty;      /**< writes may be under way */
    bool posted;     /**< and signals */
    uint32_t id;     /**< of the latest request that is answered */
    uint64_t failed; /**< as the latest DONE says */

    int signals;              /**< epoll instance of signal_socket, -1: none yet */
    atomic_int signal_socket; /**< -1: not armed */
    struct tcp_records *signal_records;
    uint8_t signal_bytes[TCP_FRAME_BYTES];
    uint32_t signal_got;
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
/** Receive in the same way, until at least @p enough bytes have come. The parts are what is left
 *  then. */
enum rsm_status tcp_stream_receive(const struct tcp_channel *channel,
                                   const struct tcp_options *options, struct iovec *parts,
                                   unsigned count, size_t enough);
/** Open a stream of a connection: connect, and show the token. */
enum rsm_status tcp_stream_open(const struct tcp_conn *conn, enum tcp_stream stream,
                                const uint8_t token[TCP_TOKEN_BYTES], struct tcp_channel *made);
/** End the stream also where a child has the descriptor. */
void tcp_stream_close(struct tcp_channel *channel);

/* ------------------------------------------------------------------ transfer.c */

enum rsm_status tcp_put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
enum rsm_status tcp_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
enum rsm_status tcp_put_complete(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length);
enum rsm_status tcp_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                              unsigned width, size_t count);
enum rsm_status tcp_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                              size_t count);
enum rsm_status tcp_putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_getv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                         unsigned *done);
enum rsm_status tcp_order(struct rsm_conn *conn);
enum rsm_status tcp_complete(struct rsm_conn *conn);
enum rsm_status tcp_health(struct rsm_conn *conn);
enum rsm_status tcp_post(struct rsm_conn *conn, bool coalesce);

/* ------------------------------------------------------------------ signals.c */

extern const struct rsm_signal_ops tcp_signal_ops;
