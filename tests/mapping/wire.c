/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mapping/lock.h"

/* Its own words for sizes: this stands where a transport stands. */
enum { PARCELS = 256, PARCEL_BYTES = 4096, DELAY_NS = 20000 };

struct parcel {
    bool waiting;
    uint64_t number, group; /* a group ends with order() */
    uint64_t offset;
    size_t length;
    uint8_t bytes[PARCEL_BYTES];
};

static struct wire {
    struct rsm_conn conn;
    struct mapping_lock lock; /* handlers put, so it is one of those */
    uint8_t *memory;
    uint64_t next, group;
    unsigned waiting;
    struct parcel parcel[PARCELS];
    _Atomic unsigned failures; /* of writes, still to come */
    _Atomic bool fails_at_once;
    _Atomic bool cut;
    unsigned dice;
} wire;

static void locked(struct mapping_mask *before)
{
    mapping_block(before);
    mapping_lock(&wire.lock);
}

static void unlocked(const struct mapping_mask *before)
{
    mapping_unlock(&wire.lock);
    mapping_unblock(before);
}

/* ---------------------------------------------------------------- delivery */

static bool overlaps(const struct parcel *a, const struct parcel *b)
{
    return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static bool may_go(const struct parcel *parcel)
{
    for (unsigned i = 0; i < PARCELS; i++) {
        const struct parcel *other = &wire.parcel[i];
        if (other->waiting && other->number < parcel->number &&
            (other->group < parcel->group || overlaps(other, parcel)))
            return false;
    }
    return true;
}

/* Words at once where they are whole: memory that other processes look at. */
__attribute__((no_sanitize_thread)) static void copy(volatile uint8_t *to,
                                                     const volatile uint8_t *from, size_t length)
{
    size_t i = 0;
    while (i < length) {
        size_t left = length - i;
        uintptr_t both = (uintptr_t)(to + i) | (uintptr_t)(from + i);
        if (both % 8 == 0 && left >= 8) {
            *(volatile uint64_t *)(volatile void *)(to + i) =
                *(const volatile uint64_t *)(const volatile void *)(from + i);
            i += 8;
        } else if (both % 4 == 0 && left >= 4) {
            *(volatile uint32_t *)(volatile void *)(to + i) =
                *(const volatile uint32_t *)(const volatile void *)(from + i);
            i += 4;
        } else {
            to[i] = from[i];
            i++;
        }
    }
}

static void deliver_one(void)
{
    wire.dice = wire.dice * 1103515245u + 12345u;
    for (unsigned i = 0; i < PARCELS; i++) {
        struct parcel *parcel = &wire.parcel[(i + wire.dice / 65536) % PARCELS];
        if (!parcel->waiting || !may_go(parcel))
            continue;
        if (atomic_load(&wire.failures) > 0) {
            atomic_fetch_sub(&wire.failures, 1);
            rsm_conn_failed(&wire.conn);
        } else if (!atomic_load(&wire.cut)) {
            copy(wire.memory + parcel->offset, parcel->bytes, parcel->length);
        }
        parcel->waiting = false;
        wire.waiting--;
        return;
    }
}

static void *carry(void *unused)
{
    for (;;) {
        struct mapping_mask before;
        struct timespec delay = {.tv_nsec = DELAY_NS};
        nanosleep(&delay, NULL);
        locked(&before);
        for (unsigned left = wire.waiting; left > 0; left--)
            deliver_one();
        unlocked(&before);
    }
    return NULL;
}

/* ---------------------------------------------------------------- the vtable */

static void post(uint64_t offset, const uint8_t *src, size_t length)
{
    for (bool done = false; !done;) {
        struct mapping_mask before;
        locked(&before);
        struct parcel *parcel = wire.parcel;
        while (parcel < wire.parcel + PARCELS && parcel->waiting)
            parcel++;
        if (parcel < wire.parcel + PARCELS) {
            parcel->number = wire.next++;
            parcel->group = wire.group;
            parcel->offset = offset;
            parcel->length = length;
            copy(parcel->bytes, src, length);
            parcel->waiting = done = true;
            wire.waiting++;
        }
        unlocked(&before);
        if (!done)
            sched_yield();
    }
}

static enum rsm_status wire_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    if (atomic_load(&wire.cut))
        return RSM_ST_ABORTED;
    if (wire.fails_at_once && atomic_exchange(&wire.failures, 0) > 0)
        return RSM_ST_TRANSFER;
    for (size_t at = 0; at < length; at += PARCEL_BYTES)
        post(offset + at, (const uint8_t *)src + at,
             length - at < PARCEL_BYTES ? length - at : PARCEL_BYTES);
    return RSM_ST_OK;
}

static enum rsm_status wire_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    if (atomic_load(&wire.cut))
        return RSM_ST_ABORTED;
    copy(dst, wire.memory + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status wire_order(struct rsm_conn *conn)
{
    struct mapping_mask before;
    locked(&before);
    wire.group++;
    unlocked(&before);
    return atomic_load(&wire.cut) ? RSM_ST_ABORTED : RSM_ST_OK;
}

static enum rsm_status wire_complete(struct rsm_conn *conn)
{
    unsigned waiting;
    do {
        struct mapping_mask before;
        locked(&before);
        waiting = wire.waiting;
        wire.group++;
        unlocked(&before);
        if (waiting > 0)
            sched_yield();
    } while (waiting > 0);
    return atomic_load(&wire.cut) ? RSM_ST_ABORTED : RSM_ST_OK;
}

static enum rsm_status wire_vector(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                   unsigned count, unsigned *done, bool out)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = out ? wire_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length)
                     : wire_get(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status wire_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    return wire_vector(conn, vec, count, done, true);
}

static enum rsm_status wire_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    return wire_vector(conn, vec, count, done, false);
}

static enum rsm_status wire_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    return wire_put(conn, offset, src, width * count);
}

static enum rsm_status wire_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    return wire_get(conn, offset, dst, width * count);
}

static enum rsm_status wire_health(struct rsm_conn *conn)
{
    return atomic_load(&wire.cut) ? RSM_ST_ABORTED : RSM_ST_OK;
}

static void wire_disconnect(struct rsm_conn *conn)
{
}

static const struct rsm_import_ops wire_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = "wire",
    .disconnect = wire_disconnect,
    .put = wire_put,
    .get = wire_get,
    .put_elems = wire_put_elems,
    .get_elems = wire_get_elems,
    .putv = wire_putv,
    .getv = wire_getv,
    .order = wire_order,
    .complete = wire_complete,
    .health = wire_health,
};

struct rsm_conn *wire_connect(uint8_t *memory, uint64_t size)
{
    pthread_t thread;
    struct mapping_mask before;
    wire.memory = memory;
    wire.conn.ops = &wire_ops;
    wire.conn.caps = RSM_CAP_FAULT_SAFE;
    mapping_block(&before);
    if (pthread_create(&thread, NULL, carry, NULL) != 0)
        abort();
    pthread_detach(thread);
    mapping_unblock(&before);
    return &wire.conn;
}

void wire_inject(unsigned failures, bool at_once)
{
    wire.fails_at_once = at_once;
    atomic_store(&wire.failures, failures);
}

void wire_cut(void)
{
    atomic_store(&wire.cut, true);
}
