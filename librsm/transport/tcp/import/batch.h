/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is sent over a connection, under its lock. */
#pragma once

#include "transport/tcp/import/import.h"

enum {
    TCP_BATCH = 16,                    /**< frames of writes that leave together */
    TCP_PARTS_MAX = 2 * TCP_BATCH + 1, /**< of these, and of a FLUSH behind them */
};

/** Frames of writes that have not been sent. */
struct tcp_batch {
    struct tcp_conn *conn;
    unsigned count; /* frames */
    unsigned parts;
    uint8_t head[TCP_BATCH + 1][TCP_FRAME_BYTES];
    struct iovec part[TCP_PARTS_MAX];
};

/** Take the connection, and give it back with what the former returned. */
int tcp_enter(struct tcp_conn *conn);
void tcp_leave(struct tcp_conn *conn, int cancellable);
/** RSM_ST_OK, or what every access gets. */
enum rsm_status tcp_state(struct tcp_conn *conn);

struct iovec tcp_frame_part(const struct tcp_frame *frame, uint8_t bytes[TCP_FRAME_BYTES]);
/** Send what has been collected, and behind it frames in at most TCP_PARTS_MAX parts. If the memory
 *  of a frame cannot be read, what follows in the stream is undefined: the connection is broken
 *  off. */
enum rsm_status tcp_send_parts(struct tcp_conn *conn, const struct iovec *parts, unsigned count);

void tcp_batch_init(struct tcp_batch *batch, struct tcp_conn *conn);
/** The same, and tcp_enter(). @return the connection's state. */
enum rsm_status tcp_batch_begin(struct tcp_batch *batch, struct tcp_conn *conn, int *cancellable);
/** A frame of a write; a @p width of 0: of plain bytes. */
struct tcp_frame tcp_write_frame(uint64_t offset, size_t length, unsigned width);
/** One transfer, in frames of bounded length. */
enum rsm_status tcp_batch_write(struct tcp_batch *batch, uint64_t offset, const void *src,
                                size_t length, unsigned width);
enum rsm_status tcp_batch_send(struct tcp_batch *batch);
/** A FLUSH behind what is in the batch; its answer is expected as @p answer. */
enum rsm_status tcp_batch_flush(struct tcp_batch *batch, const struct tcp_answer *answer);
