/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/group.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "control/control.h"
#include "core/group_internal.h"

enum { LOOK_MS = 20 }; /* how often a wait looks whether a connection was cut */

/* The next member behind @p node in the list; of NULL the first one. NULL: there is none. */
static struct group_node *next(const struct rsmcore_group *group, struct group_node *node)
{
    node = node == NULL ? group->nodes : node + 1;
    while (node < group->nodes + group->count && node->import == NULL)
        node++;
    return node < group->nodes + group->count ? node : NULL;
}

/* `node` names each member in the statement that follows. */
#define EACH_MEMBER(group, node)                                                                   \
    struct group_node *node = next(group, NULL);                                                   \
    node != NULL;                                                                                  \
    node = next(group, node)

/* False: it is the parent's. */
static bool enter(struct rsmcore_group *group)
{
    if (group->process_epoch != rsmcore_process_epoch())
        return false;
    pthread_mutex_lock(&group->lock);
    return true;
}

static void leave(struct rsmcore_group *group)
{
    pthread_mutex_unlock(&group->lock);
}

enum rsm_status rsmcore_group_connect(struct rsmcore_controller *controller,
                                      enum rsm_id_space space, uint32_t segment_id,
                                      struct rsmcore_group **group)
{
    static _Atomic uint32_t groups;
    struct rsmcore_group *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->controller = rsmcore_controller_hold(controller);
    made->space = space;
    made->segment_id = segment_id;
    made->process_epoch = rsmcore_process_epoch();
    while (made->serial == 0)
        made->serial = atomic_fetch_add(&groups, 1) + 1;
    pthread_mutex_init(&made->lock, NULL);
    enum rsm_status status = rsmcore_group_look(made, true);
    if (status == RSM_ST_OK)
        *group = made;
    else
        rsmcore_group_disconnect(made);
    return status;
}

/* In a child the list is whole unless another thread of the parent was using the group. */
void rsmcore_group_disconnect(struct rsmcore_group *group)
{
    bool whole = group->process_epoch == rsmcore_process_epoch();
    if (!whole && pthread_mutex_trylock(&group->lock) == 0) {
        whole = true;
        leave(group);
    }
    if (whole) {
        rsmcore_group_forget(group);
        pthread_mutex_destroy(&group->lock);
    }
    rsmcore_controller_close(group->controller);
    free(group);
}

/* ------------------------------------------------------------------ data */

/* No copy has it, although there are copies. */
static bool is_outside(const struct rsmcore_group *group, uint64_t offset, size_t length)
{
    bool any = false;
    for (EACH_MEMBER(group, node)) {
        any = true;
        if (rsmcore_import_in_range(node->import, offset, length))
            return false;
    }
    return any;
}

static void put_to(struct group_node *node, uint64_t offset, const void *src, size_t length)
{
    node->written = true;
    node->puts++;
    if (rsmcore_import_put(node->import, offset, src, length) != RSM_ST_OK)
        node->lacks = true;
}

enum rsm_status rsmcore_group_put(struct rsmcore_group *group, uint64_t offset, const void *src,
                                  size_t length)
{
    enum rsm_status status = RSM_ST_OK;
    if (!enter(group))
        return RSM_ST_STALE;
    rsmcore_group_look_for_losses(group);
    if (is_outside(group, offset, length))
        status = RSM_ST_RANGE;
    else if (length > 0)
        for (EACH_MEMBER(group, node))
            put_to(node, offset, src, length);
    leave(group);
    return status;
}

enum rsm_status rsmcore_group_order(struct rsmcore_group *group)
{
    if (!enter(group))
        return RSM_ST_STALE;
    for (EACH_MEMBER(group, node))
        if (rsmcore_import_order(node->import) != RSM_ST_OK)
            node->lacks = node->written;
    leave(group);
    return RSM_ST_OK;
}

/* Whether a member that something was put to has all of it. @p begun: the clock, ns, if that is to
 * be measured, else 0. */
static bool finish(struct group_node *node, int64_t begun)
{
    enum rsm_status status = rsmcore_barrier_close(node->import, node->barrier);
    bool arrived = status == RSM_ST_OK && !node->lacks;
    if (begun != 0)
        node->lag_us = (uint64_t)(rsm_clock_ns() - begun) / 1000;
    node->lacked += !arrived;
    node->written = node->lacks = false;
    node->barrier = rsmcore_barrier_open_for_calls(node->import);
    return arrived;
}

/* Under the lock. @return how many members lack some of what was put. */
static unsigned complete(struct rsmcore_group *group)
{
    unsigned lacking = 0;
    int64_t begun = group->measures ? rsm_clock_ns() : 0;
    for (EACH_MEMBER(group, node))
        if (node->written)
            rsmcore_import_complete_begin(node->import);
    for (EACH_MEMBER(group, node))
        if (node->written && !finish(node, begun))
            lacking++;
    group->measured = group->measured || group->measures;
    group->measures = false;
    return lacking;
}

/* The same of those that have left since the last time. */
static unsigned take_lost(struct rsmcore_group *group)
{
    unsigned lost = group->lost;
    group->lost = 0;
    return lost;
}

enum rsm_status rsmcore_group_close(struct rsmcore_group *group, unsigned *lacking)
{
    *lacking = 0;
    if (!enter(group))
        return RSM_ST_STALE;
    *lacking = complete(group);
    rsmcore_group_look_for_losses(group);
    *lacking += take_lost(group);
    rsmcore_group_report(group);
    (void)rsmcore_group_look(group, false); /* else later */
    leave(group);
    return *lacking == 0 ? RSM_ST_OK : RSM_ST_TRANSFER;
}

/* ------------------------------------------------------------------ for a connection */

enum rsm_status rsmcore_group_write(struct rsmcore_group *group, uint64_t offset, const void *src,
                                    unsigned width, size_t length)
{
    if (!enter(group))
        return RSM_ST_STALE;
    for (EACH_MEMBER(group, node)) {
        struct rsmcore_import *import = node->import;
        enum rsm_status status = rsmcore_import_check(import, RSM_RIGHT_WRITE, offset, length);
        if (status == RSM_ST_OK)
            status = width == 0 ? rsmcore_import_put_unchecked(import, offset, src, length)
                                : rsmcore_import_put_elems_unchecked(import, offset, src, width,
                                                                     length / width);
        node->written = true;
        node->puts++;
        node->lacks = node->lacks || status != RSM_ST_OK;
    }
    leave(group);
    return RSM_ST_OK;
}

enum rsm_status rsmcore_group_complete(struct rsmcore_group *group)
{
    if (!enter(group))
        return RSM_ST_STALE;
    unsigned lacking = complete(group) + take_lost(group);
    leave(group);
    return lacking == 0 ? RSM_ST_OK : RSM_ST_TRANSFER;
}

unsigned rsmcore_group_tend(struct rsmcore_group *group)
{
    if (!enter(group))
        return 0;
    rsmcore_group_look_for_losses(group);
    rsmcore_group_report(group);
    (void)rsmcore_group_look(group, false); /* else later */
    unsigned joined = group->joined;
    leave(group);
    return joined;
}

enum rsm_status rsmcore_group_post(struct rsmcore_group *group, bool coalesce)
{
    enum rsm_status status = RSM_ST_OK;
    if (!enter(group))
        return RSM_ST_STALE;
    rsmcore_group_look_for_losses(group);
    for (EACH_MEMBER(group, node)) {
        enum rsm_status posted = rsmcore_import_post(node->import, coalesce);
        if (posted != RSM_ST_OK)
            status = posted == RSM_ST_STALE ? RSM_ST_UNREACHABLE : posted;
    }
    leave(group);
    return status;
}

/* ------------------------------------------------------------------ membership */

static struct rsmcore_group_member describe(const struct group_node *node)
{
    if (node->import == NULL)
        return (struct rsmcore_group_member){.node = node->node, .status = node->status};
    return (struct rsmcore_group_member){.node = node->node,
                                         .status = RSM_ST_OK,
                                         .length = node->import->length,
                                         .size = node->import->size};
}

enum rsm_status rsmcore_group_members(struct rsmcore_group *group,
                                      struct rsmcore_group_member *members, unsigned *count)
{
    unsigned room = *count, there = 0;
    if (!enter(group))
        return RSM_ST_STALE;
    rsmcore_group_look_for_losses(group);
    (void)rsmcore_group_look(group, false);
    for (size_t i = 0; i < group->count; i++) {
        const struct group_node *node = &group->nodes[i];
        if (node->import == NULL && !rsmcore_group_is_refused(node))
            continue;
        if (there < room)
            members[there] = describe(node);
        there++;
    }
    leave(group);
    *count = there;
    return RSM_ST_OK;
}

static bool take_event(struct rsmcore_group *group, struct rsmcore_group_event *event)
{
    if (group->overflow) {
        *event = (struct rsmcore_group_event){.change = RSMCORE_GROUP_OVERFLOW};
        group->overflow = false;
        return true;
    }
    if (group->pending == 0)
        return false;
    *event = group->events[group->first];
    group->first = (group->first + 1) % GROUP_EVENTS;
    group->pending--;
    return true;
}

enum rsm_status rsmcore_group_event(struct rsmcore_group *group, int timeout_ms,
                                    struct rsmcore_group_event *event)
{
    int64_t end = rsm_deadline(timeout_ms);
    for (;;) {
        if (!enter(group))
            return RSM_ST_STALE;
        rsmcore_group_look_for_losses(group);
        (void)rsmcore_group_look(group, false);
        bool taken = take_event(group, event);
        leave(group);
        if (taken)
            return RSM_ST_OK;
        int left = rsm_deadline_left_ms(end);
        if (left == 0)
            return RSM_ST_TIMEOUT;
        const struct timespec pause =
            rsm_timespec((left < 0 || left > LOOK_MS ? LOOK_MS : left) * RSM_NS_PER_MS);
        if (nanosleep(&pause, NULL) < 0 && errno == EINTR)
            return RSM_ST_INTERRUPTED;
    }
}
