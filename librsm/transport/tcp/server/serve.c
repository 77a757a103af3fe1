/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One importer's connection, as a sequence of steps none of which waits. Each request is checked
 * against the connection's grant before a byte of it is moved.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/elements.h"
#include "base/fence.h"
#include "transport/tcp/server/server.h"

/* ------------------------------------------------------------------ input */

static uint32_t available(const struct tcp_link *link)
{
    return link->in_end - link->in_start;
}

static enum tcp_progress after_receiving(ssize_t got)
{
    if (got > 0)
        return TCP_GOES_ON;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? TCP_WAITS : TCP_ENDS;
}

/* A record takes its time, however little is in it. */
static ssize_t receive(struct tcp_link *link, struct iovec *parts, unsigned count, int64_t *budget)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    if (link->channel.records != NULL)
        *budget -= TCP_FRAME_COST;
    return tcp_channel_receive(&link->channel, &message);
}

static enum tcp_progress fill(struct tcp_link *link, int64_t *budget)
{
    memmove(link->in, link->in + link->in_start, available(link));
    link->in_end = available(link);
    link->in_start = 0;
    struct iovec part = {link->in + link->in_end, sizeof link->in - link->in_end};
    ssize_t got = receive(link, &part, 1, budget);
    link->in_end += got > 0 ? (uint32_t)got : 0;
    return after_receiving(got);
}

/* ------------------------------------------------------------------ output */

static bool has_output(const struct tcp_link *link)
{
    return link->out_end > link->out_start || link->out_length > 0 || link->out_elems > 0 ||
           tcp_channel_holds(&link->channel);
}

static void answer(struct tcp_link *link, const struct tcp_frame *frame)
{
    tcp_frame_encode(frame, link->out + link->out_end);
    link->out_end += TCP_FRAME_BYTES;
}

/* That of a HELLO says what the connection can. */
static void answer_hello(struct tcp_link *link)
{
    const struct tcp_frame frame = {
        .type = TCP_DONE, .offset = link->stream == TCP_STREAM_DATA ? TCP_CAN_SNAPSHOT : 0};
    answer(link, &frame);
}

static void answer_done(struct tcp_link *link, uint32_t id, enum rsm_status status)
{
    const struct tcp_frame frame = {
        .type = TCP_DONE, .id = id, .status = status, .offset = link->failed};
    answer(link, &frame);
}

/* The next elements of a get, each read by one access. */
static void fill_output(struct tcp_link *link)
{
    uint32_t part = link->out_elems < sizeof link->out ? link->out_elems : sizeof link->out;
    const uint8_t *from =
        link->grant->base + link->frame.offset + link->frame.length - link->out_elems;
    (void)rsm_copy_elements(link->out, from, link->frame.width, part / link->frame.width);
    link->out_end = part;
    link->out_elems -= part;
}

static enum tcp_progress send_output(struct tcp_link *link, int64_t *budget)
{
    if (link->out_start == link->out_end && link->out_elems > 0)
        fill_output(link);
    uint32_t head = link->out_end - link->out_start;
    uint32_t rest = link->out_length < *budget ? link->out_length : (uint32_t)*budget;
    struct iovec parts[2] = {{link->out + link->out_start, head},
                             {(void *)(uintptr_t)link->out_data, rest}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    int flags = link->out_length > rest ? MSG_MORE : 0; /* no small segment between turns */
    ssize_t sent = tcp_channel_send(&link->channel, &message, flags);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? TCP_WAITS : TCP_ENDS;
    *budget -= sent > 0 ? sent : TCP_FRAME_COST;
    uint32_t of_head = (size_t)sent < head ? (uint32_t)sent : head;
    link->out_start += of_head;
    if (link->out_length > 0) {
        link->out_data += (uint32_t)sent - of_head;
        link->out_length -= (uint32_t)sent - of_head;
        if (link->out_length == 0)
            tcp_snapshot_release(link);
    }
    if (link->out_start == link->out_end) /* `out` is used from its beginning again */
        link->out_start = link->out_end = 0;
    return TCP_GOES_ON;
}

/* ------------------------------------------------------------------ payload of writes */

/* Small ones in accesses as wide as they allow, so that an aligned word is never torn. */
RACES_BY_DESIGN static void store(uint8_t *to, const uint8_t *from, uint32_t length, unsigned width)
{
    uint64_t words[64];
    while (length > 0) {
        uint32_t part = length < sizeof words ? length : (uint32_t)sizeof words;
        memcpy(words, from, part);
        (void)rsm_copy_elements(to, words, width, part / width);
        to += part;
        from += part;
        length -= part;
    }
}

static unsigned widest(uintptr_t place)
{
    unsigned width = 8;
    while (place % width != 0)
        width /= 2;
    return width;
}

/* Straight from the socket, or from what has been opened of a record, into the segment. `in` is
 * empty. The header behind the payload is received with its end, and no more: what follows the
 * header may be a payload, too. */
static enum tcp_progress receive_payload(struct tcp_link *link, uint32_t left, int64_t *budget)
{
    uint8_t *to = link->grant->base + link->frame.offset + link->moved;
    uint32_t part = left < *budget ? left : (uint32_t)*budget;
    struct iovec parts[2] = {{to, part}, {link->in, TCP_FRAME_BYTES}};
    ssize_t got = receive(link, parts, part == left ? 2 : 1, budget);
    if (got < 0 && errno == EFAULT) { /* there is no memory for the page */
        link->refused = true;
        link->failed++;
        return TCP_GOES_ON;
    }
    if (got > 0) {
        uint32_t of_payload = (size_t)got < part ? (uint32_t)got : part;
        link->moved += of_payload;
        link->in_start = 0;
        link->in_end = (uint32_t)got - of_payload;
        *budget -= got;
    }
    return after_receiving(got);
}

static enum tcp_progress take_payload(struct tcp_link *link, int64_t *budget)
{
    enum { BY_WORDS = 512 };
    uint32_t left = link->frame.length - link->moved;
    uint32_t part = available(link) < left ? available(link) : left;
    unsigned width = link->frame.width != 0 ? link->frame.width : 1;
    if (left == 0) {
        link->in_frame = false;
        return TCP_GOES_ON;
    }
    part -= part % width;
    if (part == 0 && link->frame.type == TCP_PUT && !link->refused)
        return receive_payload(link, left, budget);
    if (part == 0)
        return fill(link, budget);
    uint8_t *to = link->refused ? NULL : link->grant->base + link->frame.offset + link->moved;
    const uint8_t *from = link->in + link->in_start;
    if (to != NULL && (link->frame.type == TCP_PUT_ELEMS || part <= BY_WORDS))
        store(to, from, part, width > 1 ? width : widest((uintptr_t)to | part));
    else if (to != NULL)
        memcpy(to, from, part);
    link->in_start += part;
    link->moved += part;
    *budget -= part;
    return TCP_GOES_ON;
}

/* ------------------------------------------------------------------ requests */

static enum rsm_status check(const struct tcp_link *link, uint32_t right)
{
    if ((link->grant->rights & right) == 0)
        return RSM_ST_DENIED;
    return tcp_is_inside(link->frame.offset, link->frame.length, link->grant->size) ? RSM_ST_OK
                                                                                    : RSM_ST_RANGE;
}

static void begin_write(struct tcp_link *link)
{
    link->refused = check(link, RSM_RIGHT_WRITE) != RSM_ST_OK;
    link->failed += link->refused;
    link->in_frame = true;
    rsm_fence_full(); /* behind what was written before */
}

static void begin_read(struct tcp_server *server, struct tcp_link *link, int64_t *budget)
{
    enum rsm_status status = check(link, RSM_RIGHT_READ);
    struct tcp_frame reply = {.type = TCP_DATA, .id = link->frame.id, .status = status};
    rsm_fence_full(); /* the memory is read behind the request's arrival */
    if (status == RSM_ST_OK) {
        reply.length = link->frame.length;
        link->out_data = link->grant->base + link->frame.offset;
        if (link->frame.type == TCP_GET)
            link->out_length = link->frame.length;
        else
            link->out_elems = link->frame.length;
        if ((link->frame.flags & TCP_FLAG_SNAPSHOT) != 0 &&
            tcp_snapshot_take(server, link, link->frame.length, budget))
            reply.flags = TCP_FLAG_SNAPSHOT;
    }
    answer(link, &reply);
}

/* A coalesced signal does not count behind another that was not reported to rsmd yet. */
static void take_signal(struct tcp_server *server, struct tcp_link *link)
{
    struct rsm_signals *posted = &link->grant->posted;
    if ((link->frame.flags & TCP_FLAG_COALESCED) == 0)
        posted->count += posted->count < RSM_SIGNALS_MAX;
    else if (posted->count == 0)
        posted->coalesced = true;
    tcp_grant_note(server, link->grant);
}

static enum tcp_progress begin_request(struct tcp_server *server, struct tcp_link *link,
                                       int64_t *budget)
{
    switch (link->frame.type) {
    case TCP_PUT:
    case TCP_PUT_ELEMS:
        begin_write(link);
        return TCP_GOES_ON;
    case TCP_GET:
    case TCP_GET_ELEMS:
        begin_read(server, link, budget);
        return TCP_GOES_ON;
    case TCP_SIGNAL:
        take_signal(server, link);
        return TCP_GOES_ON;
    case TCP_FLUSH:
        /* A signal is on its way to rsmd before its importer can report anything behind it. */
        if (link->grant->unreported)
            tcp_server_report(server);
        rsm_fence_full();
        answer_done(link, link->frame.id, RSM_ST_OK);
        return TCP_GOES_ON;
    default:
        return TCP_ENDS;
    }
}

/* A stranger has shown the token of this grant. */
static enum tcp_progress let_in(struct tcp_server *server, struct tcp_link *link,
                                struct tcp_grant *grant, enum tcp_stream stream)
{
    tcp_link_admit(server, link);
    link->grant = grant;
    link->stream = stream;
    grant->link[stream] = link;
    if (stream == TCP_STREAM_SIGNALS) {
        grant->listens = true;
        tcp_grant_note(server, grant);
    }
    answer_hello(link);
    return TCP_GOES_ON;
}

static enum tcp_progress shake_hands(struct tcp_server *server, struct tcp_link *link)
{
    struct tcp_grant *grant;
    enum tcp_stream stream;
    enum tcp_progress progress = tcp_link_shake_hands(server, link, &grant, &stream);
    return progress == TCP_GOES_ON ? let_in(server, link, grant, stream) : progress;
}

/* The first frame of a stranger. Its grant may be among the messages that rsmd has sent. */
static enum tcp_progress admit(struct tcp_server *server, struct tcp_link *link)
{
    const uint8_t *token = link->in + link->in_start;
    enum tcp_stream stream = tcp_stream_of(&link->frame);
    if (link->frame.type != TCP_HELLO || link->frame.id != TCP_WIRE_VERSION)
        return TCP_ENDS;
    struct tcp_grant *grant = tcp_grant_open(server, link->frame.offset, stream, token);
    if (grant == NULL && tcp_server_take_messages(server))
        grant = tcp_grant_open(server, link->frame.offset, stream, token);
    link->in_start += TCP_TOKEN_BYTES;
    if (grant == NULL) {
        int64_t unused = 0;
        answer_done(link, 0, RSM_ST_ABORTED);
        (void)send_output(link, &unused);
        return TCP_ENDS;
    }
    return let_in(server, link, grant, stream);
}

static enum tcp_progress next_request(struct tcp_server *server, struct tcp_link *link,
                                      int64_t *budget)
{
    uint32_t needed = TCP_FRAME_BYTES + (link->grant == NULL ? TCP_TOKEN_BYTES : 0);
    if (available(link) < needed)
        return fill(link, budget);
    link->frame = tcp_frame_decode(link->in + link->in_start);
    link->in_start += TCP_FRAME_BYTES;
    link->moved = 0;
    if (!tcp_request_is_sound(&link->frame))
        return TCP_ENDS;
    if (link->grant == NULL)
        return admit(server, link);
    if (link->stream == TCP_STREAM_DATA)
        return begin_request(server, link, budget);
    if (link->frame.type != TCP_TAKEN)
        return TCP_ENDS;
    link->grant->taken = true;
    tcp_grant_note(server, link->grant);
    return TCP_GOES_ON;
}

/* ------------------------------------------------------------------ turns */

static enum tcp_progress step(struct tcp_server *server, struct tcp_link *link, int64_t *budget)
{
    if (has_output(link))
        return send_output(link, budget);
    if (link->in_frame)
        return take_payload(link, budget);
    *budget -= TCP_FRAME_COST;
    if (link->grant == NULL && server->tls != NULL)
        return shake_hands(server, link);
    return next_request(server, link, budget);
}

static void await_socket(struct tcp_server *server, struct tcp_link *link, bool writes)
{
    struct epoll_event events = {.events = writes ? EPOLLOUT : EPOLLIN, .data.ptr = link};
    if (link->writes != writes)
        (void)epoll_ctl(server->epoll, EPOLL_CTL_MOD, link->channel.socket, &events);
    link->writes = writes;
}

void tcp_link_serve(struct tcp_server *server, struct tcp_link *link)
{
    int64_t budget = server->turn_bytes;
    enum tcp_progress progress = TCP_GOES_ON;
    while (progress == TCP_GOES_ON && budget > 0)
        progress = step(server, link, &budget);
    if (progress == TCP_ENDS) {
        tcp_link_end(server, link);
        return;
    }
    bool busy = progress == TCP_GOES_ON;
    if (busy && !link->busy)
        DL_APPEND2(server->busy, link, busy_prev, busy_next);
    else if (!busy && link->busy)
        DL_DELETE2(server->busy, link, busy_prev, busy_next);
    link->busy = busy;
    if (!busy)
        await_socket(server, link, has_output(link) || link->handshake_writes);
}

void tcp_link_notify(struct tcp_server *server, struct tcp_link *link,
                     const struct rsm_signals *signals)
{
    const struct tcp_frame frame = {.type = TCP_SIGNAL,
                                    .length = signals->count,
                                    .flags = signals->coalesced ? TCP_FLAG_COALESCED : 0};
    if (link->out_end + TCP_FRAME_BYTES > sizeof link->out) /* rsmd sends one at a time */
        return;
    answer(link, &frame);
    tcp_link_serve(server, link);
}
