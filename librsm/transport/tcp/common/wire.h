/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the two ends of a connection over TCP send each other.
 *
 * The importer connects and sends HELLO with the token of its offer; rsm-tcpd answers DONE. After
 * that the importer sends requests, which rsm-tcpd carries out in the order of the stream. GET and
 * GET_ELEMS are answered by DATA, FLUSH by DONE; PUT, PUT_ELEMS and SIGNAL are not answered. What
 * could not be carried out is counted: each DONE has the number of such requests so far.
 *
 * Where the offer says TLS, the connection begins with the handshake of TLS 1.3 instead of HELLO:
 * the token is the pre-shared key, and the header of HELLO its identity. All frames, from the DONE
 * of HELLO on, are application data (common/tls.h, common/records.h).
 *
 * The exporter's signals have a TCP connection of their own, whose HELLO has the offer's other
 * token: rsm-tcpd sends SIGNAL, and the importer answers each by TAKEN.
 *
 * Each frame has a header of fixed size, little-endian, and `length` bytes of payload in PUT,
 * PUT_ELEMS, HELLO and DATA.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rsm/transport.h"

enum {
    TCP_WIRE_VERSION = 1,
    TCP_TOKEN_BYTES = 32,
    TCP_FRAME_BYTES = 24,
    TCP_PAYLOAD_MAX = 1 << 20,
    TCP_SNAPSHOT_MAX = 512 * 1024, /**< bytes of a GET of one moment */
    TCP_OFFER_BYTES = 16 + 2 * TCP_TOKEN_BYTES,
};

enum tcp_frame_type {
    TCP_HELLO = 1,
    TCP_PUT,
    TCP_PUT_ELEMS, /**< in single accesses of `width` bytes */
    TCP_GET,
    TCP_GET_ELEMS,
    TCP_FLUSH,
    TCP_SIGNAL, /**< of the exporter: `length` of them, without payload */
    TCP_TAKEN,
    TCP_DATA,
    TCP_DONE,
};

/** Of SIGNAL: the signal is coalesced; from the exporter: one more, which is. */
#define TCP_FLAG_COALESCED 0x1u
/** Of HELLO: this is the stream of the exporter's signals. */
#define TCP_FLAG_SIGNALS 0x1u
/** Of GET: the data should be of one moment. Of DATA: it is. */
#define TCP_FLAG_SNAPSHOT 0x1u

/** In the offset of the DONE that answers HELLO: GETs may have TCP_FLAG_SNAPSHOT. Importers that do
 *  not know this do not look there. */
#define TCP_CAN_SNAPSHOT UINT64_C(1)

struct tcp_frame {
    uint8_t type;  /**< enum tcp_frame_type */
    uint8_t width; /**< of PUT_ELEMS and GET_ELEMS; else 0 */
    uint16_t flags;
    uint32_t length; /**< bytes to move */
    uint64_t offset; /**< in the segment; of HELLO: the grant; of DONE: requests that have failed
                          so far, or what the connection can */
    uint32_t id;     /**< of a request that is answered; of HELLO: TCP_WIRE_VERSION */
    uint32_t status; /**< enum rsm_status of DATA and DONE: of the request */
};

static inline void tcp_frame_encode(const struct tcp_frame *frame, uint8_t bytes[TCP_FRAME_BYTES])
{
    uint16_t flags = htole16(frame->flags);
    uint32_t words[3] = {htole32(frame->length), htole32(frame->id), htole32(frame->status)};
    uint64_t offset = htole64(frame->offset);
    bytes[0] = frame->type;
    bytes[1] = frame->width;
    memcpy(bytes + 2, &flags, sizeof flags);
    memcpy(bytes + 4, &words[0], sizeof words[0]);
    memcpy(bytes + 8, &offset, sizeof offset);
    memcpy(bytes + 16, &words[1], 2 * sizeof words[1]);
}

static inline struct tcp_frame tcp_frame_decode(const uint8_t bytes[TCP_FRAME_BYTES])
{
    uint16_t flags;
    uint32_t words[3];
    uint64_t offset;
    memcpy(&flags, bytes + 2, sizeof flags);
    memcpy(&words[0], bytes + 4, sizeof words[0]);
    memcpy(&offset, bytes + 8, sizeof offset);
    memcpy(&words[1], bytes + 16, 2 * sizeof words[1]);
    return (struct tcp_frame){.type = bytes[0],
                              .width = bytes[1],
                              .flags = le16toh(flags),
                              .length = le32toh(words[0]),
                              .offset = le64toh(offset),
                              .id = le32toh(words[1]),
                              .status = le32toh(words[2])};
}

/** Whether an importer may send this header: its members are in their bounds. The range of the
 *  segment and the rights are not looked at. */
bool tcp_request_is_sound(const struct tcp_frame *frame);
/** The same of rsm-tcpd. */
bool tcp_reply_is_sound(const struct tcp_frame *frame);

/** Whether [offset, offset + length) is inside @p size bytes, without overflow. */
static inline bool tcp_is_inside(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

/** Which of an offer's tokens opens what. */
enum tcp_stream { TCP_STREAM_DATA, TCP_STREAM_SIGNALS, TCP_STREAMS };

/** The blob of an offer. The host is the one of the exporter's node in the importer's rsm.conf. */
struct tcp_offer {
    uint32_t port;
    bool tls;       /**< rsm-tcpd takes connections by TLS alone, else by HELLO alone */
    uint64_t grant; /**< its number at rsm-tcpd, no secret */
    uint8_t token[TCP_STREAMS][TCP_TOKEN_BYTES];
};

void tcp_offer_encode(const struct tcp_offer *offer, uint8_t bytes[TCP_OFFER_BYTES]);
/** RSM_ST_OK; RSM_ST_VERSION; RSM_ST_PROTOCOL: it makes no sense. */
enum rsm_status tcp_offer_decode(const uint8_t *bytes, size_t length, struct tcp_offer *offer);

/** Whether two tokens are the same, in a time that does not depend on where they differ. */
bool tcp_token_equals(const uint8_t a[TCP_TOKEN_BYTES], const uint8_t b[TCP_TOKEN_BYTES]);
