/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/controllers.h"
#include "base/status.h"

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
    node->last_interrupt = UINT32_MAX / 2;
    node->next_segment_id = UINT64_C(1) << RSMD_FIRST_ASSIGNED_ID_SHIFT;
    rsmd_shares_init(&node->shares, conf);
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
    rsmd_shares_end(&node->shares);
    rsmd_gentable_free(node->gentable);
    node->gentable = NULL;
    free(node->exports_by_slot);
    free(node->imports_by_slot);
    node->exports_by_slot = node->imports_by_slot = NULL;
}
