/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/memfd.h"
#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/controllers.h"
#include "node/hosts.h"
#include "node/imports.h"
#include "node/interrupts.h"
#include "node/revokes.h"
#include "node/segment_ids.h"
#include "node/topology.h"
#include "base/descriptor.h"
#include "base/log.h"

/* Open the device by which a process gets a userfaultfd (node.h). Read-only: the ioctl needs no
 * more, and the descriptor cannot be reopened with more rights through /proc.
 */
static int open_userfaultfd(const struct rsmd_conf *conf)
{
    if (!conf->lend_userfaultfd)
        return -1;
    int device = rsmcore_fd_above_stdio(open("/dev/userfaultfd", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (device < 0)
        rsm_log_warning("lend-userfaultfd = yes, but /dev/userfaultfd cannot be opened: %s",
                        strerror(errno));
    return device;
}

bool rsmd_node_init(struct rsmd_node *node, uint32_t id, bool embedded,
                    const struct rsmcore_runtime *runtime, const struct rsmd_conf *conf, char *why,
                    size_t why_size)
{
    memset(node, 0, sizeof *node);
    node->userfaultfd = -1;
    node->hosts_ops = &rsmd_no_hosts;
    node->id = id;
    node->embedded = embedded;
    node->owner = geteuid();
    node->runtime = *runtime;
    node->conf = *conf;
    node->last_interrupt = UINT32_MAX / 2;
    rsmd_segment_ids_init(node);
    rsmd_shares_init(&node->shares, conf);
    enum rsm_status status = rsmd_generation_table_create(&node->generation_table, false);
    if (status != RSM_ST_OK) {
        snprintf(why, why_size, "cannot make the generation table: %s", rsmd_memfd_trouble(errno));
        return false;
    }
    node->exports_by_slot = rsmd_slotmap_make();
    node->importers_by_slot = rsmd_slotmap_make();
    node->interrupts_by_place = rsmd_slotmap_make();
    if (node->exports_by_slot == NULL || node->importers_by_slot == NULL ||
        node->interrupts_by_place == NULL) {
        snprintf(why, why_size, "out of memory");
        rsmd_node_end(node);
        return false;
    }
    if (!rsmd_controllers_open(node, why, why_size)) {
        rsmd_node_end(node);
        return false;
    }
    node->userfaultfd = open_userfaultfd(conf);
    return true;
}

void rsmd_node_end(struct rsmd_node *node)
{
    rsmd_controllers_close(node);
    rsmd_topology_free(&node->topology);
    if (node->userfaultfd >= 0)
        close(node->userfaultfd);
    node->userfaultfd = -1;
    rsmd_shares_end(&node->shares);
    rsmd_generation_table_free(node->generation_table);
    node->generation_table = NULL;
    free(node->exports_by_slot);
    free(node->importers_by_slot);
    free(node->interrupts_by_place);
    node->exports_by_slot = node->importers_by_slot = node->interrupts_by_place = NULL;
}

bool rsmd_id_in_use(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_extent *extent;
    const struct rsmd_export *exported;
    const struct rsmd_importer *importer;
    const struct rsmd_interrupt *interrupt;
    if (id == 0)
        return true;
    HASH_FIND_INT(node->extents, &id, extent);
    HASH_FIND_INT(node->exports, &id, exported);
    HASH_FIND_INT(node->importers, &id, importer);
    HASH_FIND_INT(node->interrupts, &id, interrupt);
    return extent != NULL || exported != NULL || importer != NULL || interrupt != NULL ||
           rsmd_revokes_are(node, id);
}

/* One numbering for all kinds, so that an id never means two things. */
uint32_t rsmd_new_id(struct rsmd_node *node)
{
    do
        node->last_id++;
    while (rsmd_id_in_use(node, node->last_id));
    return node->last_id;
}
