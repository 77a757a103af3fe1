/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/tcp/common/control.h"

static struct tcp_control grant_of(uint32_t pieces)
{
    struct tcp_control grant = {
        .type = TCP_CONTROL_GRANT, .grant = 7, .rights = 6, .node = 3, .uid = 9, .pieces = pieces};
    memset(grant.token, 0x33, sizeof grant.token);
    for (uint32_t i = 0; i < pieces; i++) {
        grant.piece[i].offset = UINT64_C(4096) * i;
        grant.piece[i].length = 4096;
    }
    return grant;
}

static void the_longest_message_fits(void **state)
{
    struct tcp_control grant = grant_of(RSM_OFFER_MAX_FDS), back;
    uint8_t bytes[TCP_CONTROL_MAX];
    (void)state;
    size_t length = tcp_control_encode(&grant, bytes);
    assert_true(length > 0);
    assert_true(tcp_control_decode(bytes, length, &back));
    assert_memory_equal(&back, &grant, sizeof grant);
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_false(tcp_control_decode(bytes, shorter, &back));
}

static void nonsense_is_refused(void **state)
{
    uint8_t bytes[TCP_CONTROL_MAX];
    struct tcp_control wrong[6], back;
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        wrong[i] = grant_of(2);
    wrong[0].type = 0;
    wrong[1].type = TCP_CONTROL_TYPES;
    wrong[2].rights = 8;
    wrong[3].piece[1].length = 0;
    wrong[4].piece[1].length = INT64_MAX; /* the sum */
    wrong[5].piece[1].offset = UINT64_MAX - 100;
    for (unsigned i = 0; i < 6; i++)
        assert_false(tcp_control_decode(bytes, tcp_control_encode(&wrong[i], bytes), &back));
    struct tcp_control signals = {.type = TCP_CONTROL_SIGNALLED,
                                  .count = (uint32_t)RSM_SIGNALS_MAX + 1};
    assert_false(tcp_control_decode(bytes, tcp_control_encode(&signals, bytes), &back));
}

static void descriptors_come_with_their_message(void **state)
{
    struct tcp_control grant = grant_of(2), back;
    int sockets[2];
    struct rsm_packet_fds fds;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(tcp_control_receive(sockets[1], &back, &fds), 0);
    assert_int_equal(
        tcp_control_send(sockets[0], &grant, &(struct rsm_packet_fds){2, {sockets[0], sockets[1]}}),
        0);
    assert_int_equal(tcp_control_receive(sockets[1], &back, &fds), 1);
    assert_int_equal(fds.count, 2);
    rsm_packet_fds_close(&fds);
    assert_int_equal(send(sockets[0], "?", 1, 0), 1);
    assert_int_equal(tcp_control_receive(sockets[1], &back, &fds), -1);
    close(sockets[0]);
    assert_int_equal(tcp_control_receive(sockets[1], &back, &fds), -1);
    close(sockets[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_message_fits),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(descriptors_come_with_their_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
