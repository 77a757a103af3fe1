/* SPDX-License-Identifier: BSD-3-Clause */
#include "segments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { SEGMENTS_MAX = 65536 /* more than any rsmd has; a liar's story ends there */ };

bool segments_add(struct segments *segments, uint32_t exporter, const struct rsm_inspect_item *item)
{
    /* Doubled whenever the count is a power of two. */
    if ((segments->count & (segments->count - 1)) == 0) {
        size_t room = segments->count == 0 ? 1 : 2 * segments->count;
        struct segment *grown = realloc(segments->list, room * sizeof *grown);
        if (grown == NULL)
            return false;
        segments->list = grown;
    }
    segments->list[segments->count++] = (struct segment){.exporter = exporter, .item = *item};
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
    for (uint32_t i = 0; i < page->count; i++)
        if ((node == 0 || page->items[i].node == node) &&
            !segments_add(segments, exporter_of(from, &page->items[i]), &page->items[i]))
            return false;
    return true;
}

static int by_id(const void *left, const void *right)
{
    uint32_t a = ((const struct segment *)left)->item.id;
    uint32_t b = ((const struct segment *)right)->item.id;
    return (a > b) - (a < b);
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
    return true;
}
