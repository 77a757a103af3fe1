/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The limit of transfers over a network: a TCP connection without librsm. A process on the
 *  exporter's side answers, asleep in recv(2) between requests. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum plain_operation {
    PLAIN_PUT = 1, /**< take count times so many bytes, and answer once */
    PLAIN_GET,     /**< send them */
};

enum { PLAIN_HEADER_BYTES = 24 }; /* of a request, and of the answer to PLAIN_PUT */

/** A request. */
struct plain_request {
    uint64_t operation;
    uint64_t bytes, count;
};

_Static_assert(sizeof(struct plain_request) == PLAIN_HEADER_BYTES, "as a header of librsm");

/** The process that answers. */
struct plain_server {
    pid_t pid;               /**< 0: it does not run */
    struct in6_addr address; /**< where it listens; IPv4 addresses are mapped */
    uint16_t port;           /**< 0: it does not run */
};

/** Start it at an address in words, before the library is used. False: errno. */
bool plain_server_start(struct plain_server *server, const char *address, size_t bytes);
void plain_server_stop(struct plain_server *server);

/** Whether that is an address in words. */
bool plain_address_read(const char *text, struct in6_addr *address);

/** The importer's end: a socket, or -1 and errno. */
int plain_connect(const struct in6_addr *address, uint16_t port);

/** How an answer is waited for. */
enum plain_wait {
    PLAIN_POLLS, /**< as librsm does: for 50 us awake, if there is a second processor */
    PLAIN_SLEEPS,
};

/* 0, or an enum trouble. */

/** Send the request, with `count` times that data: the header leaves with the first. */
int plain_put(int socket, const void *data, size_t bytes, unsigned count);
/** ... and take the answer. */
int plain_answer(int socket, enum plain_wait wait);
/** Ask for `count` times so many bytes, and take them. */
int plain_get(int socket, void *data, size_t bytes, unsigned count, enum plain_wait wait);
