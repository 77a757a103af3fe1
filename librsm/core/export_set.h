/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the files of exported segments share: the structure, and the set of segments by
 *  address (export_set.c).
 *
 *  Everything but rsmcore_exports_lock() and rsmcore_export_daemon_lives() is called with the
 *  region lock held. */
#pragma once

#include "base/ranges.h"
#include "core/export.h"

/* The region lock guards the set and the state of every segment: what happens to one segment's
 * pages depends on which others lie over them. */
struct rsmcore_export {
    struct rsm_range range; /* in the set, else 0; first, so that it leads here */
    struct rsmcore_controller *controller;
    struct rsmcore_control *control;
    struct rsmcore_event *event;
    const _Atomic uint32_t *epoch; /* the generation of its set of importers */
    unsigned process_epoch;
    uint32_t id;
    uintptr_t start; /* 0: it has no memory, and is not in the set */
    size_t length;   /* whole pages */
    size_t size;     /* as asked for */
    bool own_memory; /* mapped by the library, and unmapped with the segment */
    bool published;
    bool connections_kept;   /* unpublished, but those connected before still use the pages */
    bool publish_unanswered; /* rsmd may have published it after we stopped waiting */
};

/** Take the region lock for the segments. rsmcore_region_unlock() gives it back. In a forked child
 *  the set is empty: the parent's segments are not the child's to care for. */
void rsmcore_exports_lock(void);
/** Add a segment with memory to the set. */
void rsmcore_exports_add(struct rsmcore_export *segment);
/** Take it off the set, if it is in it. */
void rsmcore_exports_remove(struct rsmcore_export *segment);
/** Try again to take off their extents what rsmcore_export_leave_extents_for_good() could not. */
void rsmcore_exports_reclaim(void);

/** Whether importers may be connected: it is published, or was and they were kept. */
bool rsmcore_export_in_use(const struct rsmcore_export *segment);
/** Whether another segment lies over the pages that this one has, or would have at @p start. */
bool rsmcore_export_overlaps_another(const struct rsmcore_export *segment, uintptr_t start);
/** Take the segment's pages off their extents, except those that another segment lies over.
 *  @param only_in_use  segments that are not in use do not count. */
enum rsm_status rsmcore_export_leave_extents(const struct rsmcore_export *segment,
                                             bool only_in_use);
/** The same for a segment that ends: what cannot be done now is done later. */
void rsmcore_export_leave_extents_for_good(const struct rsmcore_export *segment, bool only_in_use);
/** Whether the daemon that knows the segment still runs. When it dies its segments end: their ids
 *  are free, their importers cut off. The handle is of no use then but to get the memory back. */
bool rsmcore_export_daemon_lives(const struct rsmcore_export *segment);
