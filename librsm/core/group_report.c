/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows of groups: a writer reports its members to their daemons, ten times a second
 * at most. */
#include "base/clock.h"
#include "control/control.h"
#include "core/group_internal.h"
#include "core/import.h"

enum { REPORT_EVERY_MS = 100 };

static struct rsm_group_stats describe(const struct rsmcore_group *group,
                                       const struct group_node *node, int64_t now)
{
    return (struct rsm_group_stats){.group = group->serial,
                                    .puts = node->puts,
                                    .quiet_us = (uint64_t)(now - node->put_at) * 1000,
                                    .lag_us = node->lag_us,
                                    .lacked = node->lacked};
}

static void report(const struct rsmcore_group *group, struct group_node *node, int64_t now)
{
    struct rsm_msg msg;
    if (!rsmcore_control_knows(node->import->control, RSM_MSG_IMPORT_GROUP))
        return;
    if (node->puts != node->puts_reported)
        node->put_at = now;
    node->puts_reported = node->puts;
    rsm_msg_begin(&msg, RSM_MSG_IMPORT_GROUP);
    msg.u.import_group =
        (struct rsm_import_group_request){node->import->id, describe(group, node, now)};
    rsmcore_control_try_post(node->import->control, &msg);
}

void rsmcore_group_report(struct rsmcore_group *group)
{
    if (!group->measured)
        return;
    int64_t now = rsm_clock_ms();
    group->measured = false;
    group->report_at = now + REPORT_EVERY_MS;
    for (size_t i = 0; i < group->count; i++)
        if (group->nodes[i].import != NULL)
            report(group, &group->nodes[i], now);
}
