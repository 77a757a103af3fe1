/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "daemon.h"
#include "options.h"
#include "segments.h"

/* More than any rsmd has; a liar's story ends there. */
enum {
    SNAPSHOT_MS = 10000,
    NS_PER_SECOND = 1000000000,
    CONTROLLERS_MAX = 256,
    USERS_MAX = 65536,
    INTERRUPTS_MAX = 65536,
    TOPOLOGY_TRIES = 4,
};

struct collector {
    struct snapshot *into;
    struct daemon daemon;
    int64_t deadline;
    int interrupt;
};

static bool fail(struct collector *c, const char *what, const char *why)
{
    snprintf(c->into->failure, sizeof c->into->failure, "%s%s%s", what, *what != '\0' ? ": " : "",
             why);
    return false;
}

/* Send a request that must succeed to the node's daemon. */
static bool ask(struct collector *c, struct rsm_msg *msg, const char *what)
{
    char why[NOTE_BYTES];
    if (!daemon_ask(&c->daemon, msg, why, sizeof why))
        return fail(c, "", why);
    return msg->status == RSM_ST_OK ||
           fail(c, what, rsmcore_status_text((enum rsm_status)msg->status));
}

/* Append @p more items of @p size bytes to a list of @p count. @p list points to its pointer. */
static bool append(struct collector *c, const char *what, void *list, size_t count,
                   const void *items, size_t more, size_t size)
{
    void *grown;
    memcpy(&grown, list, sizeof grown);
    grown = realloc(grown, (count + more + 1) * size);
    if (grown == NULL)
        return fail(c, what, strerror(ENOMEM));
    memcpy(list, &grown, sizeof grown);
    memcpy((char *)grown + count * size, items, more * size);
    return true;
}

/* ------------------------------------------------------------------ controllers */

static struct controller *add_controller(struct collector *c, const char *name)
{
    struct snapshot *into = c->into;
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER};
    snprintf(msg.u.controller.name, sizeof msg.u.controller.name, "%s", name);
    if (!ask(c, &msg, "controller"))
        return NULL;
    const struct controller made = {.about = msg.u.controller_reply};
    if (!append(c, "controllers", &into->controllers, into->controller_count, &made, 1,
                sizeof made))
        return NULL;
    return &into->controllers[into->controller_count++];
}

static bool ask_topology(struct collector *c, struct rsm_msg *msg, uint32_t index, uint32_t first)
{
    *msg = (struct rsm_msg){.type = RSM_MSG_TOPOLOGY,
                            .u.topology = {.controller = index, .first_remote = first}};
    return ask(c, msg, "topology");
}

/* Append a page. Nodes come in ascending order, so that the list ends: *more says whether it was
 * so. False: no memory. */
static bool add_remotes(struct collector *c, struct controller *controller,
                        const struct rsm_topology_reply *page, bool *more)
{
    uint32_t last =
        controller->remote_count > 0 ? controller->remotes[controller->remote_count - 1].node : 0;
    uint32_t good = 0;
    while (good < page->remote_count && page->remotes[good].node > last)
        last = page->remotes[good++].node;
    *more = good > 0 && good == page->remote_count;
    if (!append(c, "topology", &controller->remotes, controller->remote_count, page->remotes, good,
                sizeof page->remotes[0]))
        return false;
    controller->remote_count += good;
    return true;
}

/* The pages of one answer must be of one generation. Where that does not come about, nodes come and
 * go all the time, and what is shown is as good as any. */
static bool collect_remotes(struct collector *c, uint32_t index, struct controller *controller)
{
    struct rsm_msg msg;
    const struct rsm_topology_reply *page = &msg.u.topology_reply;
    for (int tries = 0; tries < TOPOLOGY_TRIES; tries++) {
        uint32_t generation = 0;
        bool whole = true, more = true;
        controller->remote_count = 0;
        while (whole && more) {
            if (!ask_topology(c, &msg, index, controller->remote_count))
                return false;
            if (controller->remote_count == 0)
                generation = page->generation;
            whole = page->generation == generation;
            if (!add_remotes(c, controller, page, &more))
                return false;
            more = more && controller->remote_count < page->total_remotes;
        }
        if (whole)
            break;
    }
    return true;
}

static bool collect_controllers(struct collector *c)
{
    struct rsm_msg msg;
    for (uint32_t index = 0; index < CONTROLLERS_MAX; index++) {
        if (!ask_topology(c, &msg, index, 0))
            return false;
        if (index >= msg.u.topology_reply.controllers)
            break;
        struct controller *controller = add_controller(c, msg.u.topology_reply.name);
        if (controller == NULL || !collect_remotes(c, index, controller))
            return false;
    }
    return add_controller(c, "loopback") != NULL; /* which is no part of the topology */
}

static bool collect_failed(struct collector *c)
{
    struct snapshot *into = c->into;
    struct rsm_msg msg;
    const struct rsm_failed_reply *page = &msg.u.failed_reply;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_FAILED, .u.failed = {.first = into->failed_count}};
        if (!ask(c, &msg, "failed controllers"))
            return false;
        if (!append(c, "failed controllers", &into->failed, into->failed_count, page->items,
                    page->count, sizeof page->items[0]))
            return false;
        into->failed_count += page->count;
    } while (page->count > 0 && into->failed_count < page->total &&
             into->failed_count < CONTROLLERS_MAX);
    return true;
}

/* ------------------------------------------------------------------ links */

static bool collect_links(struct collector *c)
{
    struct snapshot *into = c->into;
    struct rsm_msg msg;
    const struct rsm_links_reply *page = &msg.u.links_reply;
    uint32_t first = 1;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_LINKS, .u.links = {.first = first}};
        if (!ask(c, &msg, "links"))
            return false;
        into->link_auth = page->auth;
        for (uint32_t i = 0; i < page->count && into->link_count < RSM_NODE_ID_MAX; i++) {
            /* Ascending, so that it ends. */
            if (page->items[i].node < first)
                return fail(c, "links", rsmcore_status_text(RSM_ST_PROTOCOL));
            first = page->items[i].node + 1;
            if (!append(c, "links", &into->links, into->link_count, &page->items[i], 1,
                        sizeof page->items[i]))
                return false;
            into->link_count++;
        }
    } while (page->more != 0 && page->count > 0 && into->link_count < RSM_NODE_ID_MAX);
    return true;
}

/* ------------------------------------------------------------------ shares */

static bool collect_shares(struct collector *c)
{
    struct snapshot *into = c->into;
    struct rsm_msg msg;
    const struct rsm_shares_reply *page = &msg.u.shares_reply;
    uint64_t after = 0;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_SHARES, .u.shares = {.after = after}};
        if (!ask(c, &msg, "shares"))
            return false;
        memcpy(into->limits, page->limits, sizeof into->limits);
        for (uint32_t i = 0; i < page->count; i++) {
            /* Ascending, so that it ends. */
            if (page->users[i].serial <= after)
                return fail(c, "shares", rsmcore_status_text(RSM_ST_PROTOCOL));
            after = page->users[i].serial;
        }
        if (!append(c, "shares", &into->users, into->user_count, page->users, page->count,
                    sizeof page->users[0]))
            return false;
        into->user_count += page->count;
    } while (page->more != 0 && page->count > 0 && into->user_count < USERS_MAX);
    return true;
}

/* ------------------------------------------------------------------ interrupts */

static int by_number(const void *left, const void *right)
{
    const struct rsm_interrupts_item *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool collect_interrupts(struct collector *c)
{
    struct snapshot *into = c->into;
    struct rsm_msg msg;
    const struct rsm_interrupts_reply *page = &msg.u.interrupts_reply;
    uint32_t after = 0;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPTS, .u.interrupts = {.after = after}};
        if (!ask(c, &msg, "interrupts"))
            return false;
        /* Ascending, so that it ends. */
        if (page->next != 0 && (page->next <= after || page->next >= INTERRUPTS_MAX))
            return fail(c, "interrupts", rsmcore_status_text(RSM_ST_PROTOCOL));
        if (!append(c, "interrupts", &into->interrupts, into->interrupt_count, page->items,
                    page->count, sizeof page->items[0]))
            return false;
        into->interrupt_count += page->count;
        after = page->next;
    } while (after != 0 && into->interrupt_count < INTERRUPTS_MAX);
    qsort(into->interrupts, into->interrupt_count, sizeof *into->interrupts, by_number);
    return true;
}

/* ------------------------------------------------------------------ segments */

static bool collect_totals(struct collector *c)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    if (!ask(c, &msg, "segments"))
        return false;
    c->into->totals = msg.u.inspect_reply;
    c->into->taken_ns = rsm_clock_ns();
    c->into->totals.count = 0;
    return true;
}

static bool collect_own(struct collector *c, uint32_t what, struct segments *segments)
{
    char why[NOTE_BYTES];
    return segments_collect(&c->daemon, what, 0, segments, why, sizeof why) || fail(c, "", why);
}

/* ------------------------------------------------------------------ all of it */

static void collect(struct collector *c, unsigned sections)
{
    struct snapshot *into = c->into;
    char why[NOTE_BYTES];
    if (!daemon_open(&c->daemon, into->socket, into->node, into->node, c->deadline, c->interrupt,
                     why, sizeof why)) {
        fail(c, "", why);
        return;
    }
    into->hello = c->daemon.hello;
    into->pid = c->daemon.pid;
    into->uid = c->daemon.uid;
    bool imports = (sections & (SECTION_IMPORTS | SECTION_GROUPS)) != 0;
    bool well = collect_totals(c);
    if (well && (imports || (sections & (SECTION_CONTROLLERS | SECTION_TOPOLOGY)) != 0))
        well = collect_controllers(c);
    if (well && (sections & SECTION_CONTROLLERS) != 0)
        well = collect_failed(c);
    if (well && (sections & SECTION_LINKS) != 0)
        well = collect_links(c);
    if (well && (sections & SECTION_SHARES) != 0)
        well = collect_shares(c);
    if (well && (sections & SECTION_INTERRUPTS) != 0)
        well = collect_interrupts(c);
    if (well && (sections & SECTION_EXPORTS) != 0)
        well = collect_own(c, RSM_INSPECT_EXPORTS, &into->exports);
    if (well && imports && collect_own(c, RSM_INSPECT_IMPORTS, &into->imports) &&
        !others_collect(into, &c->daemon))
        fail(c, "imports", strerror(ENOMEM));
    daemon_close(&c->daemon);
}

struct snapshot *snapshot_take(uint32_t node, const char *socket, unsigned sections, int interrupt)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL)
        return NULL;
    snapshot->node = node;
    snprintf(snapshot->socket, sizeof snapshot->socket, "%s", socket);
    struct collector collector = {
        .into = snapshot, .deadline = rsm_deadline(SNAPSHOT_MS), .interrupt = interrupt};
    collect(&collector, sections);
    return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->controller_count; i++)
        free(snapshot->controllers[i].remotes);
    free(snapshot->controllers);
    free(snapshot->failed);
    free(snapshot->links);
    free(snapshot->users);
    free(snapshot->interrupts);
    free(snapshot->exports.list);
    free(snapshot->imports.list);
    free(snapshot);
}

/* ------------------------------------------------------------------ rates */

static uint64_t carried(const struct snapshot *s, bool sent)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->link_count; i++)
        bytes += sent ? s->links[i].sent_bytes : s->links[i].received_bytes;
    return bytes;
}

/* Counters only grow, but a link may have been taken out of the daemon's list. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

void snapshot_compare(struct snapshot *snapshot, const struct snapshot *before)
{
    struct rates *rates = &snapshot->rates;
    double seconds = (double)(snapshot->taken_ns - before->taken_ns) / NS_PER_SECOND;
    bool answered = snapshot->failure[0] == '\0' && before->failure[0] == '\0';
    bool same = snapshot->node == before->node && snapshot->pid == before->pid &&
                snapshot->totals.connects >= before->totals.connects &&
                snapshot->totals.events >= before->totals.events;
    if (!answered || !same || !(seconds > 0))
        return;
    rates->known = true;
    rates->connects = rate(snapshot->totals.connects, before->totals.connects, seconds);
    rates->events = rate(snapshot->totals.events, before->totals.events, seconds);
    rates->sent = rate(carried(snapshot, true), carried(before, true), seconds);
    rates->received = rate(carried(snapshot, false), carried(before, false), seconds);
}
