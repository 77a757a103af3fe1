/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport/best.h"
#include "transport/registry.h"
#include "transport/shm/shm.h"

static const char *flaw(const void *given)
{
    return rsmcore_import_ops_flaw(given);
}

static enum rsm_status complete(const void *given, void *full)
{
    return rsmcore_import_ops_complete(given, full);
}

static const void *const built_in[] = {&rsmcore_shm_import_ops, &rsmcore_best_import_ops, NULL};

static struct rsmcore_registry registry = {
    .half = "import",
    .symbol = RSM_IMPORT_OPS_SYMBOL,
    .table_size = sizeof(struct rsmcore_import_table),
    .built_in = built_in,
    .flaw = flaw,
    .complete = complete,
};

const struct rsm_import_ops *rsmcore_transport_import(const char *name)
{
    return rsmcore_registry_find(&registry, name);
}

enum rsm_status rsmcore_transport_import_add(const struct rsm_import_ops *given)
{
    return rsmcore_registry_add(&registry, given);
}
