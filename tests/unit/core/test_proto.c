/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/proto.h"

enum {
    FIRST_TYPE = RSM_MSG_HELLO,
    LAST_TYPE = RSM_MSG_LAST,
    HEADER_BYTES = 20,
    MUTATIONS_PER_MESSAGE = 3000,
};

/* A repeatable source of noise: the failing case can be run again. */
static uint32_t noise_state;

static uint32_t noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return noise_state >> 8;
}

static void some_string(char *into, size_t capacity)
{
    size_t length = noise() % capacity;
    for (size_t i = 0; i < length; i++)
        into[i] = (char)('a' + noise() % 26);
    into[length] = '\0';
}

/* Valid ones, made of what was there. */
static void some_settings(struct mapping_settings *settings)
{
    settings->given &= (1u << MAPPING_TUNABLES) - 1;
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        settings->value[i] = i == MAPPING_TUNABLE_K || i == MAPPING_TUNABLE_GRAIN ? 8
                             : i == MAPPING_TUNABLE_TRAP                          ? 0
                                                                                  : 1;
}

static void keep_request_to_bounds(struct rsm_msg *m)
{
    switch (m->type) {
    case RSM_MSG_CONTROLLER:
        some_string(m->u.controller.name, sizeof m->u.controller.name);
        some_string(m->u.controller.transport, sizeof m->u.controller.transport);
        break;
    case RSM_MSG_LOCATE:
        some_string(m->u.locate.controller, sizeof m->u.locate.controller);
        break;
    case RSM_MSG_EXTENT_ALLOC:
        some_string(m->u.extent_alloc.controller, sizeof m->u.extent_alloc.controller);
        break;
    case RSM_MSG_EXPORT_CREATE:
        some_string(m->u.export_create.controller, sizeof m->u.export_create.controller);
        break;
    case RSM_MSG_EXPORT_PUBLISH:
        m->u.export_publish.acl_count %= RSM_PROTO_ACL_MAX + 1;
        m->u.export_publish.piece_count %= RSM_PROTO_PIECES_MAX + 1;
        break;
    case RSM_MSG_EXPORT_REPUBLISH:
        m->u.export_republish.acl_count %= RSM_PROTO_ACL_MAX + 1;
        break;
    case RSM_MSG_NAMED:
        some_string(m->u.named.name, sizeof m->u.named.name);
        break;
    case RSM_MSG_INTERRUPT_TRIGGER:
        m->u.interrupt_trigger.length %= RSM_INTERRUPT_DATA_MAX + 1;
        break;
    case RSM_MSG_IMPORT_CONNECT:
        some_string(m->u.import_connect.controller, sizeof m->u.import_connect.controller);
        break;
    default:
        break;
    }
}

/* Replies that rsmstat asks for. */
static void keep_tables_to_bounds(struct rsm_msg *m)
{
    switch (m->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_INSPECT:
        m->u.inspect_reply.count %= RSM_PROTO_ITEMS_MAX + 1;
        for (uint32_t i = 0; i < m->u.inspect_reply.count; i++) {
            m->u.inspect_reply.items[i].acl_shown %= RSM_PROTO_ACL_SHOWN_MAX + 1;
            some_string(m->u.inspect_reply.items[i].controller,
                        sizeof m->u.inspect_reply.items[i].controller);
        }
        break;
    case RSM_MSG_LINKS:
        m->u.links_reply.count %= RSM_PROTO_LINKS_MAX + 1;
        for (uint32_t i = 0; i < m->u.links_reply.count; i++) {
            some_string(m->u.links_reply.items[i].address,
                        sizeof m->u.links_reply.items[i].address);
            some_string(m->u.links_reply.items[i].text, sizeof m->u.links_reply.items[i].text);
        }
        break;
    case RSM_MSG_FAILED:
        m->u.failed_reply.count %= RSM_PROTO_FAILED_MAX + 1;
        for (uint32_t i = 0; i < m->u.failed_reply.count; i++) {
            struct rsm_failed_item *item = &m->u.failed_reply.items[i];
            some_string(item->name, sizeof item->name);
            some_string(item->transport, sizeof item->transport);
            some_string(item->device, sizeof item->device);
            some_string(item->text, sizeof item->text);
        }
        break;
    case RSM_MSG_SHARES:
        m->u.shares_reply.count %= RSM_PROTO_USERS_MAX + 1;
        break;
    case RSM_MSG_INTERRUPTS:
        m->u.interrupts_reply.count %= RSM_PROTO_INTERRUPTS_MAX + 1;
        break;
    default:
        break;
    }
}

static void keep_reply_to_bounds(struct rsm_msg *m)
{
    switch (m->type & ~RSM_MSG_REPLY) {
    case RSM_MSG_CONTROLLER:
        some_string(m->u.controller_reply.name, sizeof m->u.controller_reply.name);
        some_string(m->u.controller_reply.transport, sizeof m->u.controller_reply.transport);
        some_string(m->u.controller_reply.device, sizeof m->u.controller_reply.device);
        some_string(m->u.controller_reply.options, sizeof m->u.controller_reply.options);
        some_settings(&m->u.controller_reply.map);
        break;
    case RSM_MSG_TOPOLOGY:
        some_string(m->u.topology_reply.name, sizeof m->u.topology_reply.name);
        m->u.topology_reply.peer_count %= RSM_PROTO_REMOTES_MAX + 1;
        for (uint32_t i = 0; i < m->u.topology_reply.peer_count; i++)
            some_string(m->u.topology_reply.peers[i].name,
                        sizeof m->u.topology_reply.peers[i].name);
        break;
    case RSM_MSG_LOCATE:
        some_string(m->u.locate_reply.path, sizeof m->u.locate_reply.path);
        break;
    case RSM_MSG_IMPORT_CONNECT:
        some_string(m->u.import_connect_reply.transport,
                    sizeof m->u.import_connect_reply.transport);
        m->u.import_connect_reply.blob_len %= RSM_OFFER_MAX_BLOB + 1;
        break;
    case RSM_MSG_EVENT_RECEIVERS:
        m->u.event_peers_reply.count %= RSM_PROTO_COUNTERS_MAX + 1;
        break;
    case RSM_MSG_NAMED:
        m->u.named_reply.count %= RSM_PROTO_NAMED_MAX + 1;
        break;
    case RSM_MSG_INTERRUPT_TAKE:
        m->u.interrupt_take_reply.count %= RSM_PROTO_MESSAGES_MAX + 1;
        for (uint32_t i = 0; i < m->u.interrupt_take_reply.count; i++)
            m->u.interrupt_take_reply.messages[i].length %= RSM_INTERRUPT_DATA_MAX + 1;
        break;
    case RSM_MSG_RECORDS:
        m->u.records_reply.count %= RSM_PROTO_RECORDS_MAX + 1;
        break;
    default:
        keep_tables_to_bounds(m);
    }
}

/* Fill the parts of a message that have bounds of their own; the rest is noise already. */
static void keep_to_bounds(struct rsm_msg *m)
{
    if ((m->type & RSM_MSG_REPLY) != 0)
        keep_reply_to_bounds(m);
    else
        keep_request_to_bounds(m);
}

static void make_message(struct rsm_msg *m, uint32_t type)
{
    for (size_t i = 0; i < sizeof *m; i++)
        ((uint8_t *)m)[i] = (uint8_t)noise();
    m->type = type;
    m->status = RSM_ST_OK;
    keep_to_bounds(m);
}

/* Encoding, decoding and encoding again gives the same bytes, for every type and direction. */
static void every_message_round_trips(void **state)
{
    (void)state;
    static uint8_t first[RSM_PROTO_MESSAGE_MAX], second[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg message, back;
    for (uint32_t type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        for (uint32_t reply = 0; reply <= RSM_MSG_REPLY; reply += RSM_MSG_REPLY) {
            for (noise_state = 1; noise_state < 50; noise_state++) {
                uint32_t seed = noise_state;
                make_message(&message, type | reply);
                size_t length = rsm_msg_encode(&message, first, sizeof first);
                assert_true(length >= HEADER_BYTES);
                assert_int_equal(rsm_msg_decode(&back, first, length), RSM_ST_OK);
                assert_int_equal(back.type, message.type);
                assert_int_equal(back.sequence, message.sequence);
                assert_int_equal(rsm_msg_encode(&back, second, sizeof second), length);
                assert_memory_equal(first, second, length);
                noise_state = seed;
            }
        }
    }
}

static void fill_with_noise(struct rsm_msg *m)
{
    memset(m, 0xa5, sizeof *m);
}

/* What counts of a message that was begun, or decoded, is as if all of it had been zeroed first. */
static void nothing_old_is_left_in_a_message(void **state)
{
    (void)state;
    static uint8_t expected[RSM_PROTO_MESSAGE_MAX], got[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg zero, message;
    for (uint32_t type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        for (uint32_t reply = 0; reply <= RSM_MSG_REPLY; reply += RSM_MSG_REPLY) {
            zero.type = type | reply;
            size_t length = rsm_msg_encode(&zero, expected, sizeof expected);
            assert_true(length >= HEADER_BYTES);
            fill_with_noise(&message);
            rsm_msg_begin(&message, type | reply);
            assert_int_equal(rsm_msg_encode(&message, got, sizeof got), length);
            assert_memory_equal(got, expected, length);
            fill_with_noise(&message);
            assert_int_equal(rsm_msg_decode(&message, expected, length), RSM_ST_OK);
            assert_int_equal(rsm_msg_encode(&message, got, sizeof got), length);
            assert_memory_equal(got, expected, length);
        }
    }
    /* Neither is there, nor anything to be cleared. */
    rsm_msg_begin(&message, LAST_TYPE + 1);
    assert_int_equal(rsm_msg_encode(&message, got, sizeof got), 0);
    rsm_msg_begin(&message, UINT32_MAX);
    assert_int_equal(rsm_msg_encode(&message, got, sizeof got), 0);
}

/* The entries behind those that came, too: they may be another user's. */
static void arrays_end_in_zeroes(void **state)
{
    (void)state;
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

static void every_shorter_and_longer_packet_is_refused(void **state)
{
    (void)state;
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX + 1];
    static struct rsm_msg message, back;
    for (uint32_t type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        noise_state = type;
        make_message(&message, type);
        size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
        for (size_t cut = 0; cut < length; cut++)
            assert_int_equal(rsm_msg_decode(&back, bytes, cut), RSM_ST_PROTOCOL);
        bytes[length] = 0;
        assert_int_equal(rsm_msg_decode(&back, bytes, length + 1), RSM_ST_PROTOCOL);
    }
}

static void other_versions_and_strangers_are_told_apart(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct rsm_msg back, message = {.type = RSM_MSG_HELLO};
    size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
    bytes[4]++;
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_VERSION);
    bytes[0]++;
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_PROTOCOL);
}

static void unknown_types_and_statuses_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct rsm_msg back, message = {.type = LAST_TYPE + 1};
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

static void replies_that_failed_have_no_body(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct rsm_msg back,
        message = {.type = RSM_MSG_IMPORT_CONNECT | RSM_MSG_REPLY, .status = RSM_ST_DENIED};
    size_t length = rsm_msg_encode(&message, bytes, sizeof bytes);
    assert_int_equal(length, HEADER_BYTES);
    assert_int_equal(rsm_msg_decode(&back, bytes, length), RSM_ST_OK);
    assert_int_equal(back.status, RSM_ST_DENIED);
}

static void counts_beyond_their_arrays_are_refused(void **state)
{
    (void)state;
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
static void mutated_packets_do_no_harm(void **state)
{
    (void)state;
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX], again[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg message, back;
    unsigned accepted = 0, refused = 0;
    for (uint32_t type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        noise_state = 4711 + type;
        make_message(&message, (noise() & 1) != 0 ? type : type | RSM_MSG_REPLY);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_round_trips),
        cmocka_unit_test(nothing_old_is_left_in_a_message),
        cmocka_unit_test(arrays_end_in_zeroes),
        cmocka_unit_test(every_shorter_and_longer_packet_is_refused),
        cmocka_unit_test(other_versions_and_strangers_are_told_apart),
        cmocka_unit_test(unknown_types_and_statuses_are_refused),
        cmocka_unit_test(replies_that_failed_have_no_body),
        cmocka_unit_test(counts_beyond_their_arrays_are_refused),
        cmocka_unit_test(mutated_packets_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
