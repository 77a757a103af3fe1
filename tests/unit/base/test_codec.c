/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "base/codec.h"

TEST_ALONE(integers_are_little_endian)
{
    uint8_t buffer[14];
    struct rsm_codec c = rsm_encoder(buffer, sizeof buffer);
    uint16_t a = 0x0102;
    uint32_t b = 0x03040506;
    uint64_t d = 0x0708090a0b0c0d0eULL;
    rsm_codec_u16(&c, &a);
    rsm_codec_u32(&c, &b);
    rsm_codec_u64(&c, &d);
    assert_false(c.bad);
    assert_int_equal(c.left, 0);
    static const uint8_t expected[] = {2, 1, 6, 5, 4, 3, 14, 13, 12, 11, 10, 9, 8, 7};
    assert_memory_equal(buffer, expected, sizeof expected);

    c = rsm_decoder(buffer, sizeof buffer);
    a = 0, b = 0, d = 0;
    rsm_codec_u16(&c, &a);
    rsm_codec_u32(&c, &b);
    rsm_codec_u64(&c, &d);
    assert_false(c.bad);
    assert_int_equal(a, 0x0102);
    assert_int_equal(b, 0x03040506);
    assert_true(d == 0x0708090a0b0c0d0eULL);
}

TEST_ALONE(short_input_makes_it_bad_and_zero)
{
    uint8_t three[3] = {1, 2, 3};
    struct rsm_codec c = rsm_decoder(three, sizeof three);
    uint32_t value = 77;
    uint16_t after = 78;
    rsm_codec_u32(&c, &value);
    assert_true(c.bad);
    assert_int_equal(value, 0);
    rsm_codec_u16(&c, &after); /* would fit, but a bad codec stays bad */
    assert_true(c.bad);
    assert_int_equal(after, 0);
}

TEST_ALONE(encoder_stops_at_capacity)
{
    uint8_t buffer[8];
    memset(buffer, 0xee, sizeof buffer);
    struct rsm_codec c = rsm_encoder(buffer, 6);
    uint32_t value = 1;
    rsm_codec_u32(&c, &value);
    assert_false(c.bad);
    rsm_codec_u32(&c, &value);
    assert_true(c.bad);
    for (int i = 4; i < 8; i++)
        assert_int_equal(buffer[i], 0xee);
}

TEST_ALONE(counts_are_bounded)
{
    uint8_t buffer[4] = {5, 0, 0, 0};
    uint32_t count;
    struct rsm_codec c = rsm_decoder(buffer, 4);
    rsm_codec_count(&c, &count, 5);
    assert_false(c.bad);
    assert_int_equal(count, 5);
    c = rsm_decoder(buffer, 4);
    rsm_codec_count(&c, &count, 4);
    assert_true(c.bad);
    assert_int_equal(count, 0);
}

TEST_ALONE(strings_round_trip_to_the_last_character)
{
    uint8_t buffer[32];
    char text[8] = "1234567", back[8];
    struct rsm_codec c = rsm_encoder(buffer, sizeof buffer);
    rsm_codec_string(&c, text, sizeof text);
    assert_false(c.bad);
    size_t used = sizeof buffer - c.left;
    c = rsm_decoder(buffer, used);
    memset(back, 'x', sizeof back);
    rsm_codec_string(&c, back, sizeof back);
    assert_false(c.bad);
    assert_string_equal(back, text);
    /* one byte less room: refused, and what is there is a string */
    c = rsm_decoder(buffer, used);
    rsm_codec_string(&c, back, sizeof back - 1);
    assert_true(c.bad);
    assert_int_equal(back[0], '\0');
}

TEST_ALONE(unterminated_string_is_not_encoded)
{
    uint8_t buffer[32];
    char text[4] = {'a', 'b', 'c', 'd'};
    struct rsm_codec c = rsm_encoder(buffer, sizeof buffer);
    rsm_codec_string(&c, text, sizeof text);
    assert_true(c.bad);
}

TEST_ALONE(embedded_nul_is_refused)
{
    uint8_t buffer[] = {3, 0, 0, 0, 'a', 0, 'b'};
    char text[8];
    struct rsm_codec c = rsm_decoder(buffer, sizeof buffer);
    rsm_codec_string(&c, text, sizeof text);
    assert_true(c.bad);
    assert_int_equal(text[0], '\0');
}
