/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Mirror mode: pages that views show are always accessible, and nothing is trapped. Each has
 *  a twin as long as it is shown. What the program has stored is found by comparing the pages that
 *  it has stored to; what the peer has written is read again and again and merged, byte by byte,
 *  where the program has stored nothing.
 *
 *  This part uses neither the kernel nor threads; callers hold the space's lock. The program goes
 *  on storing meanwhile. */
#pragma once

#include "mapping/space.h"

struct mapping_mirror {
    uint64_t *shown;  /* bit per page: a view shows it */
    uint64_t *stored; /* bit per page: the next flush compares it with its twin */
    uint32_t shown_count;
    uint32_t turn;      /* where the refresh in the background goes on */
    uint64_t refreshed; /* us: when it last did */
    uint64_t looked;    /* us: when a flush last looked for stores */
    uint32_t quiet;     /* background steps since the last change that was seen */

    /** Add to `stored` the pages that the program has stored to since the last time. What was
     *  stored before this returns is either noticed by it or by the next, and is in the copy. */
    void (*look)(struct mapping_space *space);
};

/** Pages that the background reads again in one refresh interval, at most. */
#define MAPPING_MIRROR_PACE 4u
/** Intervals are so many times longer where nothing changes. */
#define MAPPING_MIRROR_SLOW 16u

/** Give a space, made and without pages in use, its mirror. */
enum rsm_status mapping_mirror_make(struct mapping_space *space,
                                    void (*look)(struct mapping_space *space));
/** NULL mirror: nothing. */
void mapping_mirror_free(struct mapping_space *space);

/** `stored` of a run, all of which is shown. */
void mapping_mirror_note(struct mapping_space *space, uint32_t first, uint32_t count);

/** Pages from @p first to before @p end are about to be shown: read those that are not yet. Some at
 * a time: returns where to go on, @p end at last. */
uint32_t mapping_mirror_show(struct mapping_space *space, uint32_t first, uint32_t end);
/** They are shown no longer; and those that are, as other views show them, say so again. */
void mapping_mirror_hide(struct mapping_space *space, uint32_t first, uint32_t end);
void mapping_mirror_keep(struct mapping_space *space, uint32_t first, uint32_t end);

/** Send what the program has stored. */
void mapping_mirror_flush(struct mapping_space *space);

/** Read shown pages in [@p from, @p end) again, at most @p max of them (up to
 *  MAPPING_BUFFER_PAGES). Returns where to continue, or MAPPING_NO_PAGE: there are no more, or
 *  reading failed. */
uint32_t mapping_mirror_refresh(struct mapping_space *space, uint32_t from, uint32_t end,
                                uint32_t max);

/** What is due in the background: the flush, and a step of the refresh. */
void mapping_mirror_service(struct mapping_space *space);
/** Microseconds until something may be due; 0: nothing will. */
uint32_t mapping_mirror_pause(const struct mapping_space *space);
