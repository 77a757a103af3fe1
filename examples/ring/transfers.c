/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's half of ring.c, written anew for put and get. */
#include <stddef.h>
#include <string.h>

#include "parts.h"

static bool put(struct imported *imported, size_t offset, const void *data, size_t length)
{
    return segment_succeeded(
        "rsm_memseg_import_put",
        rsm_memseg_import_put(imported->segment, (off_t)offset, (void *)(uintptr_t)data, length));
}

static bool get(struct imported *imported, size_t offset, void *data, size_t length)
{
    return segment_succeeded("rsm_memseg_import_get",
                             rsm_memseg_import_get(imported->segment, (off_t)offset, data, length));
}

static bool order(struct imported *imported)
{
    return segment_succeeded("rsm_memseg_import_order_barrier",
                             rsm_memseg_import_order_barrier(&imported->barrier));
}

static size_t slot(size_t ring, uint64_t number)
{
    return ring + offsetof(struct ring, slots) + number % RING_SLOTS * RING_MESSAGE_BYTES;
}

bool transfers_begin(struct imported *imported)
{
    return get(imported, offsetof(struct channel, request.sent), &imported->sent,
               sizeof imported->sent) &&
           get(imported, offsetof(struct channel, request.received), &imported->seen_received,
               sizeof imported->seen_received) &&
           get(imported, offsetof(struct channel, reply.received), &imported->received,
               sizeof imported->received) &&
           get(imported, offsetof(struct channel, reply.sent), &imported->seen_sent,
               sizeof imported->seen_sent);
}

/* The slot is complete before the count says so. */
static int transfers_send(void *rings, const void *message)
{
    enum { RING = offsetof(struct channel, request) };
    struct imported *imported = rings;
    uint64_t next = imported->sent + 1;
    if (imported->sent - imported->seen_received >= RING_SLOTS) {
        if (!get(imported, RING + offsetof(struct ring, received), &imported->seen_received,
                 sizeof imported->seen_received))
            return -1;
        if (imported->sent - imported->seen_received >= RING_SLOTS)
            return 0;
    }
    if (!put(imported, slot(RING, imported->sent), message, RING_MESSAGE_BYTES) ||
        !order(imported) ||
        !put(imported, RING + offsetof(struct ring, sent), &next, sizeof next) || !order(imported))
        return -1;
    imported->sent = next;
    return 1;
}

static int transfers_receive(void *rings, void *message)
{
    enum { RING = offsetof(struct channel, reply) };
    struct imported *imported = rings;
    uint64_t next = imported->received + 1;
    if (imported->seen_sent == imported->received) {
        if (!get(imported, RING + offsetof(struct ring, sent), &imported->seen_sent,
                 sizeof imported->seen_sent))
            return -1;
        if (imported->seen_sent == imported->received)
            return 0;
    }
    if (!get(imported, slot(RING, imported->received), message, RING_MESSAGE_BYTES) ||
        !put(imported, RING + offsetof(struct ring, received), &next, sizeof next))
        return -1;
    imported->received = next;
    return 1;
}

const struct access access_transfers = {transfers_send, transfers_receive};
