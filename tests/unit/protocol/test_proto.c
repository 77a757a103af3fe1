/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "protocol/proto.h"

enum {
    HEADER_BYTES = 20,
    MUTATIONS_PER_MESSAGE = 1500,
};

static void fill_rsm_port_attr(void *body)
{
}

static void fill_mapping_choice(void *body)
{
}

static void fill_mapping_counts(void *body)
{
}

/* Valid ones, made of what was there. */
static void fill_mapping_settings(void *body)
{
    struct mapping_settings *settings = body;
    settings->given &= (1u << MAPPING_TUNABLES_FIRST) - 1;
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        settings->value[i] = i == MAPPING_TUNABLE_K || i == MAPPING_TUNABLE_GRAIN ? 8
                             : i == MAPPING_TUNABLE_TRAP                          ? 0
                             : i < MAPPING_TUNABLES_FIRST                         ? 1
                                                                                  : 0;
}

#include "../bodies_fill.h"
#include "protocol/bodies.def"
#include "protocol/bodies_end.h"

/* Each type, in each direction. */
static const struct kind {
    uint32_t type;
    void (*fill)(void *body);
} kinds[] = {
#define RSM_MESSAGE(NAME, number, name, reply, senders)                                            \
    {RSM_MSG_##NAME, fill_rsm_##name##_request},                                                   \
        {RSM_MSG_##NAME | RSM_MSG_REPLY, fill_rsm_##reply##_reply},
#include "protocol/messages.def"
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void make_message(struct rsm_msg *m, const struct kind *kind)
{
    for (size_t i = 0; i < sizeof *m; i++)
        ((uint8_t *)m)[i] = (uint8_t)noise();
    m->type = kind->type;
    m->status = RSM_ST_OK;
    kind->fill(&m->u);
}

/* Encoding, decoding and encoding again gives the same bytes, for every type and direction. */
TEST_ALONE(every_message_round_trips)
{
    static uint8_t first[RSM_PROTO_MESSAGE_MAX], second[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg message, back;
    for (unsigned i = 0; i < KINDS; i++) {
        for (uint32_t seed = 1; seed < 50; seed++) {
            noise_state = seed;
            make_message(&message, &kinds[i]);
            size_t length = rsm_msg_encode(&message, first, sizeof first);
            assert_true(length >= HEADER_BYTES);
            assert_int_equal(rsm_msg_decode(&back, first, length), RSM_ST_OK);
            assert_int_equal(back.type, message.type);
            assert_int_equal(back.sequence, message.sequence);
            assert_int_equal(rsm_msg_encode(&back, second, sizeof second), length);
            assert_memory_equal(first, second, length);
        }
    }
}

static void fill_with_noise(struct rsm_msg *m)
{
    memset(m, 0xa5, sizeof *m);
}

/* What counts of a message that was begun, or decoded, is as if all of it had been zeroed first. */
TEST_ALONE(nothing_old_is_left_in_a_message)
{
    static uint8_t expected[RSM_PROTO_MESSAGE_MAX], got[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg zero, message;
    for (unsigned i = 0; i < KINDS; i++) {
        zero.type = kinds[i].type;
        size_t length = rsm_msg_encode(&zero, expected, sizeof expected);
        assert_true(length >= HEADER_BYTES);
        fill_with_noise(&message);
        rsm_msg_begin(&message, kinds[i].type);
        assert_int_equal(rsm_msg_encode(&message, got, sizeof got), length);
        assert_memory_equal(got, expected, length);
        fill_with_noise(&message);
        assert_int_equal(rsm_msg_decode(&message, expected, length), RSM_ST_OK);
        assert_int_equal(rsm_msg_encode(&message, got, sizeof got), length);
        assert_memory_equal(got, expected, length);
    }
    /* Neither is there, nor anything to be cleared. */
    rsm_msg_begin(&message, RSM_MSG_LAST + 1);
    assert_int_equal(rsm_msg_encode(&message, got, sizeof got), 0);
    rsm_msg_begin(&message, UINT32_MAX);
    assert_int_equal(rsm_msg_encode(&message, got, sizeof got), 0);
}

/* The entries behind those that came, too: they may be another user's. */
TEST_ALONE(arrays_end_in_zeroes)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg sent, message;
    static const struct rsm_segment_piece none;
    sent.type = RSM_MSG_EXPORT_PUBLISH;
    sent.u.export_publish.piece_count = 1;
    size_t length = rsm_msg_encode(&sent, bytes, sizeof bytes);
    fill_with_noise(&message);
    assert_int_equal(rsm_msg_decode(&message, bytes, length), RSM_ST_OK);
    for (unsigned i = 0; i < RSM_PROTO_PIECES_MAX; i++)
        assert_memory_equal(&message.u.export_publish.pieces[i], &none, sizeof none);
}

TEST_ALONE(every_shorter_and_longer_packet_is_refused)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX + 1];
    static struct rsm_msg message, back;
    for (unsigned i = 0; i < KINDS; i++) {
        noise_state = i;
        make_message(&message, &kinds[i]);
        size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
        for (size_t cut = 0; cut < length; cut++)
            assert_int_equal(rsm_msg_decode(&back, bytes, cut), RSM_ST_PROTOCOL);
        bytes[length] = 0;
        assert_int_equal(rsm_msg_decode(&back, bytes, length + 1), RSM_ST_PROTOCOL);
    }
}

TEST_ALONE(other_versions_and_strangers_are_told_apart)
{
    uint8_t bytes[256];
    struct rsm_msg back, message = {.type = RSM_MSG_HELLO};
    size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
    bytes[4]++;
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_VERSION);
    bytes[0]++;
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_PROTOCOL);
}

TEST_ALONE(unknown_types_and_statuses_are_refused)
{
    uint8_t bytes[256];
    struct rsm_msg back, message = {.type = RSM_MSG_LAST + 1};
    assert_int_equal(rsm_msg_encode(&message, bytes, sizeof bytes), 0);
    message.type = RSM_MSG_EXTENT_FREE | RSM_MSG_REPLY;
    message.status = RSM_ST_OK;
    size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
    assert_int_equal(length, HEADER_BYTES);
    bytes[8] = 0xff; /* type */
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_PROTOCOL);
    bytes[8] = RSM_MSG_EXTENT_FREE;
    bytes[16] = 0xfe; /* status */
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_PROTOCOL);
}

TEST_ALONE(replies_that_failed_have_no_body)
{
    uint8_t bytes[256];
    struct rsm_msg back,
        message = {.type = RSM_MSG_IMPORT_CONNECT | RSM_MSG_REPLY, .status = RSM_ST_DENIED};
    size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
    assert_int_equal(length, HEADER_BYTES);
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_OK);
    assert_int_equal(back.status, RSM_ST_DENIED);
}

TEST_ALONE(counts_beyond_their_arrays_are_refused)
{
    static struct rsm_msg message;
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    memset(&message, 0, sizeof message);
    message.type = RSM_MSG_EXPORT_PUBLISH;
    message.u.export_publish.acl_count = RSM_PROTO_ACL_MAX + 1;
    assert_int_equal(rsm_msg_encode(&message, bytes, sizeof bytes), 0);
    message.u.export_publish.acl_count = 0;
    message.u.export_publish.piece_count = UINT32_MAX;
    assert_int_equal(rsm_msg_encode(&message, bytes, sizeof bytes), 0);
}

/* Whatever arrives, the decoder stays inside the packet (the heap copy is exact, so a sanitizer
 * sees a byte too far) and what it accepts is within bounds, so it can be encoded again. */
TEST_ALONE(mutated_packets_do_no_harm)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX], again[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg message, back;
    unsigned accepted = 0, refused = 0;
    for (unsigned i = 0; i < KINDS; i++) {
        noise_state = 4711 + i;
        make_message(&message, &kinds[i]);
        size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
        for (int round = 0; round < MUTATIONS_PER_MESSAGE; round++) {
            size_t size = noise() % 4 == 0 ? noise() % (length + 1) : length;
            uint8_t *packet = malloc(size > 0 ? size : 1);
            assert_non_null(packet);
            memcpy(packet, bytes, size);
            for (uint32_t flips = noise() % 4; size > 12 && flips > 0; flips--)
                packet[8 + noise() % (size - 8)] = (uint8_t)noise();
            if (rsm_msg_decode(&back, packet, size) == RSM_ST_OK) {
                accepted++;
                assert_int_equal(rsm_msg_encode(&back, again, sizeof again), size);
            } else {
                refused++;
            }
            free(packet);
        }
    }
    assert_true(accepted > 100 && refused > 100);
}
