/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Mistakes that an engine of the tests can make, one at a time, so that the tests prove that
 *  they would notice. In the library RSM_MAPPING_DEFECTS is not defined and all of this is the
 *  constant false. */
#pragma once

#include <time.h>

enum mapping_defect {
    MAPPING_WHOLE_PAGE = 1,      /* a flush sends the page instead of what changed in it */
    MAPPING_STALE_TWIN = 2,      /* a page keeps its twin after a flush and is not read again */
    MAPPING_NO_O1 = 3,           /* a trapped store overtakes earlier ones to pages with a twin */
    MAPPING_LIVE_POST = 4,       /* a flush compares and sends a page that is being stored to */
    MAPPING_GAP_MERGE = 5,       /* a flush sends what lies between two changed bytes */
    MAPPING_NO_REFRESH = 6,      /* cached pages stay as they are until a barrier */
    MAPPING_LOST_ERROR = 7,      /* what fails outside a call is forgotten */
    MAPPING_READ_BEFORE = 8,     /* a page is read before own writes to it have arrived */
    MAPPING_BLIND_MERGE = 9,     /* mirror: what is fetched replaces what the program has stored */
    MAPPING_RACY_MERGE = 10,     /* mirror: a merge overwrites what is stored meanwhile */
    MAPPING_MERGE_AS_OWN = 11,   /* mirror: what is fetched counts as stored by the program */
    MAPPING_OLD_BESIDE_NEW = 12, /* pages that were read earlier stay beside one that has changed */
    MAPPING_BLIND_OPEN = 13,     /* an open barrier passes while a page is being read */
    MAPPING_TORN_RUN = 14,       /* pages that changed as they were read together stay together */
    MAPPING_AHEAD_STAYS = 15, /* pages read ahead stay beside one that is read for the first time */
    MAPPING_FORGETFUL = 16, /* a page that comes back to the cache is as one that never was there */
};

#ifdef RSM_MAPPING_DEFECTS
/** The one that the process has, or 0; set before main() begins. */
extern unsigned rsm_mapping_planted;
#else
#define rsm_mapping_planted 0U
#endif
#define MAPPING_DEFECT(which) (rsm_mapping_planted == (which))

/** Where the mistake is a race: makes the moment that it needs longer, so that a test meets it
 *  however many processors there are and however busy they are. */
static inline void mapping_defect_window(enum mapping_defect which)
{
    if (MAPPING_DEFECT(which)) {
        const struct timespec window = {.tv_nsec = 20000};
        (void)nanosleep(&window, NULL);
    }
}
