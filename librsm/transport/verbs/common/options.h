/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The options of a controller on verbs: words NAME=VALUE of rsm.conf's `options`, separated
 *  by commas or spaces. doc/verbs.md says what each is good for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VERBS_ADDRESS_TEXT = 46, /* INET6_ADDRSTRLEN */
    VERBS_RETRY_MAX = 6,     /* 7 means for ever to some devices */
    VERBS_SPIN_AUTO = -1,
    VERBS_GID_AUTO = -1,
    VERBS_INLINE_MAX = 2048, /* bytes: what a transfer collects on its stack */
};

#define VERBS_REGISTER_AUTO    UINT64_C(0)
#define VERBS_REGISTER_NEVER   UINT64_MAX
#define VERBS_REGISTER_DEFAULT (UINT64_C(256) << 10) /* measured, see doc/verbs.md */

struct verbs_options {
    int gid;                          /**< index into the table of the port, or VERBS_GID_AUTO */
    uint32_t port;                    /**< that the node listens on; 0: any free one */
    char address[VERBS_ADDRESS_TEXT]; /**< of the device, or "" */
    uint32_t timeout_ms;              /**< after which a silent peer has failed */
    uint32_t retry;                   /**< transport retries, 0..VERBS_RETRY_MAX */
    int32_t spin_us;                  /**< polling before sleeping, or VERBS_SPIN_AUTO */
    uint32_t inline_bytes;            /**< wanted; the device may give less */
    uint32_t mtu;                     /**< bytes, 0: what the path says */
    uint64_t pool;                    /**< bytes that rsmd keeps registered ahead */
    uint64_t bounce;                  /**< bytes of bounce memory of each connection */
    uint64_t register_from;           /**< see verbs_register_threshold(); VERBS_REGISTER_AUTO,
                                       *   VERBS_REGISTER_NEVER, or bytes */
    bool windows;                     /**< use type-2 memory windows where the device has them */
};

/**
 * Read @p text over the defaults.
 * @param timeout_ms  that of the node; 0: not known.
 * @param why  on failure, what was expected instead, for the log.
 */
bool verbs_options_parse(const char *text, uint32_t timeout_ms, struct verbs_options *options,
                         char *why, size_t why_size);

/**
 * The size from which a get registers its destination instead of copying from the bounce pool.
 * @param fork_copies  whether the kernel copies pinned pages at fork(). Where it does not, a
 *                     registration takes the pages from a child that is forked meanwhile, and only
 *                     an explicit size registers.
 * @return bytes, at least 1; VERBS_REGISTER_NEVER: no get registers.
 */
uint64_t verbs_register_threshold(const struct verbs_options *options, bool fork_copies);

/** The exponent e of the transport's timeout, 4.096 us * 2^e, that lets (retry + 1) of them end
 *  within @p timeout_ms; 1..31. */
uint8_t verbs_ack_timeout(uint32_t timeout_ms, uint32_t retry);
