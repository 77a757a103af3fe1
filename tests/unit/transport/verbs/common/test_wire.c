/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "cases.h"
#include "transport/verbs/common/wire.h"

enum { PAGE = 4096 };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

static struct verbs_offer sample(uint32_t count)
{
    struct verbs_offer offer = {.count = count};
    struct sockaddr_in *four = (struct sockaddr_in *)&offer.address;
    four->sin_family = AF_INET;
    four->sin_port = htons(4711);
    inet_pton(AF_INET, "10.1.2.3", &four->sin_addr);
    memset(offer.token, 0x5a, sizeof offer.token);
    for (uint32_t i = 0; i < count; i++)
        offer.length[i] = (i + 1) * PAGE;
    return offer;
}

static uint64_t size_of(const struct verbs_offer *offer)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < offer->count; i++)
        sum += offer->length[i];
    return sum;
}

TEST_ALONE(offers_go_through)
{
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    struct verbs_offer back;
    for (uint32_t count = 1; count <= VERBS_PIECES_MAX; count++) {
        struct verbs_offer offer = sample(count);
        size_t length = verbs_offer_encode(&offer, blob, sizeof blob);
        assert_true(length > 0);
        assert_int_equal(verbs_offer_decode(blob, length, size_of(&offer), both, &back), RSM_ST_OK);
        assert_memory_equal(&back, &offer, sizeof back);
    }
    struct verbs_offer none = sample(0);
    size_t length = verbs_offer_encode(&none, blob, sizeof blob);
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, 0, &back), RSM_ST_OK);
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_PROTOCOL);
}

TEST_ALONE(ipv6_goes_through)
{
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    struct verbs_offer offer = sample(1);
    struct verbs_offer back;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&offer.address;
    memset(six, 0, sizeof *six);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(9);
    inet_pton(AF_INET6, "2001:db8::7", &six->sin6_addr);
    size_t length = verbs_offer_encode(&offer, blob, sizeof blob);
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_OK);
    assert_memory_equal(&back, &offer, sizeof back);
}

TEST_ALONE(lies_are_refused)
{
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    struct verbs_offer back;
    struct verbs_offer offer = sample(3);
    uint64_t size = size_of(&offer);
    size_t length = verbs_offer_encode(&offer, blob, sizeof blob);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(verbs_offer_decode(blob, cut, size, both, &back), RSM_ST_PROTOCOL);
    assert_int_equal(verbs_offer_decode(blob, length + 1, size, both, &back), RSM_ST_PROTOCOL);
    assert_int_equal(verbs_offer_decode(blob, length, size + PAGE, both, &back), RSM_ST_PROTOCOL);
    assert_int_equal(verbs_offer_decode(blob, length, size - PAGE, both, &back), RSM_ST_PROTOCOL);
    assert_int_equal(verbs_offer_decode(blob, length, size, 0, &back), RSM_ST_PROTOCOL);
    offer.length[1] = 0;
    length = verbs_offer_encode(&offer, blob, sizeof blob);
    assert_int_equal(verbs_offer_decode(blob, length, size_of(&offer), both, &back),
                     RSM_ST_PROTOCOL);
    offer.length[0] = UINT64_MAX; /* sums must not wrap to the size */
    offer.length[1] = PAGE + 1;
    offer.count = 2;
    length = verbs_offer_encode(&offer, blob, sizeof blob);
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_PROTOCOL);
    blob[0]++;
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_VERSION);
}

TEST_ALONE(ports_and_families_are_checked)
{
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    struct verbs_offer back;
    struct verbs_offer offer = sample(1);
    ((struct sockaddr_in *)&offer.address)->sin_port = 0;
    size_t length = verbs_offer_encode(&offer, blob, sizeof blob);
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_PROTOCOL);
    offer = sample(1);
    length = verbs_offer_encode(&offer, blob, sizeof blob);
    blob[2] = 5; /* no such family */
    assert_int_equal(verbs_offer_decode(blob, length, PAGE, both, &back), RSM_ST_PROTOCOL);
    memset(&offer.address, 0, sizeof offer.address);
    assert_int_equal(verbs_offer_encode(&offer, blob, sizeof blob), 0);
    offer = sample(1);
    assert_int_equal(verbs_offer_encode(&offer, blob, 20), 0);
}

TEST_ALONE(hello_and_accept_data)
{
    uint8_t bytes[56] = {0}; /* padded as the fabric does */
    struct verbs_hello hello = {.mtu = 1024};
    struct verbs_hello back;
    struct verbs_accept_data accept_data = {
        .mtu = 2048, .capabilities = 0x80000000u | VERBS_CAP_SIGNAL_IMPORTER};
    struct verbs_accept_data answer;
    memset(hello.token, 7, sizeof hello.token);
    verbs_hello_encode(&hello, bytes);
    assert_true(verbs_hello_decode(bytes, sizeof bytes, &back));
    assert_memory_equal(back.token, hello.token, sizeof back.token);
    assert_int_equal(back.mtu, 1024);
    assert_false(verbs_hello_decode(bytes, 19, &back));
    assert_false(verbs_hello_decode(NULL, 0, &back));
    bytes[0]++;
    assert_false(verbs_hello_decode(bytes, sizeof bytes, &back));
    verbs_accept_data_encode(&accept_data, bytes);
    assert_true(verbs_accept_data_decode(bytes, sizeof bytes, &answer));
    assert_int_equal(answer.mtu, 2048);
    assert_int_equal(answer.capabilities, accept_data.capabilities); /* unknown ones, too */
    assert_false(verbs_accept_data_decode(bytes, 3, &answer));
    bytes[0]++;
    assert_false(verbs_accept_data_decode(bytes, sizeof bytes, &answer));
}

/* What nodes without capabilities sent is understood, and promises nothing. */
TEST_ALONE(nodes_without_abilities)
{
    uint8_t before[56] = {VERBS_WIRE_VERSION, 0, 0, 8};
    uint8_t bytes[VERBS_ACCEPT_DATA_BYTES];
    struct verbs_accept_data accept_data;
    assert_true(verbs_accept_data_decode(before, sizeof before, &accept_data));
    assert_int_equal(accept_data.mtu, 2048);
    assert_int_equal(accept_data.capabilities, 0);
    /* The place of what there was has not changed. */
    verbs_accept_data_encode(&accept_data, bytes);
    assert_memory_equal(bytes, before, sizeof bytes);
}

TEST_ALONE(signals_of_the_exporter)
{
    static const struct rsm_signals some[] = {
        {1, false}, {0, true}, {1, true}, {RSM_SIGNALS_MAX, false}, {RSM_SIGNALS_MAX, true}};
    struct rsm_signals back;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        assert_true(verbs_signals_decode(verbs_signals_encode(&some[i]), &back));
        assert_int_equal(back.count, some[i].count);
        assert_int_equal(back.coalesced, some[i].coalesced);
    }
    assert_true(verbs_signals_decode(verbs_signals_encode(&(struct rsm_signals){UINT32_MAX, false}),
                                     &back));
    assert_int_equal(back.count, RSM_SIGNALS_MAX); /* cut, and not a flag */
    assert_false(back.coalesced);
    assert_false(verbs_signals_decode(0, &back));
    /* What is said about them is none of the importer's own signals. */
    assert_int_not_equal(VERBS_SIGNALS_ACK, verbs_signal_encode(false));
    assert_int_not_equal(VERBS_SIGNALS_ACK, verbs_signal_encode(true));
    assert_int_not_equal(VERBS_SIGNALS_ARM, verbs_signal_encode(false));
    assert_int_not_equal(VERBS_SIGNALS_ARM, verbs_signal_encode(true));
}

TEST_ALONE(messages)
{
    uint8_t bytes[VERBS_MESSAGE_MAX];
    struct verbs_message grant = {.type = VERBS_GRANT, .count = VERBS_PIECES_MAX};
    struct verbs_message credit = {.type = VERBS_CREDIT, .credit = 128};
    struct verbs_message back;
    for (uint32_t i = 0; i < grant.count; i++) {
        grant.piece[i].address = UINT64_C(0x7f0000000000) + i;
        grant.piece[i].key = 100 + i;
    }
    size_t length = verbs_message_encode(&grant, bytes, sizeof bytes);
    assert_true(length > 0); /* the largest fits */
    assert_true(verbs_message_decode(bytes, length, &back));
    assert_int_equal(back.count, grant.count);
    assert_int_equal(back.piece[63].key, 163);
    assert_false(verbs_message_decode(bytes, length - 1, &back));
    bytes[0] = 3; /* no such type */
    assert_false(verbs_message_decode(bytes, length, &back));
    length = verbs_message_encode(&credit, bytes, sizeof bytes);
    assert_true(verbs_message_decode(bytes, length, &back));
    assert_int_equal(back.credit, 128);
    credit.credit = 0;
    length = verbs_message_encode(&credit, bytes, sizeof bytes);
    assert_false(verbs_message_decode(bytes, length, &back));
    credit.credit = VERBS_SIGNALS_AHEAD + 1;
    length = verbs_message_encode(&credit, bytes, sizeof bytes);
    assert_false(verbs_message_decode(bytes, length, &back));
}
