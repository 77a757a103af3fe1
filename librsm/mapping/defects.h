/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Mistakes that can be compiled in, one at a time, so that the tests prove that they would notice.
 * In the library RSM_SOFTMAP_DEFECT is not defined and all of this is the constant false.
 */
#ifndef RSMCORE_SOFTMAP_DEFECTS_H
#define RSMCORE_SOFTMAP_DEFECTS_H

#include <time.h>

#ifndef RSM_SOFTMAP_DEFECT
#define RSM_SOFTMAP_DEFECT 0
#endif

enum softmap_defect {
    SOFTMAP_WHOLE_PAGE = 1,    /* a flush sends the page instead of what changed in it */
    SOFTMAP_STALE_TWIN = 2,    /* a page keeps its twin after a flush and is not read again */
    SOFTMAP_NO_O1 = 3,         /* a trapped store overtakes earlier ones to pages with a twin */
    SOFTMAP_LIVE_POST = 4,     /* a flush compares and sends a page that is being stored to */
    SOFTMAP_GAP_MERGE = 5,     /* a flush sends what lies between two changed bytes */
    SOFTMAP_NO_REFRESH = 6,    /* cached pages stay as they are until a barrier */
    SOFTMAP_LOST_ERROR = 7,    /* what fails outside a call is forgotten */
    SOFTMAP_READ_BEFORE = 8,   /* a page is read before own writes to it have arrived */
    SOFTMAP_BLIND_MERGE = 9,   /* mirror: what is fetched replaces what the program has stored */
    SOFTMAP_RACY_MERGE = 10,   /* mirror: a merge overwrites what is stored meanwhile */
    SOFTMAP_MERGE_AS_OWN = 11, /* mirror: what is fetched counts as stored by the program */
};

#define SOFTMAP_DEFECT(which) (RSM_SOFTMAP_DEFECT == (which))

/** Where the mistake is a race: makes the moment that it needs longer, so that a test meets it however
 *  many processors there are and however busy they are. */
static inline void softmap_defect_window(enum softmap_defect which)
{
    if (SOFTMAP_DEFECT(which)) {
        const struct timespec window = {.tv_nsec = 20000};
        (void)nanosleep(&window, NULL);
    }
}

#endif
