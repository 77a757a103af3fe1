/* SPDX-License-Identifier: BSD-3-Clause */
/** @file An importer over tcp without the library: it has rsmd's offer, and sends what it likes. */
#ifndef TESTS_INTEGRATION_RAW_TCP_H
#define TESTS_INTEGRATION_RAW_TCP_H

#include "protocol/proto.h"
#include "transport/tcp/common/wire.h"

struct raw_import {
    int control; /* to its node's daemon; the connection lasts as long as this */
    struct tcp_offer offer;
};

/** In an actor: ask for a connection to a segment of node 1. An rsm_status. */
int raw_connect(struct raw_import *import, uint32_t node, uint32_t segment);
/** Call what serves it, at this address. A socket, or -1. */
int raw_call(const struct raw_import *import, const char *address);
/** Show the token of the data's stream. False: it was not accepted within the time. */
bool raw_hello(const struct raw_import *import, int socket, int timeout_ms);
/** Write a frame's header. */
void raw_put(uint8_t *bytes, uint64_t offset, uint32_t length);

#endif
