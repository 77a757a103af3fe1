/* SPDX-License-Identifier: BSD-3-Clause */
/* What an importer and a node of the verbs transport read of each other: an offer that is accepted
 * makes up the segment, and whatever is decoded encodes to the same bytes. */
#include "fuzz.h"
#include "transport/verbs/common/wire.h"

static void try_offer(const uint8_t *data, size_t size)
{
    uint8_t again[RSM_OFFER_MAX_BLOB];
    struct verbs_offer offer;
    uint64_t segment;
    if (size < sizeof segment || size - sizeof segment > sizeof again)
        return;
    memcpy(&segment, data, sizeof segment);
    data += sizeof segment;
    size -= sizeof segment;
    if (verbs_offer_decode(data, size, segment, RSM_RIGHT_READ, &offer) != RSM_ST_OK)
        return;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < offer.count; i++) {
        if (offer.length[i] == 0 || offer.length[i] > segment - sum)
            abort();
        sum += offer.length[i];
    }
    if (sum != segment || verbs_offer_encode(&offer, again, sizeof again) != size ||
        memcmp(again, data, size) != 0)
        abort();
}

static void try_message(const uint8_t *data, size_t size)
{
    uint8_t again[VERBS_MESSAGE_MAX];
    struct verbs_message message;
    if (!verbs_message_decode(data, size, &message))
        return;
    if (message.count > VERBS_PIECES_MAX || message.credit > VERBS_SIGNALS_AHEAD ||
        verbs_message_encode(&message, again, sizeof again) != size ||
        memcmp(again, data, size) != 0)
        abort();
}

static void try_private_data(const uint8_t *data, size_t size)
{
    uint8_t again[VERBS_HELLO_BYTES];
    struct verbs_hello hello;
    struct verbs_accept_data welcome;
    if (verbs_hello_decode(data, size, &hello)) {
        verbs_hello_encode(&hello, again);
        if (memcmp(again, data, 4 + VERBS_TOKEN_BYTES) != 0)
            abort();
    }
    if (verbs_accept_data_decode(data, size, &welcome)) {
        verbs_accept_data_encode(&welcome, again);
        if (memcmp(again, data, VERBS_ACCEPT_DATA_BYTES) != 0)
            abort();
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    switch (data[0] % 3) {
    case 0:
        try_offer(data + 1, size - 1);
        break;
    case 1:
        try_message(data + 1, size - 1);
        break;
    default:
        try_private_data(data + 1, size - 1);
    }
}
