/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/wire.h"

#include <netinet/in.h>
#include <string.h>

#include "base/codec.h"

enum { FAMILY_IPV4 = 4, FAMILY_IPV6 = 6 };

static void version_codec(struct rsm_codec *codec, uint16_t *version)
{
    *version = codec->decode ? 0 : VERBS_WIRE_VERSION;
    rsm_codec_u16(codec, version);
}

struct place {
    uint16_t family;
    uint16_t port; /* host order */
    uint8_t bytes[16];
};

static void place_codec(struct rsm_codec *codec, struct place *place)
{
    rsm_codec_u16(codec, &place->family);
    rsm_codec_u16(codec, &place->port);
    rsm_codec_bytes(codec, place->bytes, sizeof place->bytes);
}

static struct place place_of(const struct sockaddr_storage *address)
{
    struct place place = {.family = 0};
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        place.family = FAMILY_IPV4;
        place.port = ntohs(four->sin_port);
        memcpy(place.bytes, &four->sin_addr, 4);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        place.family = FAMILY_IPV6;
        place.port = ntohs(six->sin6_port);
        memcpy(place.bytes, &six->sin6_addr, 16);
    }
    return place;
}

static bool address_of(const struct place *place, struct sockaddr_storage *address)
{
    static const uint8_t zero[12];
    memset(address, 0, sizeof *address);
    if (place->port == 0)
        return false;
    if (place->family == FAMILY_IPV4) {
        struct sockaddr_in *four = (struct sockaddr_in *)address;
        four->sin_family = AF_INET;
        four->sin_port = htons(place->port);
        memcpy(&four->sin_addr, place->bytes, 4);
        return memcmp(place->bytes + 4, zero, sizeof zero) == 0;
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(place->port);
    memcpy(&six->sin6_addr, place->bytes, 16);
    return place->family == FAMILY_IPV6;
}

/* Everything of an offer behind its version. */
static void offer_codec(struct rsm_codec *codec, struct place *place, struct verbs_offer *offer)
{
    place_codec(codec, place);
    rsm_codec_bytes(codec, offer->token, sizeof offer->token);
    rsm_codec_count(codec, &offer->count, VERBS_PIECES_MAX);
    for (uint32_t i = 0; i < offer->count; i++)
        rsm_codec_u64(codec, &offer->length[i]);
}

size_t verbs_offer_encode(const struct verbs_offer *offer, void *bytes, size_t capacity)
{
    struct rsm_codec codec = rsm_encoder(bytes, capacity);
    struct verbs_offer copy = *offer;
    struct place place = place_of(&offer->address);
    uint16_t version;
    version_codec(&codec, &version);
    offer_codec(&codec, &place, &copy);
    return codec.bad || place.family == 0 ? 0 : capacity - codec.left;
}

/* Whether the pieces are none too short and make up the segment. */
static bool adds_up(const struct verbs_offer *offer, uint64_t size, uint32_t rights)
{
    if (rights == 0)
        return offer->count == 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < offer->count; i++) {
        if (offer->length[i] == 0 || offer->length[i] > size - sum)
            return false;
        sum += offer->length[i];
    }
    return sum == size && size > 0;
}

enum rsm_status verbs_offer_decode(const void *bytes, size_t length, uint64_t size, uint32_t rights,
                                   struct verbs_offer *offer)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    struct place place = {.family = 0};
    uint16_t version;
    memset(offer, 0, sizeof *offer);
    version_codec(&codec, &version);
    if (codec.bad)
        return RSM_ST_PROTOCOL;
    if (version != VERBS_WIRE_VERSION)
        return RSM_ST_VERSION;
    offer_codec(&codec, &place, offer);
    if (codec.bad || codec.left != 0 || !address_of(&place, &offer->address) ||
        !adds_up(offer, size, rights))
        return RSM_ST_PROTOCOL;
    return RSM_ST_OK;
}

static void hello_codec(struct rsm_codec *codec, uint16_t *version, struct verbs_hello *hello)
{
    version_codec(codec, version);
    rsm_codec_u16(codec, &hello->mtu);
    rsm_codec_bytes(codec, hello->token, sizeof hello->token);
}

void verbs_hello_encode(const struct verbs_hello *hello, uint8_t bytes[VERBS_HELLO_BYTES])
{
    struct rsm_codec codec = rsm_encoder(bytes, VERBS_HELLO_BYTES);
    struct verbs_hello copy = *hello;
    uint16_t version;
    memset(bytes, 0, VERBS_HELLO_BYTES);
    hello_codec(&codec, &version, &copy);
}

bool verbs_hello_decode(const void *bytes, size_t length, struct verbs_hello *hello)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    uint16_t version;
    memset(hello, 0, sizeof *hello);
    hello_codec(&codec, &version, hello);
    return !codec.bad && version == VERBS_WIRE_VERSION;
}

static void accept_data_codec(struct rsm_codec *codec, uint16_t *version,
                              struct verbs_accept_data *accept_data)
{
    version_codec(codec, version);
    rsm_codec_u16(codec, &accept_data->mtu);
    rsm_codec_u32(codec, &accept_data->capabilities);
}

void verbs_accept_data_encode(const struct verbs_accept_data *accept_data,
                              uint8_t bytes[VERBS_ACCEPT_DATA_BYTES])
{
    struct rsm_codec codec = rsm_encoder(bytes, VERBS_ACCEPT_DATA_BYTES);
    struct verbs_accept_data copy = *accept_data;
    uint16_t version;
    memset(bytes, 0, VERBS_ACCEPT_DATA_BYTES);
    accept_data_codec(&codec, &version, &copy);
}

bool verbs_accept_data_decode(const void *bytes, size_t length,
                              struct verbs_accept_data *accept_data)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    uint16_t version;
    memset(accept_data, 0, sizeof *accept_data);
    accept_data_codec(&codec, &version, accept_data);
    return !codec.bad && version == VERBS_WIRE_VERSION;
}

static void message_codec(struct rsm_codec *codec, struct verbs_message *message)
{
    rsm_codec_u32(codec, &message->type);
    if (message->type == VERBS_CREDIT) {
        rsm_codec_u32(codec, &message->credit);
        return;
    }
    rsm_codec_count(codec, &message->count, VERBS_PIECES_MAX);
    for (uint32_t i = 0; i < message->count; i++) {
        rsm_codec_u64(codec, &message->piece[i].address);
        rsm_codec_u32(codec, &message->piece[i].key);
    }
}

size_t verbs_message_encode(const struct verbs_message *message, void *bytes, size_t capacity)
{
    struct rsm_codec codec = rsm_encoder(bytes, capacity);
    struct verbs_message copy = *message;
    message_codec(&codec, &copy);
    return codec.bad ? 0 : capacity - codec.left;
}

bool verbs_message_decode(const void *bytes, size_t length, struct verbs_message *message)
{
    struct rsm_codec codec = rsm_decoder(bytes, length);
    memset(message, 0, sizeof *message);
    message_codec(&codec, message);
    if (codec.bad || codec.left != 0)
        return false;
    if (message->type == VERBS_CREDIT)
        return message->credit > 0 && message->credit <= VERBS_SIGNALS_AHEAD;
    return message->type == VERBS_GRANT;
}
