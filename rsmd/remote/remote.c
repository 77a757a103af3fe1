/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/remote.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "node/exports.h"
#include "remote/internal.h"

struct rsmd_remote *rsmd_remote_of(const struct rsmd_node *node, uint32_t id)
{
    struct rsmd_remote *remote = NULL;
    if (node->hosts != NULL)
        HASH_FIND_INT(node->hosts->remote, &id, remote);
    return remote;
}

static void each_up(const struct rsmd_node *node, void (*visit)(void *context, uint32_t id),
                    void *context)
{
    const struct rsmd_remote *remote;
    for (remote = node->hosts != NULL ? node->hosts->remote : NULL; remote != NULL;
         remote = remote->hh.next)
        if (remote->up)
            visit(context, remote->node);
}

static bool is_up(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_remote *remote = rsmd_remote_of(node, id);
    return remote != NULL && remote->up;
}

static bool may_reach(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    return carrier->may_reach != NULL ? carrier->may_reach(carrier->context, id) : is_up(node, id);
}

static bool may_link(const struct rsmd_node *node, uint32_t id)
{
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    return is_up(node, id) ||
           (carrier->may_link != NULL && carrier->may_link(carrier->context, id));
}

static const struct rsmd_hosts_ops ops = {
    .is_up = is_up,
    .may_reach = may_reach,
    .may_link = may_link,
    .await = rsmd_remote_await,
    .each_up = each_up,
    .connect = rsmd_remote_connect,
    .trigger = rsmd_remote_trigger,
    .cut = rsmd_remote_cut,
    .cut_all = rsmd_remote_cut_all,
};

static void free_hosts(struct rsmd_node *node)
{
    if (node->hosts->ends_go_on != NULL)
        event_free(node->hosts->ends_go_on);
    if (node->hosts->relays_go_on != NULL)
        event_free(node->hosts->relays_go_on);
    free(node->hosts);
    node->hosts = NULL;
    node->hosts_ops = &rsmd_no_hosts;
}

bool rsmd_remote_start(struct rsmd_node *node, struct event_base *base,
                       const struct rsmd_remote_ops *carrier)
{
    node->hosts = calloc(1, sizeof *node->hosts);
    if (node->hosts == NULL)
        return false;
    node->hosts_ops = &ops;
    node->hosts->base = base;
    node->hosts->carrier = *carrier;
    uint64_t *incarnation = &node->hosts->incarnation;
    bool made = rsmd_ends_init(node) && rsmd_relays_init(node);
    while (made && *incarnation == 0)
        made = getrandom(incarnation, sizeof *incarnation, 0) == (ssize_t)sizeof *incarnation;
    if (!made)
        free_hosts(node);
    return made;
}

bool rsmd_remote_send(const struct rsmd_node *node, const struct rsmd_remote *remote,
                      const struct rsm_cluster_msg *msg)
{
    const struct rsmd_remote_ops *carrier = &node->hosts->carrier;
    return remote->up && carrier->send(carrier->context, remote->node, msg);
}

/* ------------------------------------------------------------------ processes in messages */

void rsmd_remote_pack_identity(const struct rsmd_identity *who, struct rsm_cluster_identity *into)
{
    size_t groups =
        who->group_count < RSM_CLUSTER_GROUPS_MAX ? who->group_count : RSM_CLUSTER_GROUPS_MAX;
    into->uid = who->uid;
    into->gid = who->gid;
    into->pid = (uint32_t)who->pid;
    into->group_count = (uint32_t)groups;
    if (groups > 0)
        memcpy(into->groups, who->groups, groups * sizeof into->groups[0]);
}

struct rsmd_identity rsmd_remote_identity(const struct rsm_cluster_identity *from)
{
    return (struct rsmd_identity){.pid = (pid_t)from->pid,
                                  .uid = from->uid,
                                  .gid = from->gid,
                                  .groups = from->groups,
                                  .group_count = from->group_count};
}

/* ------------------------------------------------------------------ up and down */

struct rsmd_remote *rsmd_remote_need(struct rsmd_node *node, uint32_t id)
{
    struct rsmd_remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL)
        return NULL;
    remote->node = id;
    HASH_ADD_INT(node->hosts->remote, node, remote);
    if (remote->hh.tbl == NULL) {
        free(remote);
        return NULL;
    }
    return remote;
}

static void take_down(struct rsmd_node *node, struct rsmd_remote *remote)
{
    remote->up = false; /* first, so that nothing more is sent */
    rsmd_ends_leave(node, remote);
}

void rsmd_remote_up(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    if (node->hosts == NULL)
        return;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote != NULL && remote->up)
        take_down(node, remote);
    /* the former link's connections must have ended, even if the carrier has not waited */
    if (remote != NULL)
        rsmd_ends_finish(node, remote);
    if (remote == NULL)
        remote = rsmd_remote_need(node, id);
    if (remote != NULL) {
        remote->up = true;
        rsmd_releases_anew(node, remote);
        rsmd_ends_report(node, remote);
    } else {
        rsm_log_error("node %u stays out of reach: no memory", (unsigned)id);
    }
}

void rsmd_remote_down(void *context, uint32_t id)
{
    struct rsmd_node *node = context;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote != NULL)
        take_down(node, remote);
}

void rsmd_remote_stop(struct rsmd_node *node)
{
    if (node->hosts == NULL)
        return;
    node->hosts->carrier.proceed = NULL; /* no other link will come */
    while (node->hosts->remote != NULL) {
        struct rsmd_remote *remote = node->hosts->remote;
        take_down(node, remote);
        rsmd_ends_finish(node, remote);
        rsmd_releases_end(remote);
        HASH_DEL(node->hosts->remote, remote);
        free(remote);
    }
    free_hosts(node);
}

/* ------------------------------------------------------------------ messages */

/* Deliver events to an end of a connection with that node. */
void rsmd_remote_on_event(struct rsmd_node *node, struct rsmd_remote *remote,
                          const struct rsm_cluster_event *event)
{
    bool coalesced = event->coalesced != 0;
    if (event->end == RSM_EVENT_EXPORT) {
        const struct rsmd_remote_importer *importer =
            rsmd_remote_importer(node, remote, event->import);
        if (importer != NULL)
            rsmd_export_posted(node, importer->importer.grant->exported, event->count, coalesced);
    } else if (event->end == RSM_EVENT_IMPORT) {
        struct rsmd_remote_import *import = rsmd_remote_import(remote, event->import);
        if (import != NULL)
            rsmd_import_posted(node, &import->import, event->count, coalesced);
    }
}

void rsmd_remote_message(void *context, uint32_t id, const struct rsm_cluster_msg *msg)
{
    struct rsmd_node *node = context;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote == NULL || !remote->up)
        return;
    switch (msg->type) {
#define LINK(NAME, number, name, body)
#define NODE(NAME, number, name, body)                                                             \
    case RSM_CLUSTER_##NAME:                                                                       \
        rsmd_remote_on_##name(node, remote, &msg->u.name);                                         \
        break;
#include "cluster/messages.def"
    default:
        break; /* messages of the link itself */
    }
}
