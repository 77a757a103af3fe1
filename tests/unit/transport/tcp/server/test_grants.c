/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens, and the ends of grants. */
#include "../bed.h"
#include "cases.h"

enum { ENDED = 255, READ_WRITE = RSM_RIGHT_READ | RSM_RIGHT_WRITE };

static void refused(struct bed *bed, uint64_t id, enum tcp_stream stream, uint64_t token)
{
    int fd = bed_call(bed);
    bed_hello(fd, id, stream, token);
    struct tcp_frame done = bed_reply(bed, fd, NULL);
    assert_true(done.type == TCP_DONE && done.status == RSM_ST_ABORTED);
    assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
    close(fd);
}

static void a_token_opens_once(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, READ_WRITE);
    refused(bed, 1, TCP_STREAM_DATA, 2);
    refused(bed, 2, TCP_STREAM_DATA, 1);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA);
    refused(bed, 1, TCP_STREAM_DATA, 1);
    close(fd);
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_LOST);
    refused(bed, 1, TCP_STREAM_DATA, 1);
}

/* rsmd's message may lie in the socket when the importer is there already. */
static void a_grant_is_known_before_its_importer(void **state)
{
    struct bed *bed = *state;
    int fd = bed_call(bed);
    bed_grant(bed, 1, READ_WRITE);
    bed_hello(fd, 1, TCP_STREAM_DATA, 1);
    assert_int_equal(bed_reply(bed, fd, NULL).status, RSM_ST_OK);
    close(fd);
}

static void nothing_lands_behind_a_revoke(void **state)
{
    struct bed *bed = *state;
    static uint8_t bytes[4096];
    bed_grant(bed, 1, READ_WRITE);
    bed_grant(bed, 2, READ_WRITE);
    int fd = bed_connect(bed, 1, TCP_STREAM_DATA), other = bed_connect(bed, 2, TCP_STREAM_DATA);
    struct tcp_frame put = {.type = TCP_PUT, .length = sizeof bytes};
    bed_send(fd, put, bytes, sizeof bytes / 2); /* half of a write is there */
    bed_turn(bed);
    assert_int_equal(bed->segment[0], 0);
    bed_tell(bed, (struct tcp_control){.type = TCP_CONTROL_REVOKE, .grant = 1});
    struct tcp_control told = bed_told(bed);
    assert_true(told.type == TCP_CONTROL_REVOKED && told.grant == 1);
    memset(bed->segment, BED_GUARD, BED_BYTES);
    (void)send(fd, bytes, sizeof bytes / 2, MSG_NOSIGNAL);
    bed_turn(bed);
    for (unsigned i = 0; i < BED_BYTES; i++)
        assert_int_equal(bed->segment[i], BED_GUARD);
    assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
    refused(bed, 1, TCP_STREAM_DATA, 1);
    assert_int_equal(bed_failed(bed, other), 0);
    close(fd);
    close(other);
}

static void a_revoke_is_answered_always(void **state)
{
    struct bed *bed = *state;
    bed_tell(bed, (struct tcp_control){.type = TCP_CONTROL_REVOKE, .grant = 99});
    struct tcp_control told = bed_told(bed);
    assert_true(told.type == TCP_CONTROL_REVOKED && told.grant == 99);
}

/* More than the socket takes while rsmd reads nothing. */
static void answers_wait_for_rsmd(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 2000 };
    for (uint64_t i = 1; i <= MANY; i++) {
        struct tcp_control message = {.type = TCP_CONTROL_REVOKE, .grant = i};
        assert_int_equal(tcp_control_send(bed->control, &message, NULL), 0);
        if (i % 64 == 0)
            bed_turn(bed);
    }
    assert_true(bed->server.report_waits);
    unsigned answers = 0;
    while (bed_told(bed).type == TCP_CONTROL_REVOKED)
        answers++;
    assert_int_equal(answers, MANY);
    assert_false(bed->server.report_waits);
}

static void a_grant_that_cannot_be_mapped_is_lost(void **state)
{
    struct bed *bed = *state;
    struct tcp_control message = {
        .type = TCP_CONTROL_GRANT, .grant = 1, .rights = READ_WRITE, .pieces = 1};
    message.piece[0].length = BED_BYTES;
    assert_int_equal(tcp_control_send(bed->control, &message, NULL), 0); /* no descriptor */
    assert_int_equal(bed_told(bed).type, TCP_CONTROL_LOST);
    refused(bed, 1, TCP_STREAM_DATA, 0);
}

static void rsmds_end_is_seen(void **state)
{
    struct bed *bed = *state;
    assert_int_equal(shutdown(bed->control, SHUT_RDWR), 0);
    assert_false(tcp_server_turn(&bed->server, true));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_begin, bed_end)
    const struct CMUnitTest tests[] = {
        TEST(a_token_opens_once),
        TEST(a_grant_is_known_before_its_importer),
        TEST(nothing_lands_behind_a_revoke),
        TEST(a_revoke_is_answered_always),
        TEST(answers_wait_for_rsmd),
        TEST(a_grant_that_cannot_be_mapped_is_lost),
        TEST(rsmds_end_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
