/* SPDX-License-Identifier: BSD-3-Clause */
/* What importers can do, honest and hostile ones: each request is held to the grant, and what makes
 * no sense ends the connection alone. */
#include <sys/uio.h>

#include "../bed.h"
#include "cases.h"

enum { ENDED = 255, READ_WRITE = RSM_RIGHT_READ | RSM_RIGHT_WRITE };

static void data_goes_there_and_back(void **state)
{
    struct bed *bed = *state;
    uint8_t there[5000], back[sizeof there];
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    for (size_t i = 0; i < sizeof there; i++)
        there[i] = (uint8_t)(i * 7);
    bed_send(fd, (struct tcp_frame){.type = TCP_PUT, .length = sizeof there, .offset = 13}, there,
             sizeof there);
    assert_int_equal(bed_failed(bed, fd), 0);
    assert_memory_equal(bed->segment + 13, there, sizeof there);
    bed_send(fd, (struct tcp_frame){.type = TCP_GET, .length = sizeof back, .offset = 13, .id = 5},
             NULL, 0);
    struct tcp_frame data = bed_reply(bed, fd, back);
    assert_true(data.type == TCP_DATA && data.id == 5 && data.status == RSM_ST_OK);
    assert_memory_equal(back, there, sizeof there);
    close(fd);
}

static void elements_keep_their_width(void **state)
{
    struct bed *bed = *state;
    uint64_t words[700], back[700];
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    for (unsigned i = 0; i < 700; i++)
        words[i] = i * UINT64_C(0x0101010101010101);
    struct tcp_frame put = {
        .type = TCP_PUT_ELEMS, .width = 8, .length = sizeof words, .offset = 64};
    bed_send(fd, put, words, 3); /* an element in two parts */
    bed_turn(bed);
    assert_int_equal(bed->segment[64], BED_GUARD);
    assert_int_equal(send(fd, (uint8_t *)words + 3, sizeof words - 3, 0), sizeof words - 3);
    assert_int_equal(bed_failed(bed, fd), 0);
    assert_memory_equal(bed->segment + 64, words, sizeof words);
    bed_send(fd,
             (struct tcp_frame){
                 .type = TCP_GET_ELEMS, .width = 4, .length = sizeof back, .offset = 64, .id = 1},
             NULL, 0);
    assert_int_equal(bed_reply(bed, fd, back).length, sizeof back);
    assert_memory_equal(back, words, sizeof words);
    close(fd);
}

static void nothing_beyond_the_segment(void **state)
{
    struct bed *bed = *state;
    static const struct {
        uint64_t offset;
        uint32_t length;
    } places[] = {{BED_BYTES, 1},  {BED_BYTES - 1, 2},        {BED_BYTES + 1, 0},
                  {UINT64_MAX, 1}, {UINT64_MAX - 7, 16},      {0, BED_BYTES + 1},
                  {1ULL << 63, 8}, {0 - (uint64_t)4096, 4096}};
    static uint8_t bytes[BED_BYTES + 1];
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    for (uint32_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct tcp_frame frame = {
            .type = TCP_PUT, .offset = places[i].offset, .length = places[i].length};
        bed_send(fd, frame, bytes, frame.length);
        assert_int_equal(bed_failed(bed, fd), i + 1);
        frame.type = TCP_GET;
        bed_send(fd, frame, NULL, 0);
        struct tcp_frame reply = bed_reply(bed, fd, bytes);
        assert_true(reply.type == TCP_DATA && reply.status == RSM_ST_RANGE && reply.length == 0);
    }
    assert_true(bed_guards_are_whole(bed));
    assert_int_equal(bed->segment[0], BED_GUARD);
    close(fd);
}

static void rights_are_those_of_the_grant(void **state)
{
    struct bed *bed = *state;
    uint64_t word = 1;
    const uint32_t rights[] = {0, RSM_RIGHT_READ, RSM_RIGHT_WRITE};
    for (unsigned i = 0; i < 3; i++) {
        bed_grant(bed, i + 1, rights[i]);
        int fd = bed_connect(bed, i + 1, TCP_STREAM_DATA);
        struct tcp_frame frame = {.type = TCP_PUT_ELEMS, .width = 8, .length = 8};
        bed_send(fd, frame, &word, 8);
        frame = (struct tcp_frame){.type = TCP_PUT, .length = 8};
        bed_send(fd, frame, &word, 8);
        assert_int_equal(bed_failed(bed, fd), rights[i] == RSM_RIGHT_WRITE ? 0 : 2);
        assert_int_equal(bed->segment[0], rights[i] == RSM_RIGHT_WRITE ? 1 : BED_GUARD);
        frame = (struct tcp_frame){.type = TCP_GET, .length = 8};
        bed_send(fd, frame, NULL, 0);
        assert_int_equal(bed_reply(bed, fd, &word).status,
                         rights[i] == RSM_RIGHT_READ ? RSM_ST_OK : RSM_ST_DENIED);
        word = 1;
        close(fd);
    }
}

/* The stream goes on behind a write that was refused. */
static void a_refused_write_is_skipped(void **state)
{
    struct bed *bed = *state;
    static uint8_t bytes[100000];
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    memset(bytes, TCP_PUT, sizeof bytes);
    bed_send(fd, (struct tcp_frame){.type = TCP_PUT, .length = sizeof bytes}, bytes, sizeof bytes);
    bed_send(fd, (struct tcp_frame){.type = TCP_PUT, .length = 4}, "good", 4);
    assert_int_equal(bed_failed(bed, fd), 1);
    assert_memory_equal(bed->segment, "good", 4);
    close(fd);
}

static void frames_that_make_no_sense_end_the_connection(void **state)
{
    struct bed *bed = *state;
    static const struct tcp_frame frames[] = {
        {.type = 0},
        {.type = 200},
        {.type = TCP_DONE},
        {.type = TCP_DATA, .length = 8},
        {.type = TCP_HELLO, .length = TCP_TOKEN_BYTES, .id = TCP_WIRE_VERSION},
        {.type = TCP_TAKEN},
        {.type = TCP_PUT, .length = TCP_PAYLOAD_MAX + 1},
        {.type = TCP_GET, .length = UINT32_MAX},
        {.type = TCP_PUT, .length = 8, .width = 8},
        {.type = TCP_PUT, .length = 8, .flags = 1},
        {.type = TCP_GET, .length = 8, .status = 1},
        {.type = TCP_GET, .length = 8, .flags = 2},
        {.type = TCP_GET_ELEMS, .length = 8, .width = 8, .flags = 1},
        {.type = TCP_PUT_ELEMS, .length = 8, .width = 3},
        {.type = TCP_PUT_ELEMS, .length = 7, .width = 4},
        {.type = TCP_GET_ELEMS, .length = 8, .width = 8, .offset = 4},
        {.type = TCP_GET_ELEMS, .length = 8},
        {.type = TCP_FLUSH, .length = 1},
        {.type = TCP_SIGNAL, .length = 1},
        {.type = TCP_SIGNAL, .flags = 2},
    };
    bed_grant(bed, 100, READ_WRITE);
    int other = bed_connect(bed, 100, TCP_STREAM_DATA);
    for (uint64_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        bed_grant(bed, i + 1, READ_WRITE);
        int fd = bed_connect(bed, i + 1, TCP_STREAM_DATA);
        bed_send(fd, frames[i], NULL, 0);
        assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
        struct tcp_control told = bed_told(bed);
        assert_true(told.type == TCP_CONTROL_LOST && told.grant == i + 1);
        close(fd);
    }
    assert_int_equal(bed_failed(bed, other), 0);
    close(other);
}

/* It is not read from either, so it gets what fits into the sockets, and holds nobody up. */
static void who_does_not_read_is_not_read_from(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 4000 };
    bed_grant(bed, 1, READ_WRITE);
    bed_grant(bed, 2, READ_WRITE);
    int idle = bed_connect(bed, 1, TCP_STREAM_DATA), other = bed_connect(bed, 2, TCP_STREAM_DATA);
    const struct tcp_frame get = {.type = TCP_GET, .length = BED_BYTES};
    uint8_t bytes[TCP_FRAME_BYTES];
    tcp_frame_encode(&get, bytes);
    for (unsigned i = 0; i < MANY; i++)
        (void)send(idle, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    bed_turn(bed);
    assert_int_equal(bed_failed(bed, other), 0);
    const struct tcp_grant *grant = bed->server.grants;
    while (grant->id != 1)
        grant = grant->hh.next;
    assert_non_null(grant->link[TCP_STREAM_DATA]);
    assert_true(grant->link[TCP_STREAM_DATA]->writes);
    close(idle);
    close(other);
}

/* The header behind a payload comes with its end, in one part, in two, or not at all. */
static void a_header_follows_a_payload(void **state)
{
    struct bed *bed = *state;
    enum { HELD = 10 };
    static uint8_t bytes[BED_BYTES], next[TCP_FRAME_BYTES];
    const struct tcp_frame put = {.type = TCP_PUT, .length = sizeof bytes};
    const struct tcp_frame flush = {.type = TCP_FLUSH, .id = 7};
    bed_grant(bed, 1, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    tcp_frame_encode(&flush, next);
    for (unsigned part = 0; part <= TCP_FRAME_BYTES; part += TCP_FRAME_BYTES / 2) {
        memset(bytes, (int)part + 1, sizeof bytes);
        bed_send(fd, put, bytes, sizeof bytes - HELD);
        bed_turn(bed);
        const struct iovec parts[2] = {{bytes, HELD}, {next, part}};
        assert_int_equal(writev(fd, parts, 2), HELD + part);
        bed_turn(bed);
        assert_memory_equal(bed->segment, bytes, sizeof bytes);
        assert_true(bed_guards_are_whole(bed));
        if (part < TCP_FRAME_BYTES)
            assert_int_equal(send(fd, next + part, TCP_FRAME_BYTES - part, 0),
                             TCP_FRAME_BYTES - part);
        struct tcp_frame done = bed_reply(bed, fd, NULL);
        assert_true(done.type == TCP_DONE && done.id == 7 && done.offset == 0);
    }
    close(fd);
}

static const struct tcp_link *link_of(const struct bed *bed, uint64_t id)
{
    const struct tcp_grant *grant = bed->server.grants;
    while (grant->id != id)
        grant = grant->hh.next;
    return grant->link[TCP_STREAM_DATA];
}

/* A turn is shorter while another connection has something to do. Refused requests are counted. */
static void turns_are_short_in_company(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 2400, IN_TURN = TCP_TURN_BYTES / TCP_FRAME_COST };
    static uint8_t bytes[MANY][TCP_FRAME_BYTES];
    const struct tcp_frame put = {.type = TCP_PUT};
    bed_grant(bed, 1, RSM_RIGHT_READ);
    bed_grant(bed, 2, RSM_RIGHT_READ);
    int many = bed_connect(bed, 1, TCP_STREAM_DATA), one = bed_connect(bed, 2, TCP_STREAM_DATA);
    for (unsigned i = 0; i < MANY; i++)
        tcp_frame_encode(&put, bytes[i]);
    assert_int_equal(send(many, bytes, sizeof bytes, 0), sizeof bytes);
    assert_true(tcp_server_turn(&bed->server, false));
    assert_int_equal(link_of(bed, 1)->failed, MANY);
    bed_turn(bed);
    assert_int_equal(send(many, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(send(one, bytes, TCP_FRAME_BYTES, 0), TCP_FRAME_BYTES);
    assert_true(tcp_server_turn(&bed->server, false));
    assert_int_equal(link_of(bed, 2)->failed, 1);
    assert_in_range(link_of(bed, 1)->failed, MANY + IN_TURN, MANY + 2 * IN_TURN);
    bed_turn(bed);
    assert_int_equal(link_of(bed, 1)->failed, 2 * MANY);
    close(many);
    close(one);
}

static void signals_are_counted(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, 0);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    const struct tcp_frame coalesced = {.type = TCP_SIGNAL, .flags = TCP_FLAG_COALESCED};
    bed_send(fd, coalesced, NULL, 0);
    bed_send(fd, coalesced, NULL, 0);
    for (unsigned i = 0; i < 3; i++)
        bed_send(fd, (struct tcp_frame){.type = TCP_SIGNAL}, NULL, 0);
    bed_send(fd, coalesced, NULL, 0); /* behind others it does not count */
    struct tcp_control told = bed_told(bed);
    assert_true(told.type == TCP_CONTROL_SIGNALLED && told.grant == 1);
    assert_true(told.count == 3 && told.coalesced == 1);
    assert_int_equal(bed_told(bed).type, 0);
    close(fd);
}

static void signals_of_the_exporter_are_acknowledged(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, 0);
    int fd = bed_connect(bed, 1, TCP_STREAM_SIGNALS);
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_LISTENS);
    bed_tell(bed, (struct tcp_control){
                      .type = TCP_CONTROL_NOTIFY, .grant = 1, .count = 4, .coalesced = 1});
    struct tcp_frame signal = bed_reply(bed, fd, NULL);
    assert_true(signal.type == TCP_SIGNAL && signal.length == 4);
    assert_int_equal(signal.flags, TCP_FLAG_COALESCED);
    bed_send(fd, (struct tcp_frame){.type = TCP_TAKEN}, NULL, 0);
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_TAKEN);
    bed_send(fd, (struct tcp_frame){.type = TCP_FLUSH}, NULL, 0); /* not on this stream */
    assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_begin, bed_end)
    const struct CMUnitTest tests[] = {
        TEST(data_goes_there_and_back),
        TEST(elements_keep_their_width),
        TEST(nothing_beyond_the_segment),
        TEST(rights_are_those_of_the_grant),
        TEST(a_refused_write_is_skipped),
        TEST(frames_that_make_no_sense_end_the_connection),
        TEST(who_does_not_read_is_not_read_from),
        TEST(a_header_follows_a_payload),
        TEST(turns_are_short_in_company),
        TEST(signals_are_counted),
        TEST(signals_of_the_exporter_are_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
