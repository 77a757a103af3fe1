/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Messages over a non-blocking TCP socket. What is buffered is bounded both ways: one frame that
 * comes in, RSMD_STREAM_QUEUE_MAX bytes that go out.
 */
#ifndef RSMD_CLUSTER_STREAM_H
#define RSMD_CLUSTER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/proto.h"

struct event_base;
struct rsmd_stream;

enum { RSMD_STREAM_QUEUE_MAX = 1 << 20 };

/** All called from the event loop. None may free the stream. */
struct rsmd_stream_user {
    void *context;
    /** The socket that was still connecting has connected. */
    void (*connected)(void *context);
    /** A frame within all bounds; *msg is good until this returns. */
    void (*message)(void *context, const struct rsm_cluster_msg *msg);
    /** There will be no more; @p why is a sentence. Called once. */
    void (*ended)(void *context, const char *why);
};

/** Take a socket over. @p connecting: connect() is under way. NULL: out of memory; the socket is
 *  closed in any case in the end. */
struct rsmd_stream *rsmd_stream_new(struct event_base *base, int socket, bool connecting,
                                    const struct rsmd_stream_user *user);
/** Close. What was sent last goes out as far as the kernel takes it at once. */
void rsmd_stream_free(struct rsmd_stream *stream);

/** Its socket. */
int rsmd_stream_socket(const struct rsmd_stream *stream);

/** Queue a message. 0; -EMSGSIZE: it breaks its bounds; -ENOBUFS: there is no room; -EPIPE: the
 *  stream has ended. */
int rsmd_stream_send(struct rsmd_stream *stream, const struct rsm_cluster_msg *msg);

/** Bytes that the socket has carried. */
struct rsmd_stream_bytes {
    uint64_t sent, received;
};
struct rsmd_stream_bytes rsmd_stream_bytes(const struct rsmd_stream *stream);

/** Bytes that wait to go out. */
size_t rsmd_stream_queued(const struct rsmd_stream *stream);

/** Leave what comes in where it is, or go on with it. */
void rsmd_stream_pause(struct rsmd_stream *stream);
void rsmd_stream_resume(struct rsmd_stream *stream);

#endif
