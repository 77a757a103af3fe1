/* SPDX-License-Identifier: BSD-3-Clause */
/* T: the topology. */
#include <strings.h>

#include "process.h"
#include "stage.h"

enum { NOTICED_WITHIN_MS = 20000 };

static rsm_topology_t *topology(void)
{
    rsm_topology_t *found = NULL;
    OK(rsm_get_interconnect_topology(&found));
    HOLDS(found != NULL);
    return found;
}

/* How the topology sees a node through a controller; 0 if it does not. */
static unsigned state_of(const char *name, rsm_node_id_t node)
{
    unsigned state = 0;
    rsm_topology_t *all = topology();
    rsm_connections_t *const *connections = all->connections;
    for (unsigned i = 0; i < all->topology_hdr.local_cntlr_count; i++) {
        const rsm_connections_t *one = connections[i];
        const rsm_remote_cntlr_t *far_ends = one->remote_cntlr;
        if (strcasecmp(one->hdr.cntlr_name, name) != 0)
            continue;
        for (int k = 0; k < one->hdr.remote_cntlr_count; k++)
            if (far_ends[k].remote_nodeid == node)
                state = far_ends[k].connection_state;
    }
    rsm_free_interconnect_topology(all);
    return state;
}

static void await_state(rsm_node_id_t node, bool active)
{
    int64_t deadline = now_ms() + NOTICED_WITHIN_MS;
    while ((state_of(options.controller, node) == RSM_CONNECTION_ACTIVE) != active) {
        HOLDS(now_ms() < deadline);
        usleep(1000);
    }
}

CONFORMANCE(T, 01, "topology to nowhere")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_TOPOLOGY_PTR, rsm_get_interconnect_topology(NULL));
}

CONFORMANCE(T, 02, "success gives an aligned block")
{
    act_as_exporter();
    rsm_topology_t *all = topology();
    HOLDS((uintptr_t)all % 8 == 0);
    rsm_free_interconnect_topology(all);
}

CONFORMANCE(T, 03, "freeing nothing is harmless")
{
    act_as_exporter();
    rsm_free_interconnect_topology(NULL);
}

CONFORMANCE(T, 04, "loopback is not listed")
{
    act_as_exporter();
    rsm_topology_t *all = topology();
    for (unsigned i = 0; i < all->topology_hdr.local_cntlr_count; i++)
        HOLDS(strncasecmp(all->connections[i]->hdr.cntlr_name, "loopback", 8) != 0);
    rsm_free_interconnect_topology(all);
}

CONFORMANCE(T, 05, "every listed name can be opened")
{
    act_as_exporter();
    rsm_topology_t *all = topology();
    for (unsigned i = 0; i < all->topology_hdr.local_cntlr_count; i++) {
        rsmapi_controller_handle_t handle;
        OK(rsm_get_controller(all->connections[i]->hdr.cntlr_name, &handle));
        OK(rsm_release_controller(handle));
    }
    rsm_free_interconnect_topology(all);
}

CONFORMANCE(T, 06, "without an interconnect: no controllers, but a local id for loopback")
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t import;
    rsm_memseg_id_t id = SEGMENT_ID;
    serve_configured(options.exporter_node, "[limits]\nmax-segments = 0\n");
    act_as_exporter();
    rsm_topology_t *all = topology();
    HOLDS(all->topology_hdr.local_cntlr_count == 0);
    OK(rsm_memseg_export_create(loopback(), &segment, pages(1), PAGE, 0));
    OK(rsm_memseg_export_publish(segment, &id, NULL, 0));
    OK(rsm_memseg_import_connect(loopback(), all->topology_hdr.local_nodeid, id, RSM_PERM_RDWR,
                                 &import));
    OK(rsm_memseg_import_disconnect(import));
    OK(rsm_memseg_export_destroy(segment));
    rsm_free_interconnect_topology(all);
}

static int local_id(void *unused)
{
    rsm_topology_t *all;
    if (rsm_get_interconnect_topology(&all) != RSM_SUCCESS)
        return 255;
    int id = (int)all->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(all);
    return id;
}

CONFORMANCE(T, 07, "the local id is the same in every process and every time")
{
    act_as_exporter();
    HOLDS(in_child(local_id, NULL) == (int)options.exporter_node);
    HOLDS(in_child(local_id, NULL) == (int)options.exporter_node);
    HOLDS(local_id(NULL) == (int)options.exporter_node);
    HOLDS(local_id(NULL) == (int)options.exporter_node);
}

CONFORMANCE(T, 08, "a reachable node is active, an unreachable one is not")
{
    APPLIES_IF(!one_node(), "exporter and importer are on one node");
    offered(1);
    await_state(options.exporter_node, true);
    node_end(options.exporter_node);
    await_state(options.exporter_node, false);
}

CONFORMANCE(T, 09, "names are terminated, counts match what can be read")
{
    struct actor *peer = importer_start();
    act_as_exporter();
    TELL_OK(peer, OFFER, .pages = 1);
    rsm_topology_t *all = topology();
    for (unsigned i = 0; i < all->topology_hdr.local_cntlr_count; i++) {
        const rsm_connections_t *one = all->connections[i];
        const rsm_remote_cntlr_t *far_ends = one->remote_cntlr;
        HOLDS((uintptr_t)one % 8 == 0);
        HOLDS(memchr(one->hdr.cntlr_name, '\0', MAXNAMELEN) != NULL);
        HOLDS(one->hdr.remote_cntlr_count >= 0);
        for (int k = 0; k < one->hdr.remote_cntlr_count; k++) {
            HOLDS(memchr(far_ends[k].remote_cntlrname, '\0', MAXNAMELEN) != NULL);
            HOLDS(far_ends[k].remote_cntlrname[0] != '\0');
            HOLDS(far_ends[k].remote_nodeid >= 1 && far_ends[k].remote_nodeid <= 64);
            HOLDS(far_ends[k].remote_nodeid != options.exporter_node);
            HOLDS(far_ends[k].connection_state >= 1 && far_ends[k].connection_state <= 4);
        }
    }
    rsm_free_interconnect_topology(all);
}

CONFORMANCE(T, 10, "two snapshots are independent")
{
    act_as_exporter();
    rsm_topology_t *first = topology(), *second = topology();
    HOLDS(first != second);
    unsigned count = first->topology_hdr.local_cntlr_count;
    rsm_free_interconnect_topology(first);
    HOLDS(second->topology_hdr.local_nodeid == options.exporter_node);
    HOLDS(second->topology_hdr.local_cntlr_count == count);
    for (unsigned i = 0; i < count; i++)
        HOLDS(second->connections[i]->hdr.cntlr_name[0] != '\0');
    rsm_free_interconnect_topology(second);
}

CONFORMANCE(T, 11, "a node that is listed as active can be connected to")
{
    APPLIES_IF(!one_node(), "exporter and importer are on one node");
    offered(1);
    await_state(options.exporter_node, true);
    OK(rsm_memseg_import_disconnect(connected(RSM_PERM_RDWR)));
}
