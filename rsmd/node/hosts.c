/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/hosts.h"

static bool is_up(const struct rsmd_node *node, uint32_t id)
{
    (void)node, (void)id;
    return false;
}

static void each_up(const struct rsmd_node *node, void (*visit)(void *context, uint32_t id),
                    void *context)
{
    (void)node, (void)visit, (void)context;
}

static enum rsm_status await(struct rsmd_call *call, uint32_t id)
{
    (void)call, (void)id;
    return RSM_ST_UNREACHABLE;
}

static enum rsm_status connect(struct rsmd_call *call, struct rsmd_controller *controller)
{
    (void)call, (void)controller;
    return RSM_ST_UNREACHABLE;
}

static enum rsm_status trigger(struct rsmd_call *call, uint32_t node,
                               const struct rsmd_trigger *asked)
{
    (void)call, (void)node, (void)asked;
    return RSM_ST_UNREACHABLE;
}

static void cut(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id)
{
    (void)node, (void)controller, (void)id;
}

static void cut_all(struct rsmd_node *node, const struct rsmd_controller *controller)
{
    (void)node, (void)controller;
}

const struct rsmd_hosts_ops rsmd_no_hosts = {
    .is_up = is_up,
    .may_reach = is_up,
    .may_link = is_up,
    .await = await,
    .each_up = each_up,
    .connect = connect,
    .trigger = trigger,
    .cut = cut,
    .cut_all = cut_all,
};
