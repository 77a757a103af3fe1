/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

#include "base/extent_memfd.h"
#include "cases.h"
#include "transport/tcp/common/socket.h"

enum { TIMEOUT_MS = 10000, TURNS = 400, ENDED = 255 };

/* ------------------------------------------------------------------ begin and end */

static int listen_here(struct bed *bed)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bed->address = calloc(1, sizeof *bed->address);
    assert_true(tcp_address_find("", 0, bed->address));
    assert_int_equal(bind(fd, &bed->address->u.any, bed->address->length), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, &bed->address->u.any, &bed->address->length), 0);
    return fd;
}

static void make_memory(struct bed *bed)
{
    bed->page = (size_t)sysconf(_SC_PAGESIZE);
    size_t all = BED_BYTES + 2 * bed->page;
    bed->memory = rsmcore_extent_memfd(all);
    assert_true(bed->memory >= 0);
    bed->mapped = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, bed->memory, 0);
    assert_true(bed->mapped != MAP_FAILED);
    bed->segment = bed->mapped + bed->page;
    memset(bed->mapped, BED_GUARD, all);
}

int bed_begin(void **state)
{
    struct bed *bed = calloc(1, sizeof *bed);
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    bed->server =
        (struct tcp_server){.control = sockets[1], .listener = -1, .strangers_max = BED_STRANGERS};
    bed->server.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &bed->server.control};
    assert_int_equal(epoll_ctl(bed->server.epoll, EPOLL_CTL_ADD, sockets[1], &readable), 0);
    bed->control = sockets[0];
    make_memory(bed);
    int listener = listen_here(bed);
    struct tcp_control message = {.type = TCP_CONTROL_LISTEN, .timeout_ms = TIMEOUT_MS};
    assert_int_equal(
        tcp_control_send(bed->control, &message, &(struct rsm_packet_fds){1, {listener}}), 0);
    close(listener);
    bed_turn(bed);
    assert_true(bed->server.listener >= 0);
    *state = bed;
    return 0;
}

int bed_end(void **state)
{
    struct bed *bed = *state;
    tcp_server_end(&bed->server);
    close(bed->server.control);
    close(bed->server.listener);
    close(bed->server.epoll);
    close(bed->control);
    munmap(bed->mapped, BED_BYTES + 2 * bed->page);
    close(bed->memory);
    free(bed->address);
    free(bed);
    return 0;
}

/* ------------------------------------------------------------------ rsmd's side */

void bed_turn(struct bed *bed)
{
    for (unsigned i = 0; i < TURNS; i++)
        assert_true(tcp_server_turn(&bed->server, false));
}

void bed_tell(struct bed *bed, struct tcp_control message)
{
    assert_int_equal(tcp_control_send(bed->control, &message, NULL), 0);
    bed_turn(bed);
}

void bed_grant(struct bed *bed, uint64_t id, uint32_t rights)
{
    struct tcp_control message = {
        .type = TCP_CONTROL_GRANT, .grant = id, .rights = rights, .pieces = rights != 0 ? 1 : 0};
    memset(message.token, (int)id, sizeof message.token);
    message.piece[0].offset = bed->page;
    message.piece[0].length = BED_BYTES;
    int fd = rsmcore_extent_memfd_share(bed->memory, (rights & RSM_RIGHT_WRITE) != 0);
    assert_true(fd >= 0);
    const struct rsm_packet_fds fds = {.count = message.pieces, .fds = {fd}};
    assert_int_equal(tcp_control_send(bed->control, &message, &fds), 0);
    close(fd);
}

struct tcp_control bed_told(struct bed *bed)
{
    struct tcp_control message = {.type = 0};
    struct rsm_packet_fds fds = {.count = 0};
    bed_turn(bed);
    int got = tcp_control_receive(bed->control, &message, &fds);
    assert_true(got >= 0);
    assert_int_equal(fds.count, 0);
    return got == 1 ? message : (struct tcp_control){.type = 0};
}

/* ------------------------------------------------------------------ the importers' side */

int bed_call(struct bed *bed)
{
    return bed_call_from(bed, 1);
}

int bed_call_from(struct bed *bed, uint8_t last)
{
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, &bed->address->u.any, bed->address->length), 0);
    tcp_socket_set(fd, TIMEOUT_MS);
    bed_turn(bed);
    return fd;
}

void bed_send(int socket, struct tcp_frame frame, const void *payload, size_t length)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    tcp_frame_encode(&frame, bytes);
    assert_int_equal(send(socket, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    if (length > 0)
        assert_int_equal(send(socket, payload, length, MSG_NOSIGNAL), length);
}

void bed_hello(int socket, uint64_t id, enum tcp_stream stream, uint64_t token)
{
    uint8_t bytes[TCP_TOKEN_BYTES];
    memset(bytes, (int)token, sizeof bytes);
    bed_send(socket,
             (struct tcp_frame){.type = TCP_HELLO,
                                .flags = stream == TCP_STREAM_SIGNALS ? TCP_FLAG_SIGNALS : 0,
                                .length = sizeof bytes,
                                .offset = id,
                                .id = TCP_WIRE_VERSION},
             bytes, sizeof bytes);
}

struct tcp_frame bed_reply(struct bed *bed, int socket, void *payload)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    bed_turn(bed);
    ssize_t got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return (struct tcp_frame){.type = 0};
    if (got <= 0)
        return (struct tcp_frame){.type = ENDED};
    assert_int_equal(got, sizeof bytes);
    struct tcp_frame frame = tcp_frame_decode(bytes);
    assert_true(tcp_reply_is_sound(&frame));
    for (size_t at = 0; frame.type == TCP_DATA && at < frame.length;) {
        got = recv(socket, (uint8_t *)payload + at, frame.length - at, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            bed_turn(bed);
        else
            at += (size_t)got;
    }
    return frame;
}

int bed_connect(struct bed *bed, uint64_t id, enum tcp_stream stream)
{
    int fd = bed_call(bed);
    bed_hello(fd, id, stream, id);
    struct tcp_frame done = bed_reply(bed, fd, NULL);
    assert_int_equal(done.type, TCP_DONE);
    assert_int_equal(done.status, RSM_ST_OK);
    return fd;
}

uint64_t bed_failed(struct bed *bed, int socket)
{
    bed_send(socket, (struct tcp_frame){.type = TCP_FLUSH, .id = 77}, NULL, 0);
    struct tcp_frame done = bed_reply(bed, socket, NULL);
    assert_int_equal(done.type, TCP_DONE);
    assert_int_equal(done.id, 77);
    return done.offset;
}

bool bed_guards_are_whole(const struct bed *bed)
{
    for (size_t i = 0; i < bed->page; i++)
        if (bed->mapped[i] != BED_GUARD || bed->segment[BED_BYTES + i] != BED_GUARD)
            return false;
    return true;
}
