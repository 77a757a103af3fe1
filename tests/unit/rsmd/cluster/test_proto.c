/* SPDX-License-Identifier: BSD-3-Clause */
/* The codec of what travels between the rsmds of two hosts. */
#include "cases.h"

#include "cluster/proto.h"

enum { MUTATIONS_PER_MESSAGE = 3000 };

#include "unit/bodies_fill.h"
#include "cluster/bodies.def"
#include "protocol/bodies_end.h"

static const struct kind {
    uint32_t type;
    void (*fill)(void *body);
} kinds[] = {
#define LINK(NAME, number, name, body) {RSM_CLUSTER_##NAME, fill_rsm_cluster_##body},
#define NODE(NAME, number, name, body) {RSM_CLUSTER_##NAME, fill_rsm_cluster_##body},
#include "cluster/messages.def"
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void make_message(struct rsm_cluster_msg *m, const struct kind *kind)
{
    for (size_t i = 0; i < sizeof *m; i++)
        ((uint8_t *)m)[i] = (uint8_t)noise();
    m->type = kind->type;
    kind->fill(&m->u);
    if (m->type == RSM_CLUSTER_HELLO)
        m->u.hello.magic = RSM_CLUSTER_MAGIC;
}

TEST_ALONE(every_message_round_trips)
{
    static uint8_t first[RSM_CLUSTER_FRAME_MAX], second[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg message, back;
    for (unsigned i = 0; i < KINDS; i++) {
        for (uint32_t seed = 1; seed < 50; seed++) {
            noise_state = seed;
            make_message(&message, &kinds[i]);
            size_t length = rsm_cluster_encode(&message, first, sizeof first);
            assert_true(length > 4);
            assert_int_equal(rsm_cluster_decode(&back, first, length), RSM_ST_OK);
            assert_int_equal(back.type, message.type);
            assert_int_equal(rsm_cluster_encode(&back, second, sizeof second), length);
            assert_memory_equal(first, second, length);
        }
    }
}

/* The fields themselves, not only that both directions agree. */
TEST_ALONE(fields_arrive_where_they_belong)
{
    static uint8_t bytes[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg back, sent;
    sent = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT,
                                    .u.connect = {.request = 7,
                                                  .controller = "sci0",
                                                  .segment_id = 0x80000001,
                                                  .rights = 3,
                                                  .who = {.uid = 1000,
                                                          .gid = 1001,
                                                          .pid = 4242,
                                                          .group_count = 2,
                                                          .groups = {27, 0xffffffff}}}};
    size_t length = rsm_cluster_encode(&sent, bytes, sizeof bytes);
    assert_int_equal(bytes[0], RSM_CLUSTER_CONNECT);
    assert_int_equal(bytes[4], 7);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_OK);
    assert_memory_equal(&back, &sent, sizeof back);
    sent = (struct rsm_cluster_msg){
        .type = RSM_CLUSTER_EVENT,
        .u.event = {.import = 1, .end = RSM_EVENT_IMPORT, .count = 3, .coalesced = 1}};
    length = rsm_cluster_encode(&sent, bytes, sizeof bytes);
    assert_int_equal(length, 20);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_OK);
    assert_int_equal(back.type, sent.type); /* of the union, only that body is written */
    assert_memory_equal(&back.u.event, &sent.u.event, sizeof sent.u.event);
}

TEST_ALONE(the_largest_messages_fit_a_frame)
{
    static uint8_t bytes[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg message;
    message = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT,
                                       .u.connect.who.group_count = RSM_CLUSTER_GROUPS_MAX};
    memset(message.u.connect.controller, 'c', sizeof message.u.connect.controller - 1);
    assert_true(rsm_cluster_encode(&message, bytes, sizeof bytes) > 0);
    message = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF,
                                       .u.proof.length = RSM_CLUSTER_CREDENTIAL_MAX};
    assert_true(rsm_cluster_encode(&message, bytes, sizeof bytes) > 0);
    message = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT_REPLY,
                                       .u.connect_reply.blob_len = RSM_OFFER_MAX_BLOB};
    assert_true(rsm_cluster_encode(&message, bytes, sizeof bytes) > 0);
}

TEST_ALONE(every_shorter_and_longer_frame_is_refused)
{
    static uint8_t bytes[RSM_CLUSTER_FRAME_MAX + 1];
    static struct rsm_cluster_msg message, back;
    for (unsigned i = 0; i < KINDS; i++) {
        noise_state = i;
        make_message(&message, &kinds[i]);
        size_t length = rsm_cluster_encode(&message, bytes, sizeof bytes);
        for (size_t cut = 0; cut < length; cut++)
            assert_int_equal(rsm_cluster_decode(&back, bytes, cut), RSM_ST_PROTOCOL);
        bytes[length] = 0;
        assert_int_equal(rsm_cluster_decode(&back, bytes, length + 1), RSM_ST_PROTOCOL);
    }
}

TEST_ALONE(what_breaks_a_bound_is_neither_sent_nor_taken)
{
    static uint8_t bytes[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg m, back;
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF,
                                 .u.proof.length = RSM_CLUSTER_CREDENTIAL_MAX + 1};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT,
                                 .u.connect.who.group_count = RSM_CLUSTER_GROUPS_MAX + 1};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT_REPLY,
                                 .u.connect_reply.blob_len = RSM_OFFER_MAX_BLOB + 1};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT_REPLY,
                                 .u.connect_reply.status = 60000};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_REFUSE};
    memset(m.u.refuse.text, 'x', sizeof m.u.refuse.text);
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = 0};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_LAST + 1};
    assert_int_equal(rsm_cluster_encode(&m, bytes, sizeof bytes), 0);
    m = (struct rsm_cluster_msg){.type = RSM_CLUSTER_HELLO, .u.hello.magic = RSM_CLUSTER_MAGIC + 1};
    size_t length = rsm_cluster_encode(&m, bytes, sizeof bytes);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_PROTOCOL);
}

TEST_ALONE(a_connect_that_failed_carries_its_status_alone)
{
    uint8_t bytes[64];
    static struct rsm_cluster_msg m, back;
    m = (struct rsm_cluster_msg){
        .type = RSM_CLUSTER_CONNECT_REPLY,
        .u.connect_reply = {.request = 9, .status = RSM_ST_DENIED, .import = 5}};
    size_t length = rsm_cluster_encode(&m, bytes, sizeof bytes);
    assert_int_equal(length, 12);
    assert_int_equal(rsm_cluster_decode(&back, bytes, length), RSM_ST_OK);
    assert_int_equal(back.u.connect_reply.request, 9);
    assert_int_equal(back.u.connect_reply.status, RSM_ST_DENIED);
    assert_int_equal(back.u.connect_reply.import, 0);
}

/* The heap copy is exact, so that a sanitizer sees a byte too far. */
TEST_ALONE(mutated_frames_do_no_harm)
{
    static uint8_t bytes[RSM_CLUSTER_FRAME_MAX], again[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg message, back;
    unsigned accepted = 0, refused = 0;
    for (unsigned i = 0; i < KINDS; i++) {
        noise_state = 4711 + i;
        make_message(&message, &kinds[i]);
        size_t length = rsm_cluster_encode(&message, bytes, sizeof bytes);
        for (int round = 0; round < MUTATIONS_PER_MESSAGE; round++) {
            size_t size = noise() % 4 == 0 ? noise() % (length + 1) : length;
            uint8_t *frame = malloc(size > 0 ? size : 1);
            assert_non_null(frame);
            memcpy(frame, bytes, size);
            for (uint32_t flips = noise() % 4; size > 0 && flips > 0; flips--)
                frame[noise() % size] = (uint8_t)noise();
            if (rsm_cluster_decode(&back, frame, size) == RSM_ST_OK) {
                accepted++;
                assert_int_equal(rsm_cluster_encode(&back, again, sizeof again), size);
                assert_memory_equal(again, frame, size);
            } else {
                refused++;
            }
            free(frame);
        }
    }
    assert_true(accepted > 100 && refused > 100);
}
