/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport/best.h"
#include "transport/registry.h"
#include "transport/shm/shm.h"

static const char *flaw(const void *given)
{
    return rsmcore_node_ops_flaw(given);
}

static enum rsm_status complete(const void *given, void *full)
{
    return rsmcore_node_ops_complete(given, full);
}

static const void *const built_in[] = {&rsmcore_shm_node_ops, &rsmcore_best_node_ops, NULL};

static struct rsmcore_registry registry = {
    .half = "node",
    .symbol = RSM_NODE_OPS_SYMBOL,
    .table_size = sizeof(struct rsmcore_node_table),
    .built_in = built_in,
    .flaw = flaw,
    .complete = complete,
};

const struct rsm_node_ops *rsmcore_transport_node(const char *name)
{
    return rsmcore_registry_find(&registry, name);
}
