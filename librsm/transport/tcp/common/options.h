/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The options of a controller on TCP: words NAME=VALUE of rsm.conf's `options`, separated by commas
 * or spaces. doc/tcp.md says what each is good for.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

enum { TCP_PATH_BYTES = 256 };

struct tcp_options {
    char address[INET6_ADDRSTRLEN]; /**< where rsm-tcpd listens; "": the node's own address */
    uint32_t port;                  /**< 0: one that is free */
    uint32_t timeout_ms;            /**< without an answer for so long, a peer is dead */
    uint32_t spin_us;               /**< for so long a wait polls before it sleeps */
    uint32_t serve_spin_us;         /**< the same of rsm-tcpd */
    bool tls;                       /**< no connection without encryption */
    char server[TCP_PATH_BYTES];    /**< the program rsm-tcpd; "": the installed one */
};

/** The options of a controller. False, with a line in the log: they make no sense. */
bool tcp_options_read(const struct rsm_controller_info *info, struct tcp_options *options);
