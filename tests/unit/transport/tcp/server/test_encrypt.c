/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tcpd's loop for a controller that encrypts: importers with a token, and strangers who have none,
 * an old one, or something else to say. */
#include <sys/uio.h>

#include "../bed.h"
#include "base/log.h"
#include "cases.h"

enum { READ_WRITE = RSM_RIGHT_READ | RSM_RIGHT_WRITE, STEPS = 8 };

static struct tcp_tls *calls;

static int begin(void **state)
{
    (void)bed_begin(state);
    struct bed *bed = *state;
    bed->server.tls = tcp_tls_make(true);
    assert_non_null(bed->server.tls);
    return 0;
}

static int end(void **state)
{
    struct bed *bed = *state;
    struct tcp_tls *tls = bed->server.tls;
    (void)bed_end(state);
    tcp_tls_free(tls);
    return 0;
}

/* ------------------------------------------------------------------ importers */

static struct tcp_handshake *handshake_for(int socket, uint64_t id, enum tcp_stream stream,
                                           uint8_t token)
{
    uint8_t bytes[TCP_TOKEN_BYTES];
    const struct tcp_frame hello = {.type = TCP_HELLO,
                                    .flags = stream == TCP_STREAM_SIGNALS ? TCP_FLAG_SIGNALS : 0,
                                    .length = TCP_TOKEN_BYTES,
                                    .offset = id,
                                    .id = TCP_WIRE_VERSION};
    memset(bytes, token, sizeof bytes);
    return tcp_handshake_call(calls, socket, &hello, bytes);
}

/* RECORDS of the channel are NULL: the server has refused. */
static struct tcp_channel join(struct bed *bed, uint64_t id, enum tcp_stream stream, uint8_t token)
{
    struct tcp_channel channel = {bed_call(bed), NULL};
    struct tcp_handshake *handshake = handshake_for(channel.socket, id, stream, token);
    enum tcp_handshake_state state = TCP_HANDSHAKE_READS;
    for (unsigned i = 0; i < STEPS && state == TCP_HANDSHAKE_READS; i++) {
        state = tcp_handshake_step(handshake);
        bed_turn(bed);
    }
    if (state == TCP_HANDSHAKE_DONE)
        channel.records = tcp_handshake_records(handshake, 4, true);
    tcp_handshake_free(handshake);
    return channel;
}

static void leave(struct tcp_channel *channel)
{
    close(channel->socket);
    tcp_records_free(channel->records);
}

static void send_bytes(const struct tcp_channel *channel, const void *bytes, size_t length)
{
    for (size_t at = 0; at < length || tcp_channel_holds(channel);) {
        struct iovec part = {(uint8_t *)(uintptr_t)bytes + at, length - at};
        const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t now = tcp_channel_send(channel, &message, 0);
        assert_true(now >= 0);
        at += (size_t)now;
    }
}

static void send_frame(const struct tcp_channel *channel, struct tcp_frame frame)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    tcp_frame_encode(&frame, bytes);
    send_bytes(channel, bytes, sizeof bytes);
}

/* False: the connection has ended. */
static bool receive_bytes(struct bed *bed, const struct tcp_channel *channel, void *bytes,
                          size_t length)
{
    for (size_t at = 0; at < length;) {
        struct iovec part = {(uint8_t *)bytes + at, length - at};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t now = tcp_channel_receive(channel, &message);
        if (now == 0 || (now < 0 && errno != EAGAIN))
            return false;
        if (now < 0)
            bed_turn(bed);
        at += now > 0 ? (size_t)now : 0;
    }
    return true;
}

static struct tcp_frame reply(struct bed *bed, const struct tcp_channel *channel)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    bed_turn(bed);
    if (!receive_bytes(bed, channel, bytes, sizeof bytes))
        return (struct tcp_frame){.type = 0};
    return tcp_frame_decode(bytes);
}

static struct tcp_channel join_well(struct bed *bed, uint64_t id, enum tcp_stream stream)
{
    struct tcp_channel channel = join(bed, id, stream, (uint8_t)id);
    assert_non_null(channel.records);
    struct tcp_frame done = reply(bed, &channel);
    assert_true(done.type == TCP_DONE && done.status == RSM_ST_OK);
    assert_int_equal(bed->server.stranger_count, 0);
    return channel;
}

static uint64_t failed(struct bed *bed, const struct tcp_channel *channel)
{
    send_frame(channel, (struct tcp_frame){.type = TCP_FLUSH, .id = 77});
    struct tcp_frame done = reply(bed, channel);
    assert_true(done.type == TCP_DONE && done.id == 77);
    return done.offset;
}

/* ------------------------------------------------------------------ with a token */

static void data_goes_there_and_back(void **state)
{
    struct bed *bed = *state;
    static uint8_t there[BED_BYTES], back[BED_BYTES];
    bed_grant(bed, 1, READ_WRITE);
    struct tcp_channel channel = join_well(bed, 1, TCP_STREAM_DATA);
    for (uint32_t length = 1; length <= BED_BYTES; length = length * 3 + 1) {
        for (size_t i = 0; i < length; i++)
            there[i] = (uint8_t)(i * 7 + length);
        send_frame(&channel, (struct tcp_frame){.type = TCP_PUT, .length = length});
        send_bytes(&channel, there, length);
        assert_int_equal(failed(bed, &channel), 0);
        assert_memory_equal(bed->segment, there, length);
        send_frame(&channel, (struct tcp_frame){.type = TCP_GET, .length = length, .id = 5});
        struct tcp_frame data = reply(bed, &channel);
        assert_true(data.type == TCP_DATA && data.length == length);
        assert_true(receive_bytes(bed, &channel, back, length));
        assert_memory_equal(back, there, length);
    }
    send_frame(&channel,
               (struct tcp_frame){.type = TCP_GET_ELEMS, .width = 8, .length = BED_BYTES});
    assert_int_equal(reply(bed, &channel).length, BED_BYTES);
    assert_true(receive_bytes(bed, &channel, back, BED_BYTES));
    assert_memory_equal(back, bed->segment, BED_BYTES);
    assert_true(bed_guards_are_whole(bed));
    leave(&channel);
}

static void rights_and_range_are_those_of_the_grant(void **state)
{
    struct bed *bed = *state;
    uint64_t word = 1;
    bed_grant(bed, 1, RSM_RIGHT_READ);
    bed_grant(bed, 2, RSM_RIGHT_WRITE);
    struct tcp_channel reader = join_well(bed, 1, TCP_STREAM_DATA);
    struct tcp_channel writer = join_well(bed, 2, TCP_STREAM_DATA);
    send_frame(&reader, (struct tcp_frame){.type = TCP_PUT, .length = 8});
    send_bytes(&reader, &word, 8);
    assert_int_equal(failed(bed, &reader), 1);
    send_frame(&writer, (struct tcp_frame){.type = TCP_GET, .length = 8});
    assert_int_equal(reply(bed, &writer).status, RSM_ST_DENIED);
    send_frame(&writer, (struct tcp_frame){.type = TCP_PUT, .length = 8, .offset = BED_BYTES - 4});
    send_bytes(&writer, &word, 8);
    assert_int_equal(failed(bed, &writer), 1);
    assert_int_equal(bed->segment[0], BED_GUARD);
    assert_true(bed_guards_are_whole(bed));
    leave(&reader);
    leave(&writer);
}

static void signals_have_a_stream_of_their_own(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, 0);
    struct tcp_channel channel = join_well(bed, 1, TCP_STREAM_SIGNALS);
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_LISTENS);
    bed_tell(bed, (struct tcp_control){.type = TCP_CONTROL_NOTIFY, .grant = 1, .count = 4});
    struct tcp_frame signal = reply(bed, &channel);
    assert_true(signal.type == TCP_SIGNAL && signal.length == 4);
    send_frame(&channel, (struct tcp_frame){.type = TCP_TAKEN});
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_TAKEN);
    leave(&channel);
}

/* A stream that does not fit into the socket waits, and others do not. */
static void who_does_not_read_holds_nobody_up(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 4000 };
    bed_grant(bed, 1, READ_WRITE);
    bed_grant(bed, 2, READ_WRITE);
    struct tcp_channel idle = join_well(bed, 1, TCP_STREAM_DATA);
    struct tcp_channel other = join_well(bed, 2, TCP_STREAM_DATA);
    for (unsigned i = 0; i < MANY / 10; i++)
        send_frame(&idle, (struct tcp_frame){.type = TCP_GET, .length = BED_BYTES});
    bed_turn(bed);
    assert_int_equal(failed(bed, &other), 0);
    uint8_t bytes[BED_BYTES];
    for (unsigned i = 0; i < MANY / 10; i++) {
        assert_int_equal(reply(bed, &idle).length, BED_BYTES);
        assert_true(receive_bytes(bed, &idle, bytes, sizeof bytes));
    }
    leave(&idle);
    leave(&other);
}

/* ------------------------------------------------------------------ without */

static void assert_ended(struct bed *bed, int socket)
{
    uint8_t bytes[512];
    bed_turn(bed);
    ssize_t got;
    do
        got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT); /* it may say why */
    while (got > 0);
    assert_true(got == 0 || errno == ECONNRESET);
    assert_int_equal(bed->server.stranger_count, 0);
}

static void a_plain_importer_is_refused(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_call(bed);
    bed_hello(fd, 1, TCP_STREAM_DATA, 1);
    assert_ended(bed, fd);
    close(fd);
    struct tcp_channel channel = join_well(bed, 1, TCP_STREAM_DATA); /* its token is not used */
    leave(&channel);
}

static void garbage_is_refused(void **state)
{
    struct bed *bed = *state;
    static const char *const texts[] = {"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\x40\x01",
                                        "\x16\x03\x01\0\x04\x01\x01\0\0"};
    static const size_t lengths[] = {18, 5, 9};
    for (unsigned i = 0; i < 3; i++) {
        int fd = bed_call(bed);
        assert_int_equal(send(fd, texts[i], lengths[i], MSG_NOSIGNAL), lengths[i]);
        shutdown(fd, SHUT_WR);
        assert_ended(bed, fd);
        close(fd);
    }
}

static void a_token_opens_once(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, READ_WRITE);
    struct tcp_channel first = join_well(bed, 1, TCP_STREAM_DATA);
    struct tcp_channel second = join(bed, 1, TCP_STREAM_DATA, 1);
    assert_null(second.records);
    struct tcp_channel wrong = join(bed, 1, TCP_STREAM_SIGNALS, 2);
    assert_null(wrong.records);
    struct tcp_channel unknown = join(bed, 9, TCP_STREAM_DATA, 1);
    assert_null(unknown.records);
    assert_int_equal(bed->server.stranger_count, 0);
    assert_int_equal(failed(bed, &first), 0);
    leave(&first);
    leave(&second);
    leave(&wrong);
    leave(&unknown);
}

/* Of two handshakes with one token the first to end has it. */
static void handshakes_under_way_do_not_share_a_token(void **state)
{
    struct bed *bed = *state;
    int slow = bed_call(bed);
    bed_grant(bed, 1, READ_WRITE);
    struct tcp_handshake *handshake = handshake_for(slow, 1, TCP_STREAM_DATA, 1);
    assert_int_equal(tcp_handshake_step(handshake), TCP_HANDSHAKE_READS);
    bed_turn(bed);
    struct tcp_channel fast = join(bed, 1, TCP_STREAM_DATA, 1);
    assert_non_null(fast.records);
    assert_int_equal(tcp_handshake_step(handshake), TCP_HANDSHAKE_DONE);
    assert_ended(bed, slow);
    assert_int_equal(reply(bed, &fast).type, TCP_DONE);
    assert_int_equal(failed(bed, &fast), 0);
    tcp_handshake_free(handshake);
    close(slow);
    leave(&fast);
}

/* Who has read what an importer sends first, and repeats it, neither gets in nor uses up the token. */
static void a_repeated_message_uses_no_token(void **state)
{
    struct bed *bed = *state;
    uint8_t bytes[2048];
    int pair[2];
    bed_grant(bed, 1, READ_WRITE);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct tcp_handshake *handshake = handshake_for(pair[0], 1, TCP_STREAM_DATA, 1);
    assert_int_equal(tcp_handshake_step(handshake), TCP_HANDSHAKE_READS);
    ssize_t length = recv(pair[1], bytes, sizeof bytes, 0);
    int fd = bed_call(bed);
    assert_int_equal(send(fd, bytes, (size_t)length, MSG_NOSIGNAL), length);
    bed_turn(bed);
    assert_int_equal(bed->server.stranger_count, 1);
    struct tcp_channel importer = join(bed, 1, TCP_STREAM_DATA, 1);
    assert_non_null(importer.records);
    assert_int_equal(send(fd, bytes, (size_t)length, MSG_NOSIGNAL), length);
    assert_ended(bed, fd);
    tcp_handshake_free(handshake);
    close(pair[0]);
    close(pair[1]);
    close(fd);
    leave(&importer);
}

static void a_revoked_grant_ends_a_handshake(void **state)
{
    struct bed *bed = *state;
    int fd = bed_call(bed);
    bed_grant(bed, 1, READ_WRITE);
    struct tcp_handshake *handshake = handshake_for(fd, 1, TCP_STREAM_DATA, 1);
    assert_int_equal(tcp_handshake_step(handshake), TCP_HANDSHAKE_READS);
    bed_turn(bed);
    bed_tell(bed, (struct tcp_control){.type = TCP_CONTROL_REVOKE, .grant = 1});
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_REVOKED);
    assert_int_equal(tcp_handshake_step(handshake), TCP_HANDSHAKE_DONE);
    assert_ended(bed, fd);
    tcp_handshake_free(handshake);
    close(fd);
}

/* Half a handshake is no place for ever, and one more stranger makes another go. */
static void stalled_strangers_give_way(void **state)
{
    struct bed *bed = *state;
    int fds[BED_STRANGERS + 4];
    enum { COUNT = sizeof fds / sizeof fds[0] };
    for (unsigned i = 0; i < COUNT; i++) {
        fds[i] = bed_call(bed);
        assert_int_equal(send(fds[i], "\x16\x03\x01\x01", 4, MSG_NOSIGNAL), 4);
        bed_turn(bed);
    }
    assert_int_equal(bed->server.stranger_count, BED_STRANGERS);
    bed_grant(bed, 1, READ_WRITE);
    struct tcp_channel channel = join(bed, 1, TCP_STREAM_DATA, 1);
    assert_non_null(channel.records);
    leave(&channel);
    bed->server.timeout_ns = 1;
    bed_turn(bed);
    assert_int_equal(bed->server.stranger_count, 0);
    for (unsigned i = 0; i < COUNT; i++)
        close(fds[i]);
}

/* A byte that was changed on the way lands nowhere, and ends the connection alone. */
static void a_changed_byte_does_not_land(void **state)
{
    struct bed *bed = *state;
    static uint8_t sealed[BED_BYTES + 1024];
    uint8_t payload[1000];
    int pair[2];
    bed_grant(bed, 1, READ_WRITE);
    bed_grant(bed, 2, READ_WRITE);
    struct tcp_channel channel = join_well(bed, 1, TCP_STREAM_DATA);
    struct tcp_channel other = join_well(bed, 2, TCP_STREAM_DATA);
    const struct tcp_frame put = {.type = TCP_PUT, .length = sizeof payload};
    memset(payload, 0x11, sizeof payload);
    send_frame(&channel, put);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const struct tcp_channel aside = {pair[0], channel.records};
    send_bytes(&aside, payload, sizeof payload);
    ssize_t length = recv(pair[1], sealed, sizeof sealed, 0);
    sealed[500] ^= 1;
    assert_int_equal(send(channel.socket, sealed, (size_t)length, MSG_NOSIGNAL), length);
    struct tcp_control told = bed_told(bed);
    assert_true(told.type == TCP_CONTROL_LOST && told.grant == 1);
    for (unsigned i = 0; i < sizeof payload; i++)
        assert_int_equal(bed->segment[i], BED_GUARD);
    assert_int_equal(failed(bed, &other), 0);
    close(pair[0]);
    close(pair[1]);
    leave(&channel);
    leave(&other);
}

/* A record costs a part of the turn, however little is in it. */
static void small_records_take_turns(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 3000 };
    uint8_t byte = 1;
    bed_grant(bed, 1, READ_WRITE);
    bed_grant(bed, 2, READ_WRITE);
    struct tcp_channel many = join_well(bed, 1, TCP_STREAM_DATA);
    struct tcp_channel one = join_well(bed, 2, TCP_STREAM_DATA);
    const struct tcp_grant *grant = bed->server.grants;
    while (grant->id != 1)
        grant = grant->hh.next;
    send_frame(&many, (struct tcp_frame){.type = TCP_PUT, .length = MANY});
    bed_turn(bed);
    for (unsigned i = 0; i < MANY; i++)
        send_bytes(&many, &byte, 1);
    send_frame(&one, (struct tcp_frame){.type = TCP_FLUSH});
    assert_true(tcp_server_turn(&bed->server, false));
    assert_in_range(grant->link[TCP_STREAM_DATA]->moved, 1, 2 * TCP_TURN_BYTES / TCP_FRAME_COST);
    assert_int_equal(failed(bed, &many), 0);
    assert_int_equal(reply(bed, &one).type, TCP_DONE);
    leave(&many);
    leave(&one);
}

static int make_calls(void **state)
{
    (void)state;
    calls = tcp_tls_make(false);
    return calls != NULL ? 0 : -1;
}

static int free_calls(void **state)
{
    (void)state;
    tcp_tls_free(calls);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(data_goes_there_and_back),
        TEST(rights_and_range_are_those_of_the_grant),
        TEST(signals_have_a_stream_of_their_own),
        TEST(who_does_not_read_holds_nobody_up),
        TEST(a_plain_importer_is_refused),
        TEST(garbage_is_refused),
        TEST(a_token_opens_once),
        TEST(handshakes_under_way_do_not_share_a_token),
        TEST(a_repeated_message_uses_no_token),
        TEST(a_revoked_grant_ends_a_handshake),
        TEST(stalled_strangers_give_way),
        TEST(a_changed_byte_does_not_land),
        TEST(small_records_take_turns),
    };
    return cmocka_run_group_tests(tests, make_calls, free_calls);
}
