/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Somebody between an importer and rsm-tcpd, who keeps what passes, and may change a byte of it. */
#ifndef TESTS_TCP_RELAY_H
#define TESTS_TCP_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RELAY_KEPT = 1 << 20 };

struct relay {
    pthread_t thread;
    int listener;
    uint16_t port;        /* at 127.0.0.1 */
    atomic_uint to;       /* the port of rsm-tcpd */
    atomic_bool stop;     /* the connection has ended, and no other is taken */
    atomic_long change;   /* bytes until one of the importer's is changed; negative: none */
    atomic_size_t length; /* of what has passed */
    uint8_t kept[RELAY_KEPT];
};

struct relay *relay_begin(void);
void relay_end(struct relay *relay);
/** Whether these bytes are among those that have passed. No connection is under way. */
bool relay_has_seen(const struct relay *relay, const void *bytes, size_t length);

#endif
