/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages between rsmd and rsm-tlsd, and what is none. */
#include "cases.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls/control.h"

static const struct rsmd_tls_control some = {.type = RSMD_TLS_FAILED,
                                             .id = UINT64_C(0x123456789abcdef0),
                                             .caller = 1,
                                             .node = 65535,
                                             .expires = UINT64_C(1) << 40,
                                             .text = "it does not speak TLS"};

TEST_ALONE(every_message_comes_through)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX];
    for (uint32_t type = RSMD_TLS_LOAD; type < RSMD_TLS_TYPES; type++) {
        struct rsmd_tls_control sent = some, got;
        sent.type = type;
        memset(sent.text, 'x', sizeof sent.text - 1); /* the longest */
        size_t length = rsmd_tls_control_encode(&sent, bytes);
        assert_in_range(length, 1, sizeof bytes);
        assert_true(rsmd_tls_control_decode(bytes, length, &got));
        assert_int_equal(got.type, type);
        assert_true(got.id == sent.id && got.expires == sent.expires);
        assert_int_equal(got.caller, 1);
        assert_int_equal(got.node, 65535);
        assert_string_equal(got.text, sent.text);
    }
}

TEST_ALONE(what_is_no_message)
{
    uint8_t bytes[RSMD_TLS_CONTROL_MAX + 1];
    struct rsmd_tls_control sent = some, got;
    size_t length = rsmd_tls_control_encode(&sent, bytes);
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_false(rsmd_tls_control_decode(bytes, shorter, &got));
    assert_false(rsmd_tls_control_decode(bytes, length + 1, &got));
    sent.type = 0;
    assert_false(rsmd_tls_control_decode(bytes, rsmd_tls_control_encode(&sent, bytes), &got));
    sent.type = RSMD_TLS_TYPES;
    assert_false(rsmd_tls_control_decode(bytes, rsmd_tls_control_encode(&sent, bytes), &got));
    sent = some;
    sent.caller = 2;
    assert_false(rsmd_tls_control_decode(bytes, rsmd_tls_control_encode(&sent, bytes), &got));
}

/* Descriptors arrive, and neither side waits for the other. */
TEST_ALONE(over_a_socket)
{
    int pair[2], error = 0;
    unsigned sent_count = 0;
    struct rsm_packet_fds fds;
    struct rsmd_tls_control sent = some, got;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const struct rsm_packet_fds both = {2, {pair[0], pair[1]}};
    assert_int_equal(rsmd_tls_control_receive(pair[1], &got, &fds), 0);
    assert_int_equal(rsmd_tls_control_send(pair[0], &sent, &both), 0);
    assert_int_equal(rsmd_tls_control_receive(pair[1], &got, &fds), 1);
    assert_int_equal(fds.count, 2);
    rsm_packet_fds_close(&fds);
    while (error == 0 && sent_count++ < 1000000)
        error = rsmd_tls_control_send(pair[0], &sent, NULL);
    assert_int_equal(error, EAGAIN);
    assert_int_equal(rsmd_tls_control_receive(pair[1], &got, NULL), 1);
    close(pair[0]);
    while (rsmd_tls_control_receive(pair[1], &got, NULL) == 1)
        continue;
    assert_int_equal(rsmd_tls_control_receive(pair[1], &got, NULL), -1);
    close(pair[1]);
}

/* Of a message that makes no sense no descriptor is kept. */
TEST_ALONE(descriptors_of_what_is_no_message_are_closed)
{
    int pair[2];
    struct rsm_packet_fds fds = {.count = 7};
    struct rsmd_tls_control sent = some, got;
    sent.type = RSMD_TLS_TYPES;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const struct rsm_packet_fds both = {2, {pair[0], pair[1]}};
    int next = dup(pair[0]);
    close(next);
    assert_int_equal(rsmd_tls_control_send(pair[0], &sent, &both), 0);
    assert_int_equal(rsmd_tls_control_receive(pair[1], &got, &fds), -1);
    assert_int_equal(fds.count, 0);
    int again = dup(pair[0]);
    assert_int_equal(again, next);
    close(again);
    close(pair[0]);
    close(pair[1]);
}

/* A process that has no room for the descriptors learns what they were for. */
TEST_ALONE(a_message_without_its_descriptors)
{
    int pair[2];
    struct rlimit before, none;
    struct rsm_packet_fds fds;
    struct rsmd_tls_control sent = some, got;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const struct rsm_packet_fds both = {2, {pair[0], pair[1]}};
    assert_int_equal(rsmd_tls_control_send(pair[0], &sent, &both), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)pair[1] + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = rsmd_tls_control_receive(pair[1], &got, &fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, 1);
    assert_int_equal(fds.count, 0);
    assert_true(got.id == some.id);
    assert_string_equal(got.text, some.text);
    close(pair[0]);
    close(pair[1]);
}
