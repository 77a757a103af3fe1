/* SPDX-License-Identifier: BSD-3-Clause */
/* M: map and unmap. */
#include <setjmp.h>

#include "stage.h"

enum { COUNT = 4 };

/* A connection to COUNT pages. */
static rsm_memseg_import_handle_t connection(void)
{
    offered(COUNT);
    return ready();
}

static int map_at(rsm_memseg_import_handle_t handle, void **address, off_t offset, size_t length)
{
    *address = NULL;
    return import_map(handle, address, RSM_MAP_NONE, RSM_PERM_RDWR, offset, length);
}

/* A map that must fail, and leave the handle in order. */
static void expect_none(int wanted, rsm_memseg_import_handle_t handle, rsm_permission_t rights,
                        off_t offset, size_t length)
{
    void *address = NULL;
    EXPECT(wanted, import_map(handle, &address, RSM_MAP_NONE, rights, offset, length));
    HOLDS(address == NULL);
    EXPECT(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(handle));
}

CONFORMANCE(M, 01, "map of no connection")
{
    void *address;
    act_as_importer();
    EXPECT(RSMERR_BAD_SEG_HNDL, map_at(NULL, &address, 0, PAGE));
}

CONFORMANCE(M, 02, "map with nowhere to put the address")
{
    EXPECT(RSMERR_BAD_ADDR, import_map(connection(), NULL, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PAGE));
}

CONFORMANCE(M, 03, "map twice, whatever the arguments")
{
    void *address = NULL;
    rsm_memseg_import_handle_t handle = connection();
    mapped(handle, PAGE);
    EXPECT(RSMERR_SEG_ALREADY_MAPPED, map_at(handle, &address, 0, PAGE));
    EXPECT(RSMERR_SEG_ALREADY_MAPPED, map_at(handle, &address, 1, 0));
    EXPECT(RSMERR_SEG_ALREADY_MAPPED, import_map(handle, &address, RSM_MAP_NONE, 0777, 0, 0));
}

/* Sun's put used up the mapping; librsm's does not. */
CONFORMANCE(M, 04, "map after put and get")
{
    uint64_t value = 1;
    rsm_memseg_import_handle_t handle = connection();
    OK(rsm_memseg_import_put64(handle, 0, &value, 1));
    OK(rsm_memseg_import_get64(handle, 0, &value, 1));
    HOLDS(load64(mapped(handle, PAGE)) == 1);
    OK(rsm_memseg_import_unmap(handle));
    mapped(handle, PAGE);
}

CONFORMANCE(M, 05, "map with rights that do not exist")
{
    rsm_memseg_import_handle_t handle = connection();
    expect_none(RSMERR_BAD_PERMS, handle, 0601, 0, PAGE);
    expect_none(RSMERR_BAD_PERMS, handle, 0777, 0, PAGE);
}

CONFORMANCE(M, 06, "map of no length")
{
    expect_none(RSMERR_BAD_LENGTH, connection(), RSM_PERM_RDWR, 0, 0);
}

CONFORMANCE(M, 07, "map beyond the end")
{
    rsm_memseg_import_handle_t handle = connection();
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, 0, COUNT * PAGE + 1);
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, (off_t)PAGE, COUNT * PAGE);
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, (off_t)(COUNT * PAGE), 1);
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, (off_t)PAGE, SIZE_MAX);
}

CONFORMANCE(M, 08, "map at a misaligned offset; the handle stays usable")
{
    rsm_memseg_import_handle_t handle = connection();
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, handle, RSM_PERM_RDWR, 8, PAGE);
    mapped(handle, PAGE);
}

CONFORMANCE(M, 09, "map at a misaligned fixed address; the handle stays usable")
{
    rsm_memseg_import_handle_t handle = connection();
    void *address = pages(2) + 64;
    EXPECT(RSMERR_BAD_MEM_ALIGNMENT,
           import_map(handle, &address, RSM_MAP_FIXED, RSM_PERM_RDWR, 0, PAGE));
    mapped(handle, PAGE);
}

CONFORMANCE(M, 10, "map at a misaligned offset beyond the end: the range is checked first")
{
    rsm_memseg_import_handle_t handle = connection();
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, (off_t)(COUNT * PAGE) + 8, PAGE);
    expect_none(RSMERR_BAD_LENGTH, handle, RSM_PERM_RDWR, 8, COUNT * PAGE);
}

CONFORMANCE(M, 11, "map anywhere")
{
    void *address;
    OK(map_at(connection(), &address, 0, COUNT * PAGE));
    HOLDS(address != NULL && (uintptr_t)address % PAGE == 0);
}

CONFORMANCE(M, 12, "map at a fixed address, over what is there")
{
    struct actor *exporter = offered(COUNT);
    uint8_t *reserved = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(reserved != MAP_FAILED);
    void *address = reserved + PAGE;
    TELL_OK(exporter, STORE, .offset = (int64_t)PAGE, .value = 9);
    OK(import_map(connected(RSM_PERM_RDWR), &address, RSM_MAP_FIXED, RSM_PERM_RDWR, (off_t)PAGE,
                  PAGE));
    HOLDS(address == reserved + PAGE);
    HOLDS(load64(address) == 9);
}

CONFORMANCE(M, 13, "RSM_MAP_RESERVED is as good as RSM_MAP_NONE")
{
    struct actor *exporter = offered(COUNT);
    void *address = NULL;
    TELL_OK(exporter, STORE, .value = 9);
    OK(import_map(ready(), &address, RSM_MAP_RESERVED, RSM_PERM_RDWR, 0, PAGE));
    HOLDS(address != NULL && (uintptr_t)address % PAGE == 0 && load64(address) == 9);
}

CONFORMANCE(M, 14, "a mapping begins with the segment's byte at the offset")
{
    struct actor *exporter = offered(COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        TELL_OK(exporter, STORE, .offset = (int64_t)(i * PAGE), .value = 100 + i);
    void *address;
    OK(map_at(ready(), &address, (off_t)(2 * PAGE), 2 * PAGE));
    HOLDS(load64(address) == 102);
    HOLDS(load64((uint8_t *)address + PAGE) == 103);
}

CONFORMANCE(M, 15, "map of a length that is not whole pages; put and get keep to it")
{
    uint8_t byte = 1;
    rsm_memseg_import_handle_t handle = connection();
    uint8_t *view = mapped(handle, 100);
    view[99] = 5;
    OK(rsm_memseg_import_get8(handle, 99, &byte, 1));
    HOLDS(byte == 5);
    EXPECT(RSMERR_BAD_OFFSET, rsm_memseg_import_get8(handle, 100, &byte, 1));
    EXPECT(RSMERR_BAD_OFFSET, rsm_memseg_import_put8(handle, 100, &byte, 1));
    EXPECT(RSMERR_BAD_OFFSET, rsm_memseg_import_get(handle, 98, view, 3));
}

CONFORMANCE(M, 16, "map with more rights than the connection has")
{
    offered(COUNT);
    expect_none(RSMERR_BAD_PERMS, connected(RSM_PERM_READ), RSM_PERM_RDWR, 0, PAGE);
    expect_none(RSMERR_BAD_PERMS, connected(RSM_PERM_READ), RSM_PERM_WRITE, 0, PAGE);
    expect_none(RSMERR_BAD_PERMS, connected(RSM_PERM_WRITE), RSM_PERM_READ, 0, PAGE);
    expect_none(RSMERR_BAD_PERMS, connected(RSM_PERM_NONE), RSM_PERM_READ, 0, PAGE);
}

static sigjmp_buf before_store;

static void on_fault(int number)
{
    siglongjmp(before_store, number);
}

/* Whether a store traps. */
static bool store_faults(uint8_t *address)
{
    struct sigaction action = {.sa_handler = on_fault}, old;
    sigaction(SIGSEGV, &action, &old);
    volatile bool faulted = true;
    if (sigsetjmp(before_store, 1) == 0) {
        *(volatile uint8_t *)address = 1;
        faulted = false;
    }
    sigaction(SIGSEGV, &old, NULL);
    return faulted;
}

CONFORMANCE(M, 17, "map for reading: loads work, stores fault")
{
    struct actor *exporter = offered(COUNT);
    void *address = NULL;
    TELL_OK(exporter, STORE, .value = 9);
    OK(import_map(ready(), &address, RSM_MAP_NONE, RSM_PERM_READ, 0, PAGE));
    HOLDS(load64(address) == 9);
    HOLDS(store_faults(address));
    HOLDS(load64(address) == 9);
}

CONFORMANCE(M, 18, "on one node both sides see each other's stores without any call")
{
    APPLIES_IF(one_node(), "said of exporter and importer on one node");
    struct actor *exporter = offered(COUNT);
    uint8_t *view = mapped(ready(), COUNT * PAGE);
    for (uint64_t value = 1; value < 20; value++) {
        TELL_OK(exporter, STORE, .offset = (int64_t)PAGE, .value = value);
        HOLDS(load64(view + PAGE) == value);
        store64(view + 8, value);
        HOLDS(ASK(exporter, LOAD, .offset = 8).value == value);
    }
}

CONFORMANCE(M, 19, "map of an aborted connection")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = ready();
    TELL_OK(exporter, UNPUBLISH);
    await_abort(handle);
    expect_none(RSMERR_CONN_ABORTED, handle, RSM_PERM_RDWR, 0, PAGE);
}

CONFORMANCE(M, 20, "unmap of no connection")
{
    act_as_importer();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_unmap(NULL));
}

CONFORMANCE(M, 21, "unmap of what is not mapped")
{
    rsm_memseg_import_handle_t handle = connection();
    EXPECT(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(handle));
    mapped(handle, PAGE);
    OK(rsm_memseg_import_unmap(handle));
    EXPECT(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(handle));
}

CONFORMANCE(M, 22, "unmap, and map another part")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = ready();
    void *address;
    TELL_OK(exporter, STORE, .offset = (int64_t)(3 * PAGE), .value = 33);
    mapped(handle, PAGE);
    OK(rsm_memseg_import_unmap(handle));
    OK(map_at(handle, &address, (off_t)(3 * PAGE), PAGE));
    HOLDS(load64(address) == 33);
}

/* Sun's library did not look; the guide, which librsm follows, says POLLFD_IN_USE. */
CONFORMANCE(M, 23, "unmap while a pollfd reference exists")
{
    struct pollfd entry;
    rsm_memseg_import_handle_t handle = connection();
    uint8_t *view = mapped(handle, PAGE);
    OK(rsm_memseg_get_pollfd(handle, &entry));
    EXPECT(RSMERR_POLLFD_IN_USE, rsm_memseg_import_unmap(handle));
    store64(view, 1);
    OK(rsm_memseg_release_pollfd(handle));
    OK(rsm_memseg_import_unmap(handle));
}

CONFORMANCE(M, 24, "after an abort the mapping stays, and stores reach nobody")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = ready();
    uint8_t *view = mapped(handle, COUNT * PAGE);
    store64(view, 1);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(handle);
    uint64_t before = ASK(exporter, LOAD).value;
    for (unsigned i = 0; i < COUNT; i++) {
        store64(view + i * PAGE, 77);
        load64(view + i * PAGE + 64);
        HOLDS(ASK(exporter, LOAD, .offset = (int64_t)(i * PAGE)).value != 77);
    }
    HOLDS(ASK(exporter, LOAD).value == before);
    OK(rsm_memseg_import_unmap(handle));
}

CONFORMANCE(M, 25, "map at a negative offset")
{
    void *address;
    rsm_memseg_import_handle_t handle = connection();
    EXPECT_EITHER(RSMERR_BAD_LENGTH, RSMERR_BAD_OFFSET,
                  map_at(handle, &address, -(off_t)PAGE, PAGE));
    EXPECT_EITHER(RSMERR_BAD_LENGTH, RSMERR_BAD_OFFSET,
                  map_at(handle, &address, -(off_t)PAGE, 2 * PAGE));
    EXPECT(RSMERR_SEG_NOT_MAPPED, rsm_memseg_import_unmap(handle));
}
