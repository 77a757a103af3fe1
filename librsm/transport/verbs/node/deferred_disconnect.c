/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling an importer that its connection is over. There are two reasons to do that later; the
 * queue pair and the keys of such a connection have gone already, and only the connection manager's
 * part waits.
 *
 * A connection that was accepted, and that the importer has not confirmed, could only be rejected.
 * Linux works on the messages of the connection manager in several threads, so that the rejection
 * may overtake the acceptance, and is dropped. The importer then waits for its time-out. So the
 * node waits for the importer's answer, or for the connection manager to give up, and disconnects
 * then. An importer that never answers can have this done as often as it likes, and the connection
 * manager gives up after a minute: so the node keeps a limited number and rejects the rest at once.
 *
 * Soft-RoCE loses its connection manager to a message that the network does not take (manager.h),
 * as while the cable is out. That is just when daemons lose sight of each other and connections
 * end. So the node sends nothing from a port that is not active.
 */
#include <stdlib.h>
#include <utlist.h>

#include "transport/verbs/node/node.h"

enum { UNCONFIRMED_MAX = 256 };

struct verbs_deferred_disconnect {
    struct verbs_deferred_disconnect *prev, *next;
    struct rdma_cm_id *id;
    bool unconfirmed; /* an event will come */
};

static void disconnect_now(struct rdma_cm_id *id)
{
    rdma_disconnect(id); /* fails if it was not connected */
    rdma_destroy_id(id);
}

void verbs_deferred_disconnect(struct verbs_node_port *port, struct rdma_cm_id *id,
                               bool unconfirmed)
{
    if (port->unconfirmed_disconnects == UNCONFIRMED_MAX)
        unconfirmed = false;
    bool now = !unconfirmed && verbs_device_active(&port->device);
    struct verbs_deferred_disconnect *kept = now ? NULL : malloc(sizeof *kept);
    if (kept == NULL) {
        disconnect_now(id);
        return;
    }
    id->context = NULL; /* its events are ignored from now on */
    *kept = (struct verbs_deferred_disconnect){.id = id, .unconfirmed = unconfirmed};
    DL_PREPEND(port->deferred_disconnects, kept);
    port->unconfirmed_disconnects += unconfirmed;
}

/* Say those that need not wait, or all of them. */
static void disconnect_some(struct verbs_node_port *port, bool all)
{
    struct verbs_deferred_disconnect *kept, *next;
    DL_FOREACH_SAFE(port->deferred_disconnects, kept, next)
    {
        if (kept->unconfirmed && !all)
            continue;
        DL_DELETE(port->deferred_disconnects, kept);
        port->unconfirmed_disconnects -= kept->unconfirmed;
        disconnect_now(kept->id);
        free(kept);
    }
}

void verbs_deferred_disconnects_run(struct verbs_node_port *port)
{
    if (verbs_device_active(&port->device))
        disconnect_some(port, false);
}

void verbs_deferred_disconnect_event(struct verbs_node_port *port, const struct rdma_cm_id *id)
{
    for (struct verbs_deferred_disconnect *kept = port->deferred_disconnects; kept != NULL;
         kept = kept->next)
        if (kept->id == id && kept->unconfirmed) {
            kept->unconfirmed = false;
            port->unconfirmed_disconnects--;
        }
    verbs_deferred_disconnects_run(port);
}

void verbs_deferred_disconnects_end(struct verbs_node_port *port)
{
    disconnect_some(port, true);
}
