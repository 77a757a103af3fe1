/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The status page of an import: the port writes it, the kernel module for its own, and the
 *  importing process maps it read-only. A barrier is judged by this page and by the canary, which
 *  is a word in the other host's memory (import/barrier.h).
 *
 *  The layout is that of struct rsm_ntb_status of the kernel module. */
#pragma once

#include <stdint.h>

struct ntb_status {
    uint32_t abi;
    uint32_t import_epoch;  /**< constant: the epoch that the import was made in */
    uint32_t epoch;         /**< the port's present epoch; 0: there is no session */
    uint32_t link_seq;      /**< how often a session of the port has ended */
    uint32_t err_seq;       /**< how often the link has reported errors */
    uint32_t revoked;       /**< 1: this import was revoked */
    uint64_t canary;        /**< constant: what the canary reads as in this session */
    uint64_t canary_offset; /**< constant: where the canary is in its page */
    uint64_t length;        /**< constant: bytes of the import */
    uint32_t flags;
    uint32_t reserved[3];
};

enum { NTB_STATUS_ABI = 1 };

/** A load of a word that another process or host writes: one access. */
static inline uint32_t ntb_load32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline uint64_t ntb_load64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
