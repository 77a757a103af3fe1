/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The messages between the two halves of the verbs transport.
 *
 *  The node's offer has the address where it listens and the token that opens the connection. The
 *  importer sends the token in the private data of its connection request. The node accepts, binds
 *  the memory windows to that connection and sends a grant: one address and key for each piece.
 *  From then on the importer accesses the memory by itself; the node only returns credits for the
 *  signals (writes with immediate data) it has taken. Either side ends the connection by
 *  disconnecting.
 *
 *  Signals of the exporter go the other way, as sends with immediate data and without payload. The
 *  importer arms them first, and the next one is sent when the importer has acknowledged the last.
 *  They are sends, because a write would need memory of the importer that others may write to. A
 *  node that supports this sets a bit in `capabilities`, where earlier versions had zeros; the
 *  importer arms nothing at other nodes, and ignores bits that it does not know.
 *
 *  All of it is little-endian and decoded with bounds; the decoders below accept only what an
 *  honest half of this version would have written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rsm/transport.h"

enum {
    VERBS_WIRE_VERSION = 1,
    VERBS_TOKEN_BYTES = 16,
    VERBS_PIECES_MAX = RSM_OFFER_MAX_FDS,
    VERBS_HELLO_BYTES = 24,      /* private data of a request; the fabric pads it to 56 */
    VERBS_ACCEPT_DATA_BYTES = 8, /* private data of the answer */
    VERBS_MESSAGE_MAX = 1024,    /* a grant of the most pieces, or a credit */
    VERBS_SIGNALS_AHEAD = 256 /* signals that an importer may send before it has credit for more */
};

/** The blob of an offer. */
struct verbs_offer {
    struct sockaddr_storage address; /**< of the node's listener, with its port */
    uint8_t token[VERBS_TOKEN_BYTES];
    uint32_t count;                    /**< pieces; 0 without rights */
    uint64_t length[VERBS_PIECES_MAX]; /**< bytes of each, not 0 */
};

/** @return bytes written, 0 if it does not fit. */
size_t verbs_offer_encode(const struct verbs_offer *offer, void *bytes, size_t capacity);
/** @return RSM_ST_OK; RSM_ST_VERSION; RSM_ST_PROTOCOL: nonsense, or the pieces do not make up
 *          @p size bytes (with @p rights 0 there must be none). */
enum rsm_status verbs_offer_decode(const void *bytes, size_t length, uint64_t size, uint32_t rights,
                                   struct verbs_offer *offer);

/** Private data of a connection request. */
struct verbs_hello {
    uint8_t token[VERBS_TOKEN_BYTES];
    uint16_t mtu; /**< most that the importer wants, bytes; 0: what the path says */
};

void verbs_hello_encode(const struct verbs_hello *hello, uint8_t bytes[VERBS_HELLO_BYTES]);
/** The fabric may have padded the data: bytes behind the message are not looked at. */
bool verbs_hello_decode(const void *bytes, size_t length, struct verbs_hello *hello);

/** In `capabilities`: the node sends signals of the exporter to an importer that wants them. */
#define VERBS_CAP_SIGNAL_IMPORTER 0x1u

/** Private data of the answer. */
struct verbs_accept_data {
    uint16_t mtu; /**< that both take; 0: what the path says */
    uint32_t capabilities;
};

void verbs_accept_data_encode(const struct verbs_accept_data *accept_data,
                              uint8_t bytes[VERBS_ACCEPT_DATA_BYTES]);
bool verbs_accept_data_decode(const void *bytes, size_t length,
                              struct verbs_accept_data *accept_data);

/** What the node sends on the connection. */
enum verbs_message_type { VERBS_GRANT = 1, VERBS_CREDIT = 2 };

struct verbs_message {
    uint32_t type;
    uint32_t credit; /**< of VERBS_CREDIT: signals taken, 1..VERBS_SIGNALS_AHEAD */
    uint32_t count;  /**< of VERBS_GRANT: pieces, as in the offer */
    struct {
        uint64_t address;
        uint32_t key;
    } piece[VERBS_PIECES_MAX];
};

/** @return bytes written, 0 if it does not fit. */
size_t verbs_message_encode(const struct verbs_message *message, void *bytes, size_t capacity);
bool verbs_message_decode(const void *bytes, size_t length, struct verbs_message *message);

/** Immediate data, host order. The importer's: a signal, or that it has taken those of the
 * exporter.
 */
#define VERBS_SIGNAL_COALESCE UINT32_C(0x80000000)
#define VERBS_SIGNALS_ACK     UINT32_C(0x40000000)
#define VERBS_SIGNALS_ARM     UINT32_C(0x20000000) /* once */
static inline uint32_t verbs_signal_encode(bool coalesce)
{
    return 1u | (coalesce ? VERBS_SIGNAL_COALESCE : 0u);
}

/** The node's: signals of the exporter, as many as have come together. */
static inline uint32_t verbs_signals_encode(const struct rsm_signals *signals)
{
    uint32_t count = signals->count < RSM_SIGNALS_MAX ? signals->count : RSM_SIGNALS_MAX;
    return count | (signals->coalesced ? VERBS_SIGNAL_COALESCE : 0u);
}

/** false: none at all, which no node sends. */
static inline bool verbs_signals_decode(uint32_t immediate, struct rsm_signals *signals)
{
    *signals = (struct rsm_signals){.count = immediate & RSM_SIGNALS_MAX,
                                    .coalesced = (immediate & VERBS_SIGNAL_COALESCE) != 0};
    return immediate != 0;
}
