/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsm-tcpd reads of importers, and the two sides of its control socket of each other. The first
 * byte chooses: an importer's stream, in parts, with or without a token; a message; an offer. Whatever is
 * sent, what lies around the segment stays as it is, and so does the segment without the right to write. */
#include "base/extent_memfd.h"
#include "check.h"
#include "fuzz.h"
#include "input.h"
#include "transport/tcp/server/server.h"

enum {
    PAGE = 4096,
    SEGMENT = 2 * PAGE,
    ALL = SEGMENT + 2 * PAGE,
    GUARD = 0x5a,
    TOKEN = 0x77,
    STRANGERS = 2
};

static struct tcp_server server;
static int control = -1, memory = -1;
static uint8_t *mapped;
static struct sockaddr_un place = {.sun_family = AF_UNIX};

/* ------------------------------------------------------------------ messages */

static void try_message(const uint8_t *data, size_t size)
{
    uint8_t again[TCP_CONTROL_MAX];
    static struct tcp_control message;
    if (!tcp_control_decode(data, size, &message))
        return;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < message.pieces; i++) {
        CHECK(message.piece[i].length > 0 && message.piece[i].length <= INT64_MAX - sum);
        sum += message.piece[i].length;
    }
    CHECK(tcp_control_encode(&message, again) == size && memcmp(again, data, size) == 0);
}

static void try_offer(const uint8_t *data, size_t size)
{
    uint8_t again[TCP_OFFER_BYTES];
    struct tcp_offer offer;
    if (tcp_offer_decode(data, size, &offer) != RSM_ST_OK)
        return;
    CHECK(offer.port > 0 && offer.port <= UINT16_MAX && size == sizeof again);
    tcp_offer_encode(&offer, again);
    CHECK(memcmp(again, data, size) == 0);
}

/* ------------------------------------------------------------------ a stream */

static void turn(void)
{
    for (unsigned i = 0; i < 4; i++) {
        int64_t begin = fuzz_step_begin();
        CHECK(tcp_server_turn(&server, false));
        fuzz_step_end(begin, "a turn of rsm-tcpd");
    }
}

/* A listener that gives no numbers away: sockets of TCP would be used up. */
static void prepare(void)
{
    int sockets[2];
    struct tcp_control message = {.type = TCP_CONTROL_LISTEN, .timeout_ms = 60000};
    socklen_t length = sizeof place;
    if (control >= 0)
        return;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    control = sockets[0];
    server = (struct tcp_server){.control = sockets[1], .listener = -1, .strangers_max = STRANGERS};
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &server.control};
    CHECK(epoll_ctl(server.epoll, EPOLL_CTL_ADD, server.control, &readable) == 0);
    memory = rsmcore_extent_memfd(ALL);
    mapped = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    CHECK(mapped != MAP_FAILED);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(bind(listener, (struct sockaddr *)&place, sizeof place.sun_family) == 0); /* autobind */
    CHECK(getsockname(listener, (struct sockaddr *)&place, &length) == 0);
    CHECK(listen(listener, 8) == 0);
    CHECK(tcp_control_send(control, &message, &(struct rsm_packet_fds){1, {listener}}) == 0);
    close(listener);
    turn();
}

static void grant(uint32_t rights)
{
    struct tcp_control message = {
        .type = TCP_CONTROL_GRANT, .grant = 1, .rights = rights, .pieces = rights != 0 ? 1 : 0};
    memset(message.token, TOKEN, sizeof message.token);
    message.piece[0].offset = PAGE;
    message.piece[0].length = SEGMENT;
    int fd = rsmcore_extent_memfd_share(memory, (rights & RSM_RIGHT_WRITE) != 0);
    const struct rsm_packet_fds fds = {.count = message.pieces, .fds = {fd}};
    CHECK(fd >= 0 && tcp_control_send(control, &message, &fds) == 0);
    close(fd);
}

static int call(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&place, sizeof place.sun_family + 6) == 0);
    return fd;
}

static void greet(int fd, uint16_t flags)
{
    uint8_t bytes[TCP_FRAME_BYTES + TCP_TOKEN_BYTES];
    const struct tcp_frame hello = {.type = TCP_HELLO,
                                    .flags = flags,
                                    .length = TCP_TOKEN_BYTES,
                                    .offset = 1,
                                    .id = TCP_WIRE_VERSION};
    tcp_frame_encode(&hello, bytes);
    memset(bytes + TCP_FRAME_BYTES, TOKEN, TCP_TOKEN_BYTES);
    CHECK(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes);
}

/* A header whose members are in their bounds, mostly. */
static size_t make_frame(struct input *in, uint8_t bytes[TCP_FRAME_BYTES])
{
    struct tcp_frame frame = {.type = input_u8(in) % (TCP_DONE + 2),
                              .length = (uint32_t)input_number(in),
                              .offset = input_number(in),
                              .id = input_u8(in)};
    if (frame.type == TCP_PUT_ELEMS || frame.type == TCP_GET_ELEMS)
        frame.width = (uint8_t)(1u << input_below(in, 4));
    if (input_below(in, 16) == 0)
        frame.flags = input_u8(in);
    tcp_frame_encode(&frame, bytes);
    return TCP_FRAME_BYTES;
}

static void drain(int fd)
{
    static uint8_t bytes[65536];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

static void rsmd_reads(void)
{
    struct tcp_control message;
    struct rsm_packet_fds fds;
    while (tcp_control_receive(control, &message, &fds) == 1)
        CHECK(fds.count == 0 && message.grant <= 1 && message.type >= TCP_CONTROL_SIGNALLED);
}

static bool is_whole(const uint8_t *from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (from[i] != GUARD)
            return false;
    return true;
}

static void try_stream(struct input *in)
{
    uint8_t bytes[256];
    prepare();
    memset(mapped, GUARD, ALL);
    uint32_t rights = input_u8(in) & (RSM_RIGHT_READ | RSM_RIGHT_WRITE);
    unsigned kind = input_below(in, 4); /* 0: a stranger */
    grant(rights);
    int fd = call();
    if (kind > 0)
        greet(fd, kind == 1 ? TCP_FLAG_SIGNALS : 0);
    turn();
    while (!input_ends(in)) {
        size_t length =
            input_below(in, 4) != 0 ? make_frame(in, bytes) : input_bytes(in, bytes, input_u8(in));
        if (send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        turn();
        if (input_below(in, 8) != 0)
            drain(fd);
        rsmd_reads();
    }
    struct tcp_control revoke = {.type = TCP_CONTROL_REVOKE, .grant = 1};
    CHECK(tcp_control_send(control, &revoke, NULL) == 0);
    turn();
    rsmd_reads();
    CHECK(is_whole(mapped, PAGE) && is_whole(mapped + PAGE + SEGMENT, PAGE));
    CHECK((rights & RSM_RIGHT_WRITE) != 0 || is_whole(mapped, ALL));
    close(fd);
    turn();
    CHECK(server.grants == NULL && server.strangers == NULL && server.busy == NULL);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {data + 1, size - 1};
    if (size == 0)
        return;
    if (data[0] < 16)
        try_message(data + 1, size - 1);
    else if (data[0] < 32)
        try_offer(data + 1, size - 1);
    else
        try_stream(&in);
}
