/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controllers.h"
#include "core/status.h"

/* max-exported-memory in bytes. */
static uint64_t exported_most(uint32_t percent)
{
    if (percent == 0)
        return UINT64_MAX;
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 100 * percent;
}

/* No client may take more than half of the descriptors, so that one cannot lock the others out. */
static uint32_t descriptors_per_client(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > UINT32_MAX)
        return UINT32_MAX / 2;
    return (uint32_t)(limit.rlim_cur / 2);
}

bool rsmd_node_init(struct rsmd_node *node, uint32_t id, bool embedded,
                    const struct rsmcore_runtime *runtime, const struct rsmd_conf *conf, char *why,
                    size_t why_size)
{
    memset(node, 0, sizeof *node);
    node->id = id;
    node->embedded = embedded;
    node->owner = geteuid();
    node->runtime = *runtime;
    node->conf = *conf;
    node->next_segment_id = UINT64_C(1) << RSMD_FIRST_ASSIGNED_ID_SHIFT;
    node->exported_most = exported_most(conf->max_exported_percent);
    node->descriptors_per_client = descriptors_per_client();
    enum rsm_status status = rsmd_gentable_make(&node->gentable);
    if (status != RSM_ST_OK) {
        snprintf(why, why_size, "cannot make the generation table: %s",
                 rsmcore_status_text(status));
        return false;
    }
    node->exports_by_slot = rsmd_slotmap_make();
    node->imports_by_slot = rsmd_slotmap_make();
    if (node->exports_by_slot == NULL || node->imports_by_slot == NULL) {
        snprintf(why, why_size, "out of memory");
        rsmd_node_end(node);
        return false;
    }
    if (!rsmd_controllers_open(node, why, why_size)) {
        rsmd_node_end(node);
        return false;
    }
    return true;
}

void rsmd_node_end(struct rsmd_node *node)
{
    rsmd_controllers_close(node);
    rsmd_gentable_free(node->gentable);
    node->gentable = NULL;
    free(node->exports_by_slot);
    free(node->imports_by_slot);
    node->exports_by_slot = node->imports_by_slot = NULL;
}
