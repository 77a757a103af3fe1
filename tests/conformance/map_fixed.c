/* SPDX-License-Identifier: BSD-3-Clause */
/* M: map with RSM_MAP_FIXED, over addresses that are free, reserved or half of each. */
#include "stage.h"

enum { COUNT = 4, MANY = 4 };

static struct actor *exporter;

/* Page i of the segment begins with 100 + i. The connection is ready. */
static rsm_memseg_import_handle_t numbered(bool pieces)
{
    exporter = exporter_start();
    if (pieces)
        TELL_OK(exporter, OFFER_PIECES, .pages = COUNT);
    else
        TELL_OK(exporter, OFFER, .pages = COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        TELL_OK(exporter, STORE, .offset = (int64_t)(i * PAGE), .value = 100 + i);
    act_as_importer();
    return ready();
}

static uint8_t *reserve(size_t count)
{
    void *reserved = mmap(NULL, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(reserved != MAP_FAILED);
    return reserved;
}

/* The segment's pages from `first` on are at exactly this address, in their order, and what is
 * stored there arrives; put and get work beside. */
static void check_at(rsm_memseg_import_handle_t handle, uint8_t *target, unsigned first)
{
    void *address = target;
    OK(import_map(handle, &address, RSM_MAP_FIXED, RSM_PERM_RDWR, (off_t)(first * PAGE),
                  (COUNT - first) * PAGE));
    HOLDS(address == target);
    for (unsigned i = first; i < COUNT; i++)
        HOLDS(load64(target + (i - first) * PAGE) == 100 + i);
    for (unsigned i = first; i < COUNT; i++)
        store64(target + (i - first) * PAGE + 8, 200 + i);
    await_arrival(handle);
    barrier_of(handle); /* which put and get want */
    for (unsigned i = first; i < COUNT; i++) {
        uint64_t value = 300 + i;
        HOLDS(ASK(exporter, LOAD, .offset = (int64_t)(i * PAGE + 8)).value == 200 + i);
        OK(rsm_memseg_import_put64(handle, (off_t)(i * PAGE + 16), &value, 1));
        OK(rsm_memseg_import_get64(handle, (off_t)(i * PAGE), &value, 1));
        HOLDS(value == 100 + i);
    }
    OK(rsm_memseg_import_unmap(handle));
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t value = 0;
        OK(rsm_memseg_import_get64(handle, (off_t)(i * PAGE), &value, 1));
        HOLDS(value == 100 + i);
    }
}

/* Where the kernel would put the next mapping of so many pages, which is free now. */
static uint8_t *next_free(size_t count)
{
    uint8_t *place = reserve(count);
    munmap(place, count * PAGE);
    return place;
}

/* Maps the whole connection at an address that stays free once it is unmapped. A sanitizer maps
 * memory whenever a thread begins, and a connection may have a thread: with an address that the
 * kernel chose, the sanitizer may get it next. The test chooses one far below those. */
static uint8_t *mapped_for_good(rsm_memseg_import_handle_t handle)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static uint8_t *place;
    place = (place == NULL ? next_free(COUNT) - ((size_t)32 << 30) : place) - COUNT * PAGE;
    void *address = place;
    OK(import_map(handle, &address, RSM_MAP_FIXED, RSM_PERM_RDWR, 0, COUNT * PAGE));
    return address;
#else
    return mapped(handle, COUNT * PAGE);
#endif
}

CONFORMANCE(M, 26, "map at a fixed address where nothing is")
{
    rsm_memseg_import_handle_t handle = numbered(false);
    check_at(handle, next_free(COUNT), 0);
    check_at(handle, next_free(1), 3);
}

CONFORMANCE(M, 27, "map, unmap, and map at the same address, fixed")
{
    rsm_memseg_import_handle_t handle = numbered(false);
    uint8_t *target = mapped_for_good(handle);
    OK(rsm_memseg_import_unmap(handle));
    check_at(handle, target, 0);
}

CONFORMANCE(M, 28, "disconnect, connect again, and map at the old address, fixed")
{
    rsm_memseg_import_handle_t handle = numbered(false);
    uint8_t *target = mapped_for_good(handle);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
    check_at(ready(), target, 0);
}

CONFORMANCE(M, 29, "map at a fixed address of which one half is free and the other is not")
{
    rsm_memseg_import_handle_t handle = numbered(false);
    for (unsigned half = 0; half < 2; half++) {
        uint8_t *target = reserve(COUNT);
        munmap(target + half * 2 * PAGE, 2 * PAGE);
        check_at(handle, target, 0);
    }
}

/* Each pattern of free and reserved pages. */
CONFORMANCE(M, 30, "map a segment of two pieces at a fixed address, whatever is free of it")
{
    rsm_memseg_import_handle_t handle = numbered(true);
    for (unsigned pattern = 0; pattern < 1u << COUNT; pattern++) {
        uint8_t *target = reserve(COUNT);
        for (unsigned i = 0; i < COUNT; i++)
            if ((pattern >> i & 1) != 0)
                munmap(target + i * PAGE, PAGE);
        check_at(handle, target, 0);
    }
}

/* A program that lost its peer: all of it is given up, and made again at the addresses that its
 * pointers have. */
CONFORMANCE(M, 31, "several connections, made again, are mapped at their old addresses, fixed")
{
    rsm_memseg_import_handle_t handle[MANY];
    uint8_t *target[MANY];
    handle[0] = numbered(false);
    for (unsigned i = 0; i < MANY; i++) {
        if (i > 0)
            handle[i] = ready();
        target[i] = mapped_for_good(handle[i]);
    }
    for (unsigned i = 0; i < MANY; i++) {
        OK(rsm_memseg_import_unmap(handle[i]));
        OK(rsm_memseg_import_disconnect(handle[i]));
    }
    for (unsigned i = 0; i < MANY; i++)
        handle[i] = ready();
    for (unsigned i = 0; i < MANY; i++) {
        void *address = target[i];
        OK(import_map(handle[i], &address, RSM_MAP_FIXED, RSM_PERM_RDWR, 0, COUNT * PAGE));
    }
    for (unsigned i = 0; i < MANY; i++) {
        HOLDS(load64(target[i] + PAGE) == 101);
        store64(target[i] + i * PAGE + 24, 7);
        await_arrival(handle[i]);
        HOLDS(ASK(exporter, LOAD, .offset = (int64_t)(i * PAGE + 24)).value == 7);
        OK(rsm_memseg_import_unmap(handle[i]));
    }
    for (unsigned i = 0; i < MANY; i++) {
        check_at(handle[i], target[i], 0);
        OK(rsm_memseg_import_disconnect(handle[i]));
    }
}
