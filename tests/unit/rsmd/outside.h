/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What a test tells the "news" transport (outside.c) to tell rsmd. */
#ifndef TESTS_RSMD_OUTSIDE_H
#define TESTS_RSMD_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#define NEWS_JOBS_GO_ON ".go"

/** Written to the FIFO in one piece. */
struct news_order {
    uint32_t offer; /**< number of the offer in the order they were made, from 0 */
    uint32_t count; /**< of signals */
    bool coalesced;
    bool lost; /**< the importer is, instead of having signalled */
    enum { NEWS_OF_OFFER, NEWS_OF_LINK, NEWS_OF_NODE, NEWS_OF_JOB, NEWS_OF_END, NEWS_OF_PART } kind;
    /* NEWS_OF_JOB: submit a job for the offer. It lasts until the test has written a byte to the
     * FIFO whose name is that of the device and NEWS_JOBS_GO_ON; its end is a signal of the
     * importer. */
    /* NEWS_OF_END: the offer, which was ending, has ended. */
    /* NEWS_OF_PART: the offer was made by a port below that of the controller, whose link is down. */
    /* If it is of link or node: */
    bool up;
    uint32_t node;
    uint64_t epoch;
};

#endif
