/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A group from the inside: group.c moves data, group_members.c knows who the members are. */
#pragma once

#include <pthread.h>

#include "core/barrier.h"
#include "core/group.h"
#include "core/records.h"

struct rsmcore_control;

enum { GROUP_EVENTS = 64 };

/** A node that the controller reaches, member or not. */
struct group_node {
    uint32_t node;
    bool reached;                    /**< the controller still reaches it */
    enum rsm_status status;          /**< of the latest attempt to connect */
    int64_t retry_at, pause;         /**< clock, ms; not before, as long after the latest one */
    struct rsmcore_control *place;   /**< held, so that an attempt costs one request; or NULL */
    struct rsmcore_import *import;   /**< NULL: no member */
    struct rsmcore_records *records; /**< of a member, where its end does not cut connections */
    struct rsmcore_barrier barrier;  /**< since the latest close */
    bool written;                    /**< something was put since then */
    bool lacks;                      /**< ... and some of it is known not to have arrived */
    uint64_t puts, puts_reported;    /**< since it is a member */
    uint64_t lacked;                 /**< barriers at which it lacked something */
    uint64_t lag_us;                 /**< of the latest barrier that was measured */
    int64_t put_at;                  /**< clock, ms: about when something was put last */
};

struct rsmcore_group {
    struct rsmcore_controller *controller; /* held */
    enum rsm_id_space space;
    uint32_t segment_id;
    unsigned process_epoch;
    pthread_mutex_t lock; /* guards what follows */
    struct group_node *nodes;
    size_t count;
    unsigned joined;   /* members that have been connected so far */
    unsigned lost;     /* members that have left since the latest close without all the data */
    int64_t look_at;   /* clock, ms: when to look for new members again */
    uint32_t serial;   /* of the process's groups, not 0 */
    int64_t report_at; /* clock, ms: when to report to rsmd again */
    bool measures;     /* the next barrier is measured */
    bool measured;     /* the latest was, and that is not reported */
    unsigned first;    /* of the events */
    unsigned pending;  /* of them that are there */
    bool overflow;     /* some have been dropped */
    struct rsmcore_group_event events[GROUP_EVENTS];
};

/* For a connection to the group (group_import.c). The first two may be called where a transport's
 * operations may: by the mapping engine, from a signal handler. They connect and disconnect
 * nothing. */

/** Put to every member; @p width 0: bytes, else elements of that width. Who cannot be written lacks
 *  data. RSM_ST_OK, RSM_ST_STALE. */
enum rsm_status rsmcore_group_write(struct rsmcore_group *group, uint64_t offset, const void *src,
                                    unsigned width, size_t length);
/** Wait until the members have it. RSM_ST_TRANSFER: one or more do not, or have left. */
enum rsm_status rsmcore_group_complete(struct rsmcore_group *group);
/** Look who has left and, if it is time, who has come. @return how many members have been connected
 *  so far. */
unsigned rsmcore_group_tend(struct rsmcore_group *group);

/* The caller of these has the group's lock. */

/** Find nodes and connect to those that export the id, if @p now or if it is time. */
enum rsm_status rsmcore_group_look(struct rsmcore_group *group, bool now);
/** Give up members whose connections were cut. */
void rsmcore_group_look_for_losses(struct rsmcore_group *group);
/** The node is a member no more. */
void rsmcore_group_lose(struct rsmcore_group *group, struct group_node *node,
                        enum rsm_status status);
/** If a barrier was measured, report the members to their daemons, for rsmstat. Does not wait. */
void rsmcore_group_report(struct rsmcore_group *group);
/** Free all nodes. */
void rsmcore_group_forget(struct rsmcore_group *group);
/** Whether the node has the segment and does not let this process write. */
bool rsmcore_group_is_refused(const struct group_node *node);
