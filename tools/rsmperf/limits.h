/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the machine takes by itself: copies, fences, and words with another process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum partner_order {
    PARTNER_FD = 'd',      /**< answer one descriptor */
    PARTNER_LINE = 'l',    /**< mirror a word, spinning */
    PARTNER_EVENTFD = 'e', /**< answer events, asleep */
};

struct partner_page;

/** A process of ours, and memory that is shared with it. */
struct partner {
    pid_t pid;
    int socket;
    int event;
    int page_fd; /**< a page to be mapped */
    struct partner_page *page;
    uint8_t *memory;
    size_t bytes;
    char order; /**< what it does now, 0: it waits */
};

/** Start it, before the library is used. @p remote: it keeps to PLACE_REMOTE while it mirrors or
 *  answers events. The system places a daemon, and the thread that answers descriptors. False:
 *  errno. */
bool partner_start(struct partner *partner, size_t bytes, bool remote);
void partner_stop(struct partner *partner);

/* All: 0, or an enum trouble. */

/** Let it do PARTNER_LINE or PARTNER_EVENTFD, and no longer. */
int partner_send(struct partner *partner, enum partner_order order);
int partner_rest(struct partner *partner);

/** A word there and its copy back; an event there and a word back. */
int partner_line(struct partner *partner);
int partner_eventfd(struct partner *partner);

/** So many round trips, each of which brings a descriptor. Their time is added to *ns. */
int partner_trips(struct partner *partner, unsigned trips, double *ns);

/** Map a page of shared memory. Its time, without that of unmapping, is added to *ns. */
int limit_mmap(const struct partner *partner, size_t bytes, double *ns);

/** Time of @p batch copies, or fences. */
double limit_copy(void *to, const void *from, size_t bytes, unsigned batch);
double limit_fence(unsigned batch);
