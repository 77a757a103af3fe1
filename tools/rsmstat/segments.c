/* SPDX-License-Identifier: BSD-3-Clause */
#include "segments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "parallel.h"

enum {
    SEGMENTS_MAX = 65536, /* more than any rsmd has; a liar's story ends there */
    THREADS = 8,
};

/* False: out of memory. */
static bool add_segment(struct segments *segments, const struct segment *segment)
{
    /* Doubled whenever the count is a power of two. */
    if ((segments->count & (segments->count - 1)) == 0) {
        size_t room = segments->count == 0 ? 1 : 2 * segments->count;
        struct segment *grown = realloc(segments->list, room * sizeof *grown);
        if (grown == NULL)
            return false;
        segments->list = grown;
    }
    segments->list[segments->count++] = *segment;
    return true;
}

/* The daemon of a connection is the exporter's, unless that is on another host. */
static uint32_t exporter_of(const struct daemon *from, const struct rsm_inspect_item *item)
{
    return item->exporter >= 1 && item->exporter <= RSM_NODE_ID_MAX ? item->exporter
                                                                    : from->hello.node;
}

static bool add_page(const struct daemon *from, uint32_t node, const struct rsm_inspect_reply *page,
                     struct segments *segments)
{
    for (uint32_t i = 0; i < page->count; i++) {
        const struct rsm_inspect_item *item = &page->items[i];
        const struct segment added = {.exporter = exporter_of(from, item), .item = *item};
        if ((node == 0 || item->node == node) && !add_segment(segments, &added))
            return false;
    }
    return true;
}

static int by_id(const void *left, const void *right)
{
    uint32_t a = ((const struct segment *)left)->item.id;
    uint32_t b = ((const struct segment *)right)->item.id;
    return (a > b) - (a < b);
}

static void add_counts(const struct rsm_counts_reply *page, struct segment *list, size_t count)
{
    for (uint32_t i = 0; i < page->count && count > 0; i++) {
        const struct segment wanted = {.item = {.id = page->items[i].id}};
        struct segment *found = bsearch(&wanted, list, count, sizeof *list, by_id);
        if (found != NULL)
            found->counts = page->items[i].counts;
    }
}

/* What the mapping engine has counted of @p list, which is sorted by id. A daemon that does not
 * know the message knows of nothing. */
static bool collect_counts(struct daemon *from, struct segment *list, size_t count, char *why,
                           size_t why_size)
{
    struct rsm_msg msg;
    const struct rsm_counts_reply *page = &msg.u.counts_reply;
    uint32_t after = 0;
    if (!daemon_knows(from, RSM_MSG_COUNTS))
        return true;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_COUNTS, .u.counts = {.after = after}};
        if (!daemon_ask(from, &msg, why, why_size))
            return false;
        /* Ascending, so that it ends. */
        if (msg.status != RSM_ST_OK || (page->next != 0 && page->next <= after))
            break;
        add_counts(page, list, count);
        after = page->next;
    } while (after != 0 && after < SEGMENTS_MAX);
    return true;
}

static void add_groups(const struct rsm_groups_reply *page, struct segment *list, size_t count)
{
    for (uint32_t i = 0; i < page->count && count > 0; i++) {
        const struct segment wanted = {.item = {.id = page->items[i].id}};
        struct segment *found = bsearch(&wanted, list, count, sizeof *list, by_id);
        if (found != NULL)
            found->group = page->items[i].stats;
    }
}

/* The same of the groups that they are members of. */
static bool collect_groups(struct daemon *from, struct segment *list, size_t count, char *why,
                           size_t why_size)
{
    struct rsm_msg msg;
    const struct rsm_groups_reply *page = &msg.u.groups_reply;
    uint32_t after = 0;
    if (!daemon_knows(from, RSM_MSG_GROUPS))
        return true;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_GROUPS, .u.groups = {.after = after}};
        if (!daemon_ask(from, &msg, why, why_size))
            return false;
        if (msg.status != RSM_ST_OK || (page->next != 0 && page->next <= after))
            break;
        add_groups(page, list, count);
        after = page->next;
    } while (after != 0 && after < SEGMENTS_MAX);
    return true;
}

bool segments_collect(struct daemon *from, uint32_t what, uint32_t node, struct segments *segments,
                      char *why, size_t why_size)
{
    struct rsm_msg msg;
    const struct rsm_inspect_reply *page = &msg.u.inspect_reply;
    size_t before = segments->count;
    uint32_t after = 0;
    do {
        msg =
            (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {.what = what, .after = after}};
        if (!daemon_ask(from, &msg, why, why_size))
            return false;
        enum rsm_status status = (enum rsm_status)msg.status;
        /* Ascending, so that it ends. */
        if (status == RSM_ST_OK && page->next != 0 &&
            (page->next <= after || page->next >= SEGMENTS_MAX))
            status = RSM_ST_PROTOCOL;
        if (status != RSM_ST_OK || !add_page(from, node, page, segments)) {
            snprintf(why, why_size, "segments: %s",
                     status == RSM_ST_OK ? strerror(ENOMEM) : rsmcore_status_text(status));
            return false;
        }
        after = page->next;
    } while (after != 0 && segments->count - before < SEGMENTS_MAX);
    if (segments->count > before)
        qsort(segments->list + before, segments->count - before, sizeof *segments->list, by_id);
    struct segment *added = segments->list + before;
    size_t count = segments->count - before;
    return what != RSM_INSPECT_IMPORTS || (collect_counts(from, added, count, why, why_size) &&
                                           collect_groups(from, added, count, why, why_size));
}

/* ------------------------------------------------------------------ imports that others know */

/* A node on this host, and the answer of its daemon. */
struct other {
    uint32_t node;
    char path[RSM_PROTO_PATH_MAX];
    struct segments imports;
    char why[NOTE_BYTES]; /* "": nothing is missing */
};

struct others {
    const struct snapshot *into;
    const struct daemon *own;
    struct other *list;
    size_t count;
};

static struct other *add_other(struct others *others)
{
    struct other *grown = realloc(others->list, (others->count + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    others->list = grown;
    grown[others->count] = (struct other){.node = 0};
    return &grown[others->count++];
}

/* False: out of memory. */
static bool locate(struct others *others, struct daemon *own, const char *controller, uint32_t node)
{
    char why[NOTE_BYTES] = "";
    struct rsm_msg msg = {.type = RSM_MSG_LOCATE, .u.locate = {.node = node}};
    memcpy(msg.u.locate.controller, controller, sizeof msg.u.locate.controller);
    bool answered = daemon_ask(own, &msg, why, sizeof why);
    if (answered && (msg.status != RSM_ST_OK || msg.u.locate_reply.kind != RSM_LOCATE_SAME_HOST))
        return true; /* gone meanwhile */
    struct other *other = add_other(others);
    if (other == NULL)
        return false;
    other->node = node;
    memcpy(other->why, why, sizeof why);
    if (answered)
        memcpy(other->path, msg.u.locate_reply.path, sizeof other->path);
    return true;
}

/* A bit for each node. */
static bool take_bit(uint8_t *bits, uint32_t node)
{
    bool taken = (bits[node / 8] >> node % 8 & 1) != 0;
    bits[node / 8] |= (uint8_t)(1u << node % 8);
    return !taken;
}

/* Each node once, however many controllers lead to it. */
static bool locate_all(struct others *others, struct daemon *own)
{
    const struct snapshot *into = others->into;
    uint8_t *seen = calloc(RSM_NODE_ID_MAX / 8 + 1, 1);
    bool well = seen != NULL;
    if (well)
        take_bit(seen, into->node);
    for (size_t i = 0; well && i < into->controller_count; i++) {
        const struct controller *controller = &into->controllers[i];
        for (uint32_t p = 0; well && p < controller->remote_count; p++) {
            uint32_t node = controller->remotes[p].node;
            bool is_up = controller->remotes[p].state == 2 || controller->remotes[p].state == 3;
            if (node >= 1 && node <= RSM_NODE_ID_MAX && is_up && take_bit(seen, node))
                well = locate(others, own, controller->about.name, node);
        }
    }
    free(seen);
    return well;
}

/* Processes of this node connect to the daemon of the exporter's node if that is on this host, so
 * that one knows of them. */
static void ask_other(void *context, size_t i)
{
    struct others *others = context;
    struct other *other = &others->list[i];
    const struct daemon *own = others->own;
    struct daemon daemon;
    if (other->path[0] == '\0')
        return;
    bool open = daemon_open(&daemon, other->path, other->node, others->into->node, own->deadline,
                            own->interrupt, other->why, sizeof other->why);
    bool answered = open && segments_collect(&daemon, RSM_INSPECT_IMPORTS, others->into->node,
                                             &other->imports, other->why, sizeof other->why);
    if (answered || daemon_has_gone(other->path))
        other->why[0] = '\0';
    if (open)
        daemon_close(&daemon);
}

static bool take_over(struct snapshot *into, const struct other *other)
{
    if (other->why[0] != '\0' && into->note_count < NOTES_MAX)
        snprintf(into->notes[into->note_count++], NOTE_BYTES,
                 "imports from node %u are not shown: %.200s", (unsigned)other->node, other->why);
    for (size_t i = 0; i < other->imports.count; i++)
        if (!add_segment(&into->imports, &other->imports.list[i]))
            return false;
    return true;
}

bool others_collect(struct snapshot *into, struct daemon *own)
{
    struct others others = {.into = into, .own = own};
    bool well = locate_all(&others, own);
    if (well)
        parallel_each(others.count, THREADS, ask_other, &others);
    for (size_t i = 0; i < others.count; i++) {
        well = well && take_over(into, &others.list[i]);
        free(others.list[i].imports.list);
    }
    free(others.list);
    return well;
}
