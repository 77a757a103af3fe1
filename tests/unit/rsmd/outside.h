/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a test tells the "news" transport (outside.c) to tell rsmd. */
#ifndef TESTS_RSMD_OUTSIDE_H
#define TESTS_RSMD_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

/** Written to the FIFO in one piece. */
struct news_order {
    uint32_t offer; /**< number of the offer in the order they were made, from 0 */
    uint32_t count; /**< of signals */
    bool coalesced;
    bool lost; /**< the importer is, instead of having signalled */
    enum { NEWS_OF_OFFER, NEWS_OF_LINK, NEWS_OF_NODE } kind;
    /* If it is not of an offer: */
    bool up;
    uint32_t node;
    uint64_t epoch;
};

#endif
