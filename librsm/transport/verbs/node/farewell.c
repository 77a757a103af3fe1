/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling an importer that its connection is over. Soft-RoCE loses its connection manager to a
 * message that the network does not take (manager.h), as while the cable is out, and that is just
 * when the daemons lose sight of each other and connections end. So nothing is sent from a port
 * that is not active: the connection manager's part of such a connection waits. Its queue pair and
 * keys have gone already.
 */
#include <stdlib.h>

#include "transport/verbs/node/node.h"

struct verbs_farewell {
    struct verbs_farewell *next;
    struct rdma_cm_id *id;
};

static void say(struct rdma_cm_id *id)
{
    rdma_disconnect(id); /* fails if it was not connected */
    rdma_destroy_id(id);
}

void verbs_farewell(struct rsm_node_port *port, struct rdma_cm_id *id)
{
    struct verbs_farewell *kept = verbs_device_active(&port->device) ? NULL : malloc(sizeof *kept);
    if (kept == NULL) {
        say(id);
        return;
    }
    id->context = NULL; /* nobody cares for its events any more */
    *kept = (struct verbs_farewell){.next = port->farewells, .id = id};
    port->farewells = kept;
}

static void say_all(struct rsm_node_port *port)
{
    while (port->farewells != NULL) {
        struct verbs_farewell *first = port->farewells;
        port->farewells = first->next;
        say(first->id);
        free(first);
    }
}

void verbs_farewells_say(struct rsm_node_port *port)
{
    if (verbs_device_active(&port->device))
        say_all(port);
}

void verbs_farewells_end(struct rsm_node_port *port)
{
    say_all(port);
}
