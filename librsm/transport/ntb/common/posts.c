/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/posts.h"

bool ntb_posts_between(uint64_t before, uint64_t now, struct rsm_signals *posted)
{
    uint32_t number = (uint32_t)now - (uint32_t)before;
    uint32_t at = (uint32_t)(now >> 32) & 0xff, run = (uint32_t)(now >> 40) & 0xff;
    uint32_t coalesced = ((uint32_t)(now >> 48) - (uint32_t)(before >> 48)) & 0xffff;
    *posted = (struct rsm_signals){.count = 0};
    if (number > RSM_SIGNALS_MAX)
        return false;
    posted->count = number;
    /* If all new ones belong to the last run, they came when that began: after another post, or at
     * once. A run of the maximal length may have been longer. */
    bool all_late = coalesced == run && run < NTB_POSTS_RUN_MAX && number > 0 &&
                    at != ((uint32_t)before & 0xff);
    posted->coalesced = coalesced > 0 && !all_late;
    return true;
}
