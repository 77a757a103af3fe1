/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * "peek", a transport for tests alone: a fabric without load and store between "hosts" that are
 * runtime directories of one machine. A thread of rsmd plays the adapter: it has the segments'
 * memory, and importers ask it to put and get, by packets on a unix socket. So an importer that
 * dies or is stopped holds nobody up, and a revoked offer carries nothing any more.
 *
 * librsm_peek.so has the least that a transport must have. librsm_peeksig.so, made of the same
 * sources with PEEK_SIGNALS, also carries signals, both ways, and tells rsmd of importers that have
 * gone. The exporter's go over a socket of their own; the importer answers each by PEEK_TAKEN.
 * librsm_peeklater.so, with PEEK_LATER too, revokes by revoke_begin(): its adapter ends the offers.
 * librsm_peekmap.so, with PEEK_MAPPABLE too, promises RSM_CAP_FAULT_SAFE, so that the mapping
 * engine maps its segments.
 */
#ifndef TESTS_PEEK_PEEK_H
#define TESTS_PEEK_PEEK_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "rsm/transport.h"

#include "mistakes.h"

#if defined(PEEK_NAME)
/* of a variant with a mistake */
#elif defined(PEEK_MAPPABLE)
#define PEEK_NAME "peekmap"
#elif defined(PEEK_LATER)
#define PEEK_NAME "peeklater"
#elif defined(PEEK_SIGNALS)
#define PEEK_NAME "peeksig"
#else
#define PEEK_NAME "peek"
#endif

#define PEEK_VISIBLE __attribute__((visibility("default")))

enum {
#ifdef PEEK_MAPPABLE
    PEEK_CHUNK = 2048, /* request and reply are on a stack that the promise limits */
#else
    PEEK_CHUNK = 32768, /* bytes in one packet */
#endif
    PEEK_NAME_BYTES = 32,
    PEEK_ADDRESS_BYTES = 64,
    PEEK_REQUEST_BYTES = 16,
};

/** The offer's blob: where the adapter listens (in the abstract namespace), and what to say. The
 *  importer finds the rest as it knows it already. */
struct peek_blob {
    uint64_t key;
    uint32_t length;
    char name[PEEK_NAME_BYTES];
    char address[PEEK_ADDRESS_BYTES]; /* of the exporter's node */
    uint32_t request_len;             /* what has arrived of the request */
    uint8_t request[PEEK_REQUEST_BYTES];
};

enum peek_operation {
    PEEK_BEGIN = 1, /* first: offset is the key */
    PEEK_PUT = 2,
    PEEK_GET = 3,
    PEEK_SIGNAL = 4, /* offset 1: coalesced */
    PEEK_LISTEN = 5, /* there: from now on signals may come; without reply */
    PEEK_TAKEN = 6,  /* there; without reply */
    PEEK_JOIN = 7,   /* first, of the socket for signals: offset is the key; without reply */
};

struct peek_request {
    uint32_t operation;
    uint32_t width; /* 1, 2, 4, 8: in accesses of that many bytes; 0: any */
    uint64_t offset;
    uint32_t length;
    _Alignas(8) uint8_t data[PEEK_CHUNK]; /* of put: `length` of them are sent */
};

/** Of the exporter, on the socket for them. */
struct peek_signals {
    uint32_t count;
    uint32_t coalesced;
};

struct peek_reply {
    uint32_t status;                      /* enum rsm_status */
    _Alignas(8) uint8_t data[PEEK_CHUNK]; /* of get */
};
enum { PEEK_REPLY_BYTES = offsetof(struct peek_reply, data) };

/** The abstract address; its length. */
static inline socklen_t peek_address(struct sockaddr_un *address, const char *name, uint32_t length)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    for (uint32_t i = 0; i < length && i < PEEK_NAME_BYTES; i++)
        address->sun_path[i] = name[i];
    return (socklen_t)(sizeof address->sun_family + length);
}

#endif
