/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/tcp/common/wire.h"

static void a_header_has_its_places(void **state)
{
    static const uint8_t expected[TCP_FRAME_BYTES] = {
        TCP_PUT_ELEMS, 8,    0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1,
        0xdd,          0xcc, 0xbb, 0xaa, 4,    3,    2,    1};
    const struct tcp_frame frame = {.type = TCP_PUT_ELEMS,
                                    .width = 8,
                                    .flags = 0x1234,
                                    .length = 0x12345678,
                                    .offset = 0x0102030405060708,
                                    .id = 0xaabbccdd,
                                    .status = 0x01020304};
    uint8_t bytes[TCP_FRAME_BYTES];
    (void)state;
    tcp_frame_encode(&frame, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    struct tcp_frame back = tcp_frame_decode(bytes);
    assert_true(back.type == frame.type && back.width == frame.width);
    assert_true(back.flags == frame.flags && back.length == frame.length);
    assert_true(back.offset == frame.offset && back.id == frame.id);
    assert_int_equal(back.status, frame.status);
}

static void ranges_do_not_overflow(void **state)
{
    (void)state;
    assert_true(tcp_is_inside(0, 0, 0));
    assert_true(tcp_is_inside(10, 6, 16));
    assert_false(tcp_is_inside(10, 7, 16));
    assert_false(tcp_is_inside(17, 0, 16));
    assert_false(tcp_is_inside(UINT64_MAX, 2, 16));
    assert_false(tcp_is_inside(8, UINT64_MAX - 7, 16));
}

static void replies_are_checked(void **state)
{
    static const struct tcp_frame wrong[] = {
        {.type = TCP_PUT},
        {.type = TCP_DONE, .length = 1},
        {.type = TCP_DONE, .status = 9999},
        {.type = TCP_DONE, .width = 1},
        {.type = TCP_DATA, .length = TCP_PAYLOAD_MAX + 1},
        {.type = TCP_DATA, .length = 1, .status = RSM_ST_DENIED},
        {.type = TCP_SIGNAL},
        {.type = TCP_SIGNAL, .length = RSM_SIGNALS_MAX + 1},
    };
    const struct tcp_frame right = {.type = TCP_SIGNAL, .flags = TCP_FLAG_COALESCED};
    (void)state;
    assert_true(tcp_reply_is_sound(&right));
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(tcp_reply_is_sound(&wrong[i]));
}

static void offers_are_decoded_whole(void **state)
{
    struct tcp_offer offer = {.port = 4711, .grant = 12}, back;
    uint8_t bytes[TCP_OFFER_BYTES + 1] = {0};
    (void)state;
    memset(offer.token, 0xa5, sizeof offer.token);
    tcp_offer_encode(&offer, bytes);
    assert_int_equal(tcp_offer_decode(bytes, TCP_OFFER_BYTES, &back), RSM_ST_OK);
    assert_true(back.port == 4711 && back.grant == 12);
    assert_memory_equal(back.token, offer.token, sizeof offer.token);
    for (size_t length = 0; length < TCP_OFFER_BYTES; length++)
        assert_int_equal(tcp_offer_decode(bytes, length, &back), RSM_ST_PROTOCOL);
    assert_int_equal(tcp_offer_decode(bytes, TCP_OFFER_BYTES + 1, &back), RSM_ST_PROTOCOL);
    assert_false(back.tls);
    offer.tls = true;
    tcp_offer_encode(&offer, bytes);
    assert_int_equal(tcp_offer_decode(bytes, TCP_OFFER_BYTES, &back), RSM_ST_OK);
    assert_true(back.tls && back.port == 4711 && back.grant == 12);
    bytes[0]++; /* the version */
    assert_int_equal(tcp_offer_decode(bytes, TCP_OFFER_BYTES, &back), RSM_ST_PROTOCOL);
    offer.port = 65536;
    tcp_offer_encode(&offer, bytes);
    assert_int_equal(tcp_offer_decode(bytes, TCP_OFFER_BYTES, &back), RSM_ST_PROTOCOL);
}

static void tokens_are_compared_whole(void **state)
{
    uint8_t a[TCP_TOKEN_BYTES] = {0}, b[TCP_TOKEN_BYTES] = {0};
    (void)state;
    assert_true(tcp_token_equals(a, b));
    for (unsigned i = 0; i < TCP_TOKEN_BYTES; i++) {
        b[i] = 0x80;
        assert_false(tcp_token_equals(a, b));
        b[i] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_its_places),   cmocka_unit_test(ranges_do_not_overflow),
        cmocka_unit_test(replies_are_checked),       cmocka_unit_test(offers_are_decoded_whole),
        cmocka_unit_test(tokens_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
