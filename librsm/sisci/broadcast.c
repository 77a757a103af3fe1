/* SPDX-License-Identifier: BSD-3-Clause */
#include "broadcast.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { PAUSE_MS = 1000 }; /* after an attempt that took as long, until the next one */

struct member {
    uint32_t node;
    struct rsmcore_trigger *trigger; /* NULL: the node did not have the number the last time */
    int64_t retry_at;                /* clock; not before */
};

struct sisci_group {
    struct rsmcore_controller *controller; /* held */
    uint32_t number;
    pthread_mutex_t lock; /* guards what follows */
    struct member *members;
    size_t count;
};

static bool has_node(const struct sisci_group *group, uint32_t node)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].node == node)
            return true;
    return false;
}

static enum rsm_status add_node(struct sisci_group *group, uint32_t node)
{
    if (has_node(group, node))
        return RSM_ST_OK;
    struct member *grown = realloc(group->members, (group->count + 1) * sizeof *grown);
    if (grown == NULL)
        return RSM_ST_NO_MEMORY;
    grown[group->count++] = (struct member){.node = node};
    group->members = grown;
    return RSM_ST_OK;
}

/* Nodes come when their daemons do. One that goes stays among them, and does not answer. */
static enum rsm_status look_for_nodes(struct sisci_group *group)
{
    uint32_t *nodes;
    size_t count;
    enum rsm_status status = rsmcore_controller_nodes(group->controller, &nodes, &count);
    if (status != RSM_ST_OK)
        return status;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++)
        status = add_node(group, nodes[i]);
    free(nodes);
    return status;
}

/* A node that does not answer is not to hold up every trigger. */
static void note_time(struct member *member, int64_t began)
{
    int64_t now = rsm_clock_ms();
    if (now - began >= PAUSE_MS)
        member->retry_at = now + PAUSE_MS;
}

static enum rsm_status find(struct sisci_group *group, struct member *member)
{
    int64_t began = rsm_clock_ms();
    if (member->trigger != NULL)
        return RSM_ST_OK;
    if (began < member->retry_at)
        return RSM_ST_NOT_FOUND;
    if (rsmcore_interrupt_connect(group->controller, member->node, RSM_INTERRUPT_DATA,
                                  group->number, &member->trigger) == RSM_ST_OK)
        return RSM_ST_OK;
    member->trigger = NULL;
    note_time(member, began);
    return RSM_ST_NOT_FOUND;
}

static void lose(struct member *member)
{
    rsmcore_interrupt_disconnect(member->trigger);
    member->trigger = NULL;
}

/* A member that removes the number and creates it again has to be found again. */
static enum rsm_status trigger(struct sisci_group *group, struct member *member, const void *data,
                               size_t length)
{
    bool known = member->trigger != NULL;
    int64_t began = rsm_clock_ms();
    enum rsm_status status = find(group, member);
    if (status == RSM_ST_OK)
        status = rsmcore_interrupt_trigger(member->trigger, data, length);
    if (status == RSM_ST_NOT_FOUND && member->trigger != NULL) {
        lose(member);
        if (known)
            return trigger(group, member, data, length);
    }
    if (status == RSM_ST_UNREACHABLE && member->trigger != NULL) {
        lose(member);
        note_time(member, began);
    }
    return status;
}

static enum rsm_status find_all(struct sisci_group *group)
{
    enum rsm_status status = look_for_nodes(group), found = RSM_ST_NOT_FOUND;
    for (size_t i = 0; status == RSM_ST_OK && i < group->count; i++)
        if (find(group, &group->members[i]) == RSM_ST_OK)
            found = RSM_ST_OK;
    return status != RSM_ST_OK ? status : found;
}

enum rsm_status sisci_group_connect(struct rsmcore_controller *controller, uint32_t number,
                                    struct sisci_group **group)
{
    struct sisci_group *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->controller = rsmcore_controller_hold(controller);
    made->number = number;
    pthread_mutex_init(&made->lock, NULL);
    enum rsm_status status = find_all(made);
    if (status == RSM_ST_OK)
        *group = made;
    else
        sisci_group_disconnect(made);
    return status;
}

void sisci_group_disconnect(struct sisci_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].trigger != NULL)
            lose(&group->members[i]);
    rsmcore_controller_close(group->controller);
    pthread_mutex_destroy(&group->lock);
    free(group->members);
    free(group);
}

enum rsm_status sisci_group_trigger(struct sisci_group *group, const void *data, size_t length)
{
    bool reached = false, full = false;
    enum rsm_status failure = RSM_ST_NOT_FOUND;
    if (length > RSM_INTERRUPT_DATA_MAX)
        return RSM_ST_RANGE;
    pthread_mutex_lock(&group->lock);
    (void)look_for_nodes(group); /* else those that are known */
    for (size_t i = 0; i < group->count; i++) {
        enum rsm_status status = trigger(group, &group->members[i], data, length);
        reached |= status == RSM_ST_OK;
        full |= status == RSM_ST_NO_RESOURCES;
        if (status != RSM_ST_OK && status != RSM_ST_NOT_FOUND)
            failure = status;
    }
    pthread_mutex_unlock(&group->lock);
    if (full)
        return RSM_ST_NO_RESOURCES;
    return reached ? RSM_ST_OK : failure;
}
