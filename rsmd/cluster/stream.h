/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Messages over a non-blocking TCP socket. Buffers are bounded: one incoming frame,
 * RSMD_STREAM_QUEUE_MAX outgoing bytes.
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
    /** A frame within all bounds; *msg is valid until this returns. */
    void (*message)(void *context, const struct rsm_cluster_msg *msg);
    /** There will be no more; @p why is a sentence. Called once. */
    void (*ended)(void *context, const char *why);
};

/** Make a stream of a socket, which it owns. @p connecting: connect() is in progress. NULL: out of
 *  memory, and the socket is closed. */
struct rsmd_stream *rsmd_stream_new(struct event_base *base, int socket, bool connecting,
                                    const struct rsmd_stream_user *user);
/** Close it. The last messages go out as far as the kernel accepts them at once. */
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

/** Stop reading, or continue. */
void rsmd_stream_pause(struct rsmd_stream *stream);
void rsmd_stream_resume(struct rsmd_stream *stream);

#endif
