/* SPDX-License-Identifier: BSD-3-Clause */
/* End all connections with a node of another host, after its link has gone or a controller's fabric
 * does not reach it any more. There can be tens of thousands, so they end in slices. The
 * generations of the slots, which importers here see, change first. */
#include <event2/event.h>

#include "node/exports.h"
#include "remote/internal.h"
#include "node/slice.h"

enum {
    QUEUED_MAX = 65536, /* bytes on the way to a node, beyond which reports wait */
    QUEUED_PAUSE_MS = 5,
};

/* ------------------------------------------------------------------ by and by */

/* Cut some connections. True: none is left. */
static bool cut_some(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    while (remote->doomed_imports != NULL || remote->doomed_importers != NULL) {
        if (rsmd_slice_is_over(until))
            return false;
        if (remote->doomed_imports != NULL)
            rsmd_remote_abort(node, remote->doomed_imports, false);
        else
            rsmd_export_abort(node, remote->doomed_importers->importer.grant);
    }
    return true;
}

/* End some connections. True: none is left. */
static bool leave_some(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    while (remote->imports != NULL || remote->waiting != NULL || remote->importers != NULL) {
        if (rsmd_slice_is_over(until))
            return false;
        if (remote->imports != NULL)
            rsmd_remote_abort(node, remote->imports, true);
        else if (remote->waiting != NULL)
            rsmd_remote_refuse(remote->waiting, RSM_ST_UNREACHABLE);
        else
            rsmd_remote_importer_free(node, remote->importers, RSM_RECORD_LOST);
    }
    return true;
}

/* Name some connections to the node. True: all are named, or the link is congested. */
static bool report_some(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_RELEASED,
                                  .u.released.incarnation = node->hosts->incarnation};
    while (remote->reported != NULL) {
        const struct rsmd_remote_import *import = remote->reported;
        if (rsmd_slice_is_over(until) ||
            carrier->queued(carrier->context, remote->node) > QUEUED_MAX)
            return false;
        remote->reported = import->next;
        rsmd_remote_send_disconnect(node, remote, import->awaited_id,
                                    RSM_CLUSTER_DIED | RSM_CLUSTER_HELD);
    }
    remote->reporting = false;
    rsmd_remote_send(node, remote, &msg); /* last: those not named are released */
    return true;
}

/* Continue. True: nothing is left to do. */
static bool go_on(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    if (remote->leaving) {
        if (!leave_some(node, remote, until))
            return false;
        remote->leaving = false;
        if (carrier->proceed != NULL)
            carrier->proceed(carrier->context, remote->node);
    }
    return cut_some(node, remote, until) && rsmd_silence_note(node, remote, until) &&
           (!remote->reporting || report_some(node, remote, until)) &&
           rsmd_parked_serve(remote, until);
}

static void go_on_in(const struct rsmd_node *node, int ms)
{
    const struct timeval pause = {.tv_usec = ms * 1000};
    if (!evtimer_pending(node->hosts->ends_go_on, NULL))
        evtimer_add(node->hosts->ends_go_on, &pause);
}

static bool is_urgent(const struct rsmd_remote *remote)
{
    return remote->doomed_imports != NULL || remote->doomed_importers != NULL ||
           !rsmd_silence_is_noted(remote) || (!remote->reporting && remote->parked_due > 0);
}

/* Do one slice. Reports may have to wait until the link keeps up. */
static void begin(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    if (!go_on(node, remote, until))
        go_on_in(node, remote->leaving || is_urgent(remote) ? 0 : QUEUED_PAUSE_MS);
}

static void on_turn(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_node *node = argument;
    struct rsmd_remote *remote;
    int64_t until = rsmd_slice_end(node);
    for (remote = node->hosts->remote; remote != NULL; remote = remote->hh.next)
        begin(node, remote, until);
}

bool rsmd_ends_init(struct rsmd_node *node)
{
    node->hosts->ends_go_on = evtimer_new(node->hosts->base, on_turn, node);
    return node->hosts->ends_go_on != NULL;
}

void rsmd_ends_go_on(struct rsmd_node *node, struct rsmd_remote *remote)
{
    begin(node, remote, rsmd_slice_end(node));
}

/* ------------------------------------------------------------------ a link that goes */

void rsmd_ends_finish(struct rsmd_node *node, struct rsmd_remote *remote)
{
    go_on(node, remote, INT64_MAX);
}

void rsmd_ends_leave(struct rsmd_node *node, struct rsmd_remote *remote)
{
    const struct rsmd_remote_import *import;
    for (import = remote->imports; import != NULL; import = import->hh.next)
        rsmd_generation_table_advance(node->generation_table, import->import.importer.slot);
    remote->leaving = true;
    remote->silent = remote->reporting = false;
    remote->reported = NULL;
    begin(node, remote, rsmd_slice_end(node));
}

bool rsmd_remote_busy(void *context, uint32_t id)
{
    const struct rsmd_remote *remote = rsmd_remote_of(context, id);
    return remote != NULL && remote->leaving;
}

bool rsmd_remote_in_use(void *context, uint32_t id)
{
    const struct rsmd_remote *remote = rsmd_remote_of(context, id);
    return remote != NULL && (remote->leaving || remote->reporting || remote->imports != NULL ||
                              remote->importers != NULL || remote->waiting != NULL ||
                              remote->disconnect_awaited != NULL || remote->releases != NULL);
}

/* ------------------------------------------------------------------ a fabric that goes */

static void doom_import(struct rsmd_remote *remote, struct rsmd_remote_import *import)
{
    if (import->doomed)
        return;
    import->doomed = true;
    DL_APPEND(remote->doomed_imports, import);
}

static void doom_importer(struct rsmd_remote *remote, struct rsmd_remote_importer *importer)
{
    if (importer->doomed)
        return;
    importer->doomed = true;
    DL_APPEND2(remote->doomed_importers, importer, doomed_prev, doomed_next);
}

void rsmd_ends_doom(struct rsmd_node *node, struct rsmd_remote_importer *importer)
{
    doom_importer(importer->remote, importer);
    go_on_in(node, 0);
}

void rsmd_ends_done_import(struct rsmd_remote_import *import)
{
    if (!import->doomed)
        return;
    import->doomed = false;
    DL_DELETE(import->remote->doomed_imports, import);
}

void rsmd_ends_done_importer(struct rsmd_remote_importer *importer)
{
    if (!importer->doomed)
        return;
    importer->doomed = false;
    DL_DELETE2(importer->remote->doomed_importers, importer, doomed_prev, doomed_next);
}

/* Refuse all connects at once: RSMD_FORWARDS bounds their number. */
static void refuse_connects(struct rsmd_remote *remote, const struct rsmd_controller *controller)
{
    struct rsmd_forward *forward, *next;
    HASH_ITER(hh, remote->waiting, forward, next)
    {
        if (forward->controller == controller)
            rsmd_remote_refuse(forward, RSM_ST_UNREACHABLE);
    }
}

static void cut(struct rsmd_node *node, struct rsmd_remote *remote,
                const struct rsmd_controller *controller)
{
    struct rsmd_remote_import *import;
    struct rsmd_remote_importer *importer;
    for (import = remote->imports; import != NULL; import = import->hh.next) {
        const struct rsmd_importer *base = &import->import.importer;
        if (base->controller != controller)
            continue;
        rsmd_generation_table_advance(node->generation_table, base->slot);
        doom_import(remote, import);
    }
    DL_FOREACH(remote->importers, importer)
    if (importer->importer.grant->by == controller)
        doom_importer(remote, importer);
    refuse_connects(remote, controller);
    begin(node, remote, rsmd_slice_end(node));
}

void rsmd_remote_cut(struct rsmd_node *node, const struct rsmd_controller *controller, uint32_t id)
{
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote != NULL)
        cut(node, remote, controller);
}

void rsmd_remote_cut_all(struct rsmd_node *node, const struct rsmd_controller *controller)
{
    struct rsmd_remote *remote, *next;
    if (node->hosts == NULL)
        return;
    HASH_ITER(hh, node->hosts->remote, remote, next)
    cut(node, remote, controller);
}

/* ------------------------------------------------------------------ a link that comes up again */

void rsmd_ends_await_disconnect(struct rsmd_remote *remote, struct rsmd_remote_import *import,
                                uint32_t id)
{
    import->awaited_id = id;
    DL_APPEND(remote->disconnect_awaited, import);
}

void rsmd_ends_disconnected(struct rsmd_remote *remote, struct rsmd_remote_import *import)
{
    import->awaited_id = 0;
    if (remote->reported == import)
        remote->reported = import->next;
    DL_DELETE(remote->disconnect_awaited, import);
}

static bool releases_are_awaited(const struct rsmd_node *node)
{
    const struct rsmd_controller *controller;
    LL_FOREACH(node->controllers, controller)
    if (controller->ops->imports != NULL)
        return true;
    return false;
}

void rsmd_ends_report(struct rsmd_node *node, struct rsmd_remote *remote)
{
    if (!releases_are_awaited(node))
        return;
    remote->reporting = true;
    remote->reported = remote->disconnect_awaited;
    begin(node, remote, rsmd_slice_end(node));
}

void rsmd_remote_on_released(struct rsmd_node *node, struct rsmd_remote *remote,
                             const struct rsm_cluster_released *released)
{
    (void)node;
    bool other = remote->incarnation != 0 && remote->incarnation != released->incarnation;
    if (released->incarnation == 0)
        return;
    rsmd_releases_others(remote, released->incarnation);
    remote->incarnation = released->incarnation;
    /* Another daemon uses these ids for other connections. */
    while (other && remote->disconnect_awaited != NULL)
        rsmd_ends_disconnected(remote, remote->disconnect_awaited);
}
