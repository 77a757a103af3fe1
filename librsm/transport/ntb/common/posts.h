/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The counter of a connection: a word in the exporter's pool that only the importer's host writes.
 * The exporter compares it with the value that it read last. The difference shows what the importer
 * has posted, so no post is lost if the exporter reads late, and nothing has to be written back.
 *
 * From the lowest bit:
 *
 * 32 bits posts that accumulate 8 bits the lowest bits of that number at the latest post that
 *    coalesces 8 bits how many posts that coalesce there were at that number, at most 255 16 bits
 *    posts that coalesce
 *
 * Of posts that coalesce it matters only whether one came before the first that accumulates: after
 * a signal that is not taken they do not count.
 *
 * The importer's port writes it: the kernel module for its own (rsm_ntb.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rsm/transport.h"

enum {
    NTB_CONNECTIONS = 2048, /**< counters of a pool */
    NTB_POSTS_RUN_MAX = 255,
};
#define NTB_NO_CONNECTION UINT32_MAX

/**
 * What was posted between two looks. In doubt a post that coalesces counts: a signal too many does
 * less harm than one for which the exporter waits in vain.
 * @return false: the word has gone backwards, which no importer does; nothing was posted.
 */
bool ntb_posts_between(uint64_t before, uint64_t now, struct rsm_signals *posted);
