/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether a loop that has served an event looks for the next one for a moment, or sleeps at
 *  once. To be woken costs more where the processor sleeps meanwhile; but the thread that is to
 *  make the event may need this processor. So a loop looks as long as at least two looks of three
 *  find something, and tries again now and then. */
#pragma once

#include <stdbool.h>

enum {
    RSM_LOOKS_PRICE = 2,  /**< so many that find something make up for one in vain */
    RSM_LOOKS_DEBT = 16,  /**< of these: looks pause */
    RSM_LOOKS_PAUSE = 64, /**< events that are served without a look then */
};

/** How the looks went. Zeroed: there was none. */
struct rsm_looks {
    unsigned debt;
    unsigned pause; /**< events that are still served without */
};

/** Whether to look behind an event that was served. */
static inline bool rsm_looks_pay(struct rsm_looks *looks)
{
    if (looks->pause == 0)
        return true;
    looks->pause--;
    return false;
}

static inline void rsm_looks_found(struct rsm_looks *looks)
{
    looks->debt -= looks->debt > 0;
}

static inline void rsm_looks_missed(struct rsm_looks *looks)
{
    looks->debt += RSM_LOOKS_PRICE;
    if (looks->debt < RSM_LOOKS_DEBT)
        return;
    looks->debt = RSM_LOOKS_DEBT - 1; /* the next one decides */
    looks->pause = RSM_LOOKS_PAUSE;
}
