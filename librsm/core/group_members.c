/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who the members of a group are. Which node exports an id is known to its daemon alone, so each
 * node that is no member is asked again and again, by trying to connect. What that may cost is
 * bounded by time and not by the number of nodes: LOOK_EVERY_MS between two rounds, or SHARE times
 * as long as a round took. A node that does not answer is left alone for twice as long as it has
 * kept the caller waiting, and twice as long again whenever it does so next.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "control/control.h"
#include "core/controller_ports.h"
#include "core/group_internal.h"

enum {
    LOOK_EVERY_MS = 100,
    LOOK_EVERY_MAX_MS = 2000,
    SHARE = 20,
    SLOW_MS = 500,       /* an attempt that takes so long waits for a node that does not answer */
    PAUSE_MAX_MS = 60000 /* until the next one */
};

static void note(struct rsmcore_group *group, enum rsmcore_group_change change,
                 const struct group_node *node)
{
    if (group->pending == GROUP_EVENTS) { /* drop the oldest one */
        group->first = (group->first + 1) % GROUP_EVENTS;
        group->pending--;
        group->overflow = true;
    }
    group->events[(group->first + group->pending++) % GROUP_EVENTS] =
        (struct rsmcore_group_event){.change = change, .node = node->node, .status = node->status};
}

static void disconnect(struct group_node *node)
{
    if (node->records != NULL)
        rsmcore_records_destroy(node->records);
    rsmcore_import_disconnect(node->import);
    node->records = NULL;
    node->import = NULL;
}

void rsmcore_group_lose(struct rsmcore_group *group, struct group_node *node,
                        enum rsm_status status)
{
    if (node->written)
        group->lost++;
    disconnect(node);
    node->written = node->lacks = false;
    node->status = status;
    note(group, RSMCORE_GROUP_LEFT, node);
}

/* Whether a segment has ended that leaves its memory to those that are connected. */
static bool has_ended(const struct group_node *node)
{
    struct rsm_record record;
    return node->records != NULL && rsmcore_records_wait(node->records, 0, &record) == RSM_ST_OK;
}

void rsmcore_group_look_for_losses(struct rsmcore_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        struct group_node *node = &group->nodes[i];
        if (node->import != NULL && (rsmcore_import_aborted(node->import) || has_ended(node)))
            rsmcore_group_lose(group, node, RSM_ST_ABORTED);
    }
}

/* Whether such an answer means that the node has no member. */
static bool is_absent(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_NOT_FOUND:
    case RSM_ST_NO_CONTROLLER:
    case RSM_ST_NO_ROUTE:
    case RSM_ST_UNREACHABLE:
    case RSM_ST_ABORTED:
    case RSM_ST_TIMEOUT:
    case RSM_ST_STALE:
        return true;
    default:
        return false;
    }
}

bool rsmcore_group_is_refused(const struct group_node *node)
{
    return node->import == NULL && node->status != RSM_ST_OK && !is_absent(node->status);
}

/* ------------------------------------------------------------------ nodes */

static struct group_node *find_node(struct rsmcore_group *group, uint32_t node)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->nodes[i].node == node)
            return &group->nodes[i];
    return NULL;
}

static enum rsm_status add_node(struct rsmcore_group *group, uint32_t node)
{
    struct group_node *known = find_node(group, node);
    if (known != NULL) {
        known->reached = true;
        return RSM_ST_OK;
    }
    struct group_node *grown = realloc(group->nodes, (group->count + 1) * sizeof *grown);
    if (grown == NULL)
        return RSM_ST_NO_MEMORY;
    grown[group->count++] =
        (struct group_node){.node = node, .reached = true, .status = RSM_ST_NOT_FOUND};
    group->nodes = grown;
    return RSM_ST_OK;
}

/* Nodes that have gone are forgotten, but for members, whose connections are cut in their time. */
static void forget_unreached(struct rsmcore_group *group)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct group_node *node = &group->nodes[i];
        if (node->reached || node->import != NULL)
            group->nodes[kept++] = *node;
        else
            rsmcore_control_release(node->place);
    }
    group->count = kept;
}

static enum rsm_status look_for_nodes(struct rsmcore_group *group)
{
    uint32_t *reached;
    size_t count;
    enum rsm_status status = rsmcore_controller_nodes(group->controller, &reached, &count);
    if (status != RSM_ST_OK)
        return status;
    for (size_t i = 0; i < group->count; i++)
        group->nodes[i].reached = false;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++)
        status = add_node(group, reached[i]);
    free(reached);
    if (status == RSM_ST_OK)
        forget_unreached(group);
    return status;
}

void rsmcore_group_forget(struct rsmcore_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->nodes[i].import != NULL)
            disconnect(&group->nodes[i]);
        rsmcore_control_release(group->nodes[i].place);
    }
    free(group->nodes);
}

/* ------------------------------------------------------------------ connecting */

/* Keep the control connection to a node of this host between attempts. */
static enum rsm_status hold_place(const struct rsmcore_group *group, struct group_node *node)
{
    struct rsmcore_place place;
    if (node->place != NULL && rsmcore_control_is_alive(node->place))
        return RSM_ST_OK;
    rsmcore_control_release(node->place);
    node->place = NULL;
    enum rsm_status status = rsmcore_route(group->controller, node->node, &place);
    if (status == RSM_ST_OK)
        node->place = place.control;
    return status;
}

/* After an attempt that has failed. */
static void note_time(struct group_node *node, int64_t began)
{
    int64_t now = rsm_clock_ms(), took = now - began;
    if (took < SLOW_MS)
        return;
    node->pause = 2 * (node->pause > took ? node->pause : took);
    if (node->pause > PAUSE_MAX_MS)
        node->pause = PAUSE_MAX_MS;
    node->retry_at = now + node->pause;
}

/* The end of a segment of RSMAPI cuts its connections. One of SISCI may leave them its memory, and
 * only a record says so. */
static enum rsm_status connect_import(const struct rsmcore_group *group, struct group_node *node)
{
    enum rsm_status status =
        rsmcore_import_connect(group->controller, node->node, group->space, group->segment_id,
                               RSM_RIGHT_WRITE, &node->import);
    if (status != RSM_ST_OK || group->space == RSM_ID_SPACE_RSMAPI)
        return status;
    status = rsmcore_records_of_import(node->import, &node->records);
    if (status != RSM_ST_OK)
        rsmcore_import_disconnect(node->import);
    return status;
}

static void connect_to(struct rsmcore_group *group, struct group_node *node)
{
    int64_t began = rsm_clock_ms();
    enum rsm_status before = node->status;
    node->status = hold_place(group, node);
    if (node->status == RSM_ST_OK)
        node->status = connect_import(group, node);
    if (node->status == RSM_ST_OK) {
        node->pause = 0;
        group->joined++;
        group->report_at = 0;
        node->puts = node->puts_reported = node->lacked = node->lag_us = 0;
        node->put_at = rsm_clock_ms();
        node->barrier = rsmcore_barrier_open_for_calls(node->import);
        note(group, RSMCORE_GROUP_JOINED, node);
        return;
    }
    node->import = NULL;
    node->records = NULL;
    note_time(node, began);
    if (node->status != before && rsmcore_group_is_refused(node))
        note(group, RSMCORE_GROUP_REFUSED, node);
}

enum rsm_status rsmcore_group_look(struct rsmcore_group *group, bool now)
{
    int64_t began = rsm_clock_ms();
    group->measures = began >= group->report_at;
    if (!now && began < group->look_at)
        return RSM_ST_OK;
    enum rsm_status status = look_for_nodes(group);
    for (size_t i = 0; i < group->count && status == RSM_ST_OK; i++) {
        struct group_node *node = &group->nodes[i];
        if (node->import == NULL && node->reached && began >= node->retry_at)
            connect_to(group, node);
    }
    int64_t end = rsm_clock_ms();
    int64_t pause = (end - began) * SHARE;
    if (pause > LOOK_EVERY_MAX_MS) /* nodes that do not answer have a pause of their own */
        pause = LOOK_EVERY_MAX_MS;
    group->look_at = end + (pause > LOOK_EVERY_MS ? pause : LOOK_EVERY_MS);
    return status;
}
