/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Extents as regions use them; the caller holds the lock of the regions. */
#pragma once

#include "control/control.h"
#include "pageswap/pageswap.h"

/** Memory that rsmd made and that regions lie on. Its descriptor is closed once it is mapped where
 *  that can be done without, and rsmd is asked for another one where that is not enough: a program
 *  may have more segments than descriptors. */
struct rsmcore_extent {
    struct rsmcore_control *control;
    uint32_t id;
    struct rsmcore_swap_file file; /**< fd alone is set until it has been checked */
    struct rsm_extent_about about; /**< what rsmd says of it */
    unsigned regions;              /**< that lie on it */
};

/** Have rsmd make one, with a descriptor and without regions. */
enum rsm_status rsmcore_extent_take(struct rsmcore_control *control, const char *controller,
                                    size_t length, struct rsmcore_extent **taken);

/** One that rsmd has made already. @p fd is the extent's from then on. NULL: no memory, and it has
 *  been given back. */
struct rsmcore_extent *rsmcore_extent_of(struct rsmcore_control *control, uint32_t id, int fd,
                                         const struct rsm_extent_about *about);

/** Have a descriptor. On failure, which is that of the request or RSM_ST_PROTOCOL, there is none.
 */
enum rsm_status rsmcore_extent_reopen(struct rsmcore_extent *extent);

/** The extent is mapped: close its descriptor, unless second mappings take it or it is no memfd. */
void rsmcore_extent_let_go(struct rsmcore_extent *extent);

/** One region less lies on it; with the last one it goes back to rsmd. */
void rsmcore_extent_release(struct rsmcore_extent *extent);

/** The same in a forked child: the extent is the parent's, only the copy goes. */
void rsmcore_extent_forget(struct rsmcore_extent *extent);

/** Give it back, although no region lies on it. */
void rsmcore_extent_free(struct rsmcore_extent *extent);

/** The same of one that is no struct yet. */
void rsmcore_extent_give_back(struct rsmcore_control *control, uint32_t id, int fd);
