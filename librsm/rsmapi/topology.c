/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_get_interconnect_topology(3RSM), rsm_free_interconnect_topology(3RSM) */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/controller.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"
#include "rsm/rsmapi.h"

/* Programs have tables of 64 nodes. Those with greater ids are left out. */
static bool is_shown(const struct rsm_topology_remote *remote)
{
    return remote->node <= RSMAPI_NODE_ID_MAX;
}

static uint32_t shown_peers(const struct rsmcore_topology_controller *from)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->remote_count; i++)
        count += is_shown(&from->remotes[i]);
    return count;
}

/* The block is header and pointers, then one record of this size per controller; nothing needs
 * padding, so everything in it is as aligned as the block. */
static size_t record_size(const struct rsmcore_topology_controller *from)
{
    return sizeof(rsm_connections_hdr_t) + shown_peers(from) * sizeof(rsm_remote_cntlr_t);
}
_Static_assert(sizeof(rsm_connections_hdr_t) % 8 == 0 && sizeof(rsm_remote_cntlr_t) % 8 == 0,
               "records of the topology follow one another");

static size_t pointers_size(const struct rsmcore_topology *from)
{
    return offsetof(rsm_topology_t, connections) +
           from->controller_count * sizeof(rsm_connections_t *);
}

static size_t block_size(const struct rsmcore_topology *from)
{
    size_t size = pointers_size(from);
    for (uint32_t i = 0; i < from->controller_count; i++)
        size += record_size(&from->controllers[i]);
    return size < sizeof(rsm_topology_t) ? sizeof(rsm_topology_t) : size;
}

static void fill_record(rsm_connections_t *record, const struct rsmcore_topology_controller *from)
{
    snprintf(record->hdr.cntlr_name, sizeof record->hdr.cntlr_name, "%s", from->name);
    record->hdr.local_hwaddr = from->hardware_address;
    record->hdr.remote_cntlr_count = (int)shown_peers(from);
    rsm_remote_cntlr_t *remotes =
        (rsm_remote_cntlr_t *)((char *)record + offsetof(rsm_connections_t, remote_cntlr));
    for (uint32_t i = 0; i < from->remote_count; i++) {
        const struct rsm_topology_remote *remote = &from->remotes[i];
        if (!is_shown(remote))
            continue;
        remotes->remote_nodeid = remote->node;
        snprintf(remotes->remote_cntlrname, sizeof remotes->remote_cntlrname, "%s", remote->name);
        remotes->remote_hwaddr = remote->hardware_address;
        remotes->connection_state = remote->state;
        remotes++;
    }
}

static void fill_block(rsm_topology_t *block, const struct rsmcore_topology *from)
{
    char *next = (char *)block + pointers_size(from);
    rsm_connections_t **pointers =
        (rsm_connections_t **)((char *)block + offsetof(rsm_topology_t, connections));
    block->topology_hdr.local_nodeid = from->local_node;
    block->topology_hdr.local_cntlr_count = from->controller_count;
    for (uint32_t i = 0; i < from->controller_count; i++) {
        pointers[i] = (rsm_connections_t *)next;
        fill_record(pointers[i], &from->controllers[i]);
        next += record_size(&from->controllers[i]);
    }
}

RSM_API(int, rsm_get_interconnect_topology)(rsm_topology_t **topology_data)
{
    RSM_UNCANCELLABLE;
    struct rsmcore_topology *snapshot;
    if (topology_data == NULL)
        return RSMERR_BAD_TOPOLOGY_PTR;
    *topology_data = NULL;
    enum rsm_status status = rsmcore_topology_get(&snapshot);
    if (status != RSM_ST_OK)
        return rsmapi_error(RSMAPI_TOPOLOGY, status);
    rsm_topology_t *block = calloc(1, block_size(snapshot));
    if (block != NULL)
        fill_block(block, snapshot);
    rsmcore_topology_free(snapshot);
    *topology_data = block;
    return block != NULL ? RSM_SUCCESS : RSMERR_INSUFFICIENT_MEM;
}

RSM_API(void, rsm_free_interconnect_topology)(rsm_topology_t *topology_data)
{
    free(topology_data);
}
