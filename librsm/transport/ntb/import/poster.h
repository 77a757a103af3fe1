/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A port's half in the processes that import: how they signal the exporter. No daemon has a
 *  part in it. */
#pragma once

#include <stdbool.h>

#include "transport/ntb/common/wire.h"

struct ntb_poster {
    const struct ntb_poster_ops *ops; /**< NULL: the process cannot post */
    int device;                       /**< the module's: an import descriptor */
    void *other;                      /**< of other ports */
};

struct ntb_poster_ops {
    uint32_t fds; /**< descriptors that the ticket has for posts */
    /** @p fds: that of the first piece, and those for posts; they stay the caller's.
     *  RSM_ST_PROTOCOL: they are not what they should be, and could harm this process. On
     *  failure nothing is left. */
    enum rsm_status (*begin)(struct ntb_poster *poster, const struct ntb_ticket *ticket,
                             int first_piece, const int *fds);
    void (*end)(struct ntb_poster *poster);
    /** Signal the exporter, behind all earlier stores of the caller. Any thread, and a child of
     *  fork(). */
    enum rsm_status (*post)(const struct ntb_poster *poster, bool coalesce);
};
