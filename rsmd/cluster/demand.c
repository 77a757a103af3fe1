/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links on demand: in a cluster of more nodes than permanent-links, a link is made when a client
 * needs it, by either end, and closed when neither end uses it.
 *
 * An end that has not used its link for link-idle-ms asks the other one by IDLE, and sends nothing
 * for the node until the answer has come. An end that does not use the link either, and has not
 * used it for half of that time, answers that it closes it, and closes it; any other end answers
 * that it uses it. (Half: the two ends were last in use at almost the same time, and would else
 * take turns in asking too early.) So no message for a node is lost with a link that is closed: a
 * request that comes meanwhile waits, and then takes this link or the next one.
 */
#include "cluster/internal.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

enum { ROUNDS = 2 }; /* over the addresses of a node, before it counts as out of reach */

static bool is_in_use(const struct rsmd_link *link)
{
    const struct rsmd_cluster_user *user = &link->cluster->user;
    return link->wanted || (user->in_use != NULL && user->in_use(user->context, link->node->id));
}

bool rsmd_link_is_due(const struct rsmd_link *link)
{
    if (!link->cluster->self.on_demand)
        return link->cluster->self.node < link->node->id;
    return is_in_use(link);
}

static void call_now(struct rsmd_link *link)
{
    const struct timeval at_once = {.tv_sec = 0};
    evtimer_add(link->retry, &at_once);
}

void rsmd_demand_decide(struct rsmd_cluster *cluster)
{
    bool before = cluster->self.on_demand;
    cluster->self.on_demand = cluster->link_count >= cluster->self.conf->permanent_links;
    if (cluster->self.on_demand == before)
        return;
    rsm_log_info("%u nodes: links are %s", (unsigned)cluster->link_count + 1,
                 cluster->self.on_demand ? "made on demand" : "permanent");
    for (uint32_t i = 0; i < cluster->link_count; i++)
        if (cluster->links[i]->up == NULL && rsmd_link_is_due(cluster->links[i]))
            call_now(cluster->links[i]);
}

bool rsmd_cluster_is_on_demand(const struct rsmd_cluster *cluster)
{
    return cluster != NULL && cluster->self.on_demand;
}

/* ------------------------------------------------------------------ made */

enum rsmd_link_use rsmd_cluster_need(struct rsmd_cluster *cluster, uint32_t node)
{
    struct rsmd_link *link = rsmd_link_to(cluster, node);
    if (link == NULL)
        return RSMD_LINK_UNUSABLE;
    if (link->up_reported && rsmd_link_is_up(link) && !link->idle_asked) {
        link->used_at = rsm_clock_ms();
        return RSMD_LINK_USABLE;
    }
    if (!cluster->self.on_demand)
        return RSMD_LINK_UNUSABLE;
    if (!link->wanted && link->up == NULL) {
        link->failures = 0;
        call_now(link);
    }
    link->wanted = true;
    return RSMD_LINK_AWAITED;
}

/* Those who waited for the link can use it, or have to do without. */
static void settle(struct rsmd_link *link, bool made)
{
    const struct rsmd_cluster_user *user = &link->cluster->user;
    bool wanted = link->wanted;
    link->wanted = false;
    link->attempts = 0;
    if (wanted && user->needed != NULL)
        user->needed(user->context, link->node->id, made);
}

void rsmd_demand_up(struct rsmd_link *link)
{
    link->used_at = rsm_clock_ms();
    link->idle_asked = false;
    settle(link, true);
}

void rsmd_demand_closed(struct rsmd_link *link)
{
    if (link->up == NULL && rsmd_link_is_due(link))
        call_now(link);
}

void rsmd_demand_failed(struct rsmd_link *link)
{
    if (link->cluster->self.on_demand && ++link->attempts >= ROUNDS * link->addresses)
        settle(link, false);
}

bool rsmd_link_has_failed(const struct rsmd_link *link)
{
    return link->failed_at != 0 && rsm_clock_ms() - link->failed_at < RSMD_FAILURE_COUNTS_MS;
}

bool rsmd_cluster_may_reach(const struct rsmd_cluster *cluster, uint32_t node)
{
    const struct rsmd_link *link = rsmd_link_to(cluster, node);
    return link != NULL &&
           (link->up_reported || (cluster->self.on_demand && !rsmd_link_has_failed(link)));
}

/* ------------------------------------------------------------------ closed */

/* False: the connection is over. */
static bool say(struct rsmd_link *link, enum rsm_cluster_idle_step step)
{
    struct rsm_cluster_msg msg;
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_IDLE);
    msg.u.idle.step = step;
    if (rsmd_stream_send(link->up->stream, &msg) == 0)
        return true;
    rsmd_tcp_end(link->up, "it takes nothing any more");
    return false;
}

void rsmd_demand_tick(struct rsmd_link *link, int64_t now)
{
    const struct rsmd_cluster *cluster = link->cluster;
    if (!cluster->self.on_demand || link->idle_asked)
        return;
    if (is_in_use(link))
        link->used_at = now;
    else if (now - link->used_at >= cluster->self.conf->link_idle_ms)
        link->idle_asked = say(link, RSM_CLUSTER_IDLE_ASKED);
}

static void close_unused(struct rsmd_link *link)
{
    link->up->unused = true;
    rsmd_tcp_end(link->up, NULL);
}

static void take_question(struct rsmd_link *link)
{
    int64_t unused_ms = rsm_clock_ms() - link->used_at;
    bool closes = link->cluster->self.on_demand && !is_in_use(link) &&
                  unused_ms >= link->cluster->self.conf->link_idle_ms / 2;
    if (say(link, closes ? RSM_CLUSTER_IDLE_CLOSED : RSM_CLUSTER_IDLE_USED) && closes)
        close_unused(link);
}

void rsmd_demand_take(struct rsmd_link *link, const struct rsm_cluster_idle *idle)
{
    bool answers = idle->step == RSM_CLUSTER_IDLE_CLOSED || idle->step == RSM_CLUSTER_IDLE_USED;
    if (idle->step == RSM_CLUSTER_IDLE_ASKED) {
        take_question(link);
    } else if (!answers || !link->idle_asked) {
        rsmd_tcp_end(link->up, "it sent a message out of turn");
    } else if (idle->step == RSM_CLUSTER_IDLE_CLOSED) {
        close_unused(link);
    } else {
        rsmd_demand_up(link);
    }
}
