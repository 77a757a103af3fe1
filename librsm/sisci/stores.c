/* SPDX-License-Identifier: BSD-3-Clause */
#include "stores.h"

#include <endian.h>
#include <string.h>

enum { HEAD_BYTES = 8, STORE_BYTES = 16, UNCONDITIONAL = 1 };

static uint64_t end_of(const struct sisci_store *store)
{
    return store->length < UINT64_MAX - store->offset ? store->offset + store->length : UINT64_MAX;
}

/* How many bytes lie between them; 0: they touch. */
static uint64_t gap(const struct sisci_store *one, const struct sisci_store *other)
{
    if (end_of(one) < other->offset)
        return other->offset - end_of(one);
    return end_of(other) < one->offset ? one->offset - end_of(other) : 0;
}

static void merge(struct sisci_store *into, const struct sisci_store *other)
{
    uint64_t end = end_of(into) > end_of(other) ? end_of(into) : end_of(other);
    if (other->offset < into->offset)
        into->offset = other->offset;
    into->length = end - into->offset;
}

static struct sisci_store *nearest(struct sisci_stores *stores, const struct sisci_store *added)
{
    struct sisci_store *found = &stores->store[0];
    for (unsigned i = 1; i < stores->count; i++)
        if (gap(&stores->store[i], added) < gap(found, added))
            found = &stores->store[i];
    return found;
}

void sisci_stores_add(struct sisci_stores *stores, uint64_t offset, uint64_t length)
{
    const struct sisci_store added = {offset, length};
    if (stores->count == 0) {
        stores->store[stores->count++] = added;
        return;
    }
    struct sisci_store *near = nearest(stores, &added);
    bool joins = !stores->unconditional && gap(near, &added) == 0;
    if (joins || stores->count == SISCI_STORES_MAX)
        merge(near, &added);
    else
        stores->store[stores->count++] = added;
}

static void put64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

size_t sisci_stores_write(const struct sisci_stores *stores, uint8_t bytes[SISCI_STORES_BYTES])
{
    uint8_t *at = bytes;
    put64(at, stores->unconditional ? UNCONDITIONAL : 0);
    at += HEAD_BYTES;
    for (unsigned i = 0; i < stores->count; i++, at += STORE_BYTES) {
        put64(at, stores->store[i].offset);
        put64(at + 8, stores->store[i].length);
    }
    return (size_t)(at - bytes);
}

bool sisci_stores_read(struct sisci_stores *stores, const uint8_t *bytes, size_t length)
{
    if (length < HEAD_BYTES || length > SISCI_STORES_BYTES ||
        (length - HEAD_BYTES) % STORE_BYTES != 0 || get64(bytes) > UNCONDITIONAL)
        return false;
    stores->unconditional = get64(bytes) == UNCONDITIONAL;
    stores->count = (unsigned)((length - HEAD_BYTES) / STORE_BYTES);
    for (unsigned i = 0; i < stores->count; i++) {
        const uint8_t *at = bytes + HEAD_BYTES + i * STORE_BYTES;
        stores->store[i] = (struct sisci_store){get64(at), get64(at + 8)};
    }
    return true;
}

bool sisci_store_touches(const struct sisci_store *store, uint64_t offset, uint64_t length)
{
    return store->offset < offset + length && end_of(store) > offset;
}
