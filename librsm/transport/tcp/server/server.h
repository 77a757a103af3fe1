/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * rsm-tcpd: serves the memory of one controller's segments to importers of other hosts.
 *
 * One thread and one epoll instance. rsmd sends the grants (common/control.h) over a socket pair;
 * importers connect and show the token of one. Each connection has bounded buffers and takes turns
 * with the others. One whose answers are not read is not read from.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "base/looks.h"
#include "transport/tcp/common/control.h"
#include "transport/tcp/common/records.h"
#include "transport/tcp/common/tls.h"
#include "transport/tcp/common/wire.h"

enum {
    TCP_IN_BYTES = 8192,
    TCP_OUT_BYTES = 4096,
    TCP_STRANGERS_MAX = 1024, /**< TCP connections that have not shown a token yet */
    TCP_TURN_BYTES = 256 * 1024,
    TCP_TURN_ALONE = 1024 * 1024, /**< while no other connection has anything to do */
    TCP_FRAME_COST = 256,         /**< bytes of a turn that a frame without payload takes */
    TCP_EVENTS = 64,
    TCP_SNAPSHOTS = 8,      /**< that wait to be sent, of all connections */
    TCP_SNAPSHOTS_USER = 2, /**< of one user of a node */
};

struct tcp_grant;
struct tcp_source;

/** A copy of memory of one moment. */
struct tcp_snapshot {
    uint64_t *words;               /**< TCP_SNAPSHOT_MAX bytes, from its first use on */
    const struct tcp_grant *grant; /**< whose it is, until it has been sent; NULL: it is free */
};

/** A TCP connection. */
struct tcp_link {
    struct tcp_link *prev, *next;           /**< among strangers, or NULL */
    struct tcp_link *busy_prev, *busy_next; /**< among those whose turn has ended */
    bool busy;
    struct tcp_channel channel;
    struct tcp_handshake
        *handshake;          /**< of a stranger who has sent something, with TLS; else NULL */
    struct tcp_grant *grant; /**< NULL: a stranger */
    enum tcp_stream stream;
    struct tcp_source *source;                  /**< of a stranger; else NULL */
    struct tcp_link *source_prev, *source_next; /**< among its strangers */
    int64_t since_ns;
    bool writes;           /**< waits until the socket takes more */
    bool handshake_writes; /**< what `handshake` sends */

    uint8_t in[TCP_IN_BYTES];
    uint32_t in_start, in_end;
    bool in_frame;          /**< the payload of `frame` is being received */
    bool refused;           /**< and dropped */
    struct tcp_frame frame; /**< the request under way */
    uint32_t moved;         /**< bytes of it */
    uint64_t failed;        /**< requests so far */

    _Alignas(8) uint8_t out[TCP_OUT_BYTES];
    uint32_t out_start, out_end;
    const uint8_t *out_data; /**< in the segment or the snapshot, sent behind `out` */
    uint32_t out_length;
    uint32_t out_elems; /**< bytes that go through `out`, behind it, element by element */
    struct tcp_snapshot *snapshot; /**< until it has been sent; or NULL */
};

/** What one importer may do. */
struct tcp_grant {
    UT_hash_handle hh;
    uint64_t id;
    uint32_t rights;
    uint32_t node, uid; /**< the importer's, for the log */
    uint64_t size;      /**< of the segment, 0 without rights */
    uint8_t *base;      /**< all its pieces in one range, with the protection of the rights */
    uint8_t token[TCP_STREAMS][TCP_TOKEN_BYTES];
    bool used[TCP_STREAMS];
    struct tcp_link *link[TCP_STREAMS];

    /* what is to be reported to rsmd */
    struct tcp_grant *prev, *next; /**< among those with something */
    bool unreported, lost, listens, taken;
    struct rsm_signals posted;
};

struct tcp_server {
    int control, listener, epoll;
    struct tcp_tls *tls; /**< NULL: connections are plain */
    int64_t timeout_ns;
    uint32_t timeout_ms;
    int64_t spin_ns;   /**< for so long the loop looks for the next event */
    int64_t latest_ns; /**< of the latest one that it looks behind */
    bool looking;
    struct rsm_looks looks;
    struct tcp_grant *grants;     /**< hash by id */
    struct tcp_grant *unreported; /**< list */
    struct tcp_link *strangers, *busy;
    unsigned stranger_count, strangers_max;
    struct tcp_source *sources;                         /**< hash by address: of strangers */
    struct tcp_source *by_count[TCP_STRANGERS_MAX + 1]; /**< lists: sources with so many */
    unsigned largest;                                   /**< count that there is; 0 */
    struct epoll_event events[TCP_EVENTS]; /**< those of links that have ended have no pointer */
    int event_count;
    int64_t turn_bytes; /**< of this round's turns */
    struct tcp_snapshot snapshots[TCP_SNAPSHOTS];
    bool report_waits; /**< waits until rsmd reads */
    bool reported;     /**< something, in this turn */
    uint64_t *revoked; /**< answers that wait to be sent */
    unsigned revoked_count, revoked_room;
};

/** One turn of the event loop. False: rsmd has gone. */
bool tcp_server_turn(struct tcp_server *server, bool waits);
/** Serve until rsmd has gone. */
void tcp_server_run(struct tcp_server *server);
/** End what is left of grants and connections. */
void tcp_server_end(struct tcp_server *server);

/* ------------------------------------------------------------------ grants.c */

/** All that rsmd has sent. False: rsmd has gone. */
bool tcp_server_take_messages(struct tcp_server *server);
/** Send rsmd the reports that wait, as far as it reads. */
void tcp_server_report(struct tcp_server *server);
/** Note that there is something to report of this grant. */
void tcp_grant_note(struct tcp_server *server, struct tcp_grant *grant);
/** The grant whose token this is, which has not been used; NULL. */
struct tcp_grant *tcp_grant_open(struct tcp_server *server, uint64_t id, enum tcp_stream stream,
                                 const uint8_t token[TCP_TOKEN_BYTES]);

/** Its token, if it has not been used; NULL. */
const uint8_t *tcp_grant_token(const struct tcp_server *server, uint64_t id,
                               enum tcp_stream stream);

/* ------------------------------------------------------------------ listen.c */

/** Accept who calls. */
void tcp_server_accept(struct tcp_server *server);
/** End strangers that have taken too long; the time until the next may be one, in ms; -1. */
int tcp_server_expire(struct tcp_server *server);
/** Close the connection and free it. */
void tcp_link_end(struct tcp_server *server, struct tcp_link *link);
/** It has shown a token: it is a stranger no more. */
void tcp_link_admit(struct tcp_server *server, struct tcp_link *link);

/* ------------------------------------------------------------------ strangers.c */

/** Add one. False: there is no memory. */
bool tcp_stranger_add(struct tcp_server *server, struct tcp_link *link,
                      const struct in6_addr *address);
void tcp_stranger_remove(struct tcp_server *server, struct tcp_link *link);
/** End one to make room. False: there is none. */
bool tcp_stranger_gives_way(struct tcp_server *server);

/* ------------------------------------------------------------------ encrypt.c */

/** How a step of a connection ends. */
enum tcp_progress {
    TCP_GOES_ON,
    TCP_WAITS, /**< for the socket */
    TCP_ENDS,
};

/** Which of a grant's tokens opens the stream of a HELLO. */
static inline enum tcp_stream tcp_stream_of(const struct tcp_frame *hello)
{
    return (hello->flags & TCP_FLAG_SIGNALS) != 0 ? TCP_STREAM_SIGNALS : TCP_STREAM_DATA;
}

/** A step of a stranger's handshake. Behind its end @p grant is the importer's, whose token is now
 *  used. */
enum tcp_progress tcp_link_shake_hands(struct tcp_server *server, struct tcp_link *link,
                                       struct tcp_grant **grant, enum tcp_stream *stream);

/* ------------------------------------------------------------------ snapshot.c */

/** Copy what the link is about to send as it is at one moment; each try takes @p length of the
 *  budget. False: it changes until that is used up, is empty or too long, is not of aligned words,
 *  or there is no room for this user. */
bool tcp_snapshot_take(struct tcp_server *server, struct tcp_link *link, uint32_t length,
                       int64_t *budget);
/** It has been sent, or will not be. There may be none. */
void tcp_snapshot_release(struct tcp_link *link);
void tcp_snapshots_end(struct tcp_server *server);

/* ------------------------------------------------------------------ serve.c */

/** A turn: carry out what the importer has sent, and send what it is to get. */
void tcp_link_serve(struct tcp_server *server, struct tcp_link *link);
/** Send signals of the exporter to the importer. */
void tcp_link_notify(struct tcp_server *server, struct tcp_link *link,
                     const struct rsm_signals *signals);
