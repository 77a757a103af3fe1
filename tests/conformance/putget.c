/* SPDX-License-Identifier: BSD-3-Clause */
/* G: put and get. */
#include "stage.h"
#include "transfers.h"

enum { COUNT = 2, BYTES = 64 };

static _Alignas(64) uint8_t data[BYTES];

static off_t end(void)
{
    return (off_t)(COUNT * PAGE);
}

static rsm_memseg_import_handle_t connection(void)
{
    offered(COUNT);
    return ready();
}

static rsm_memseg_import_handle_t explicit_connection(rsm_permission_t rights)
{
    rsm_memseg_import_handle_t handle = connected(rights);
    OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_EXPLICIT));
    return handle;
}

CONFORMANCE(G, 01, "no handle, or no data, whatever the count")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_BAD_SEG_HNDL, one->call(NULL, 0, data, 1));
        EXPECT(RSMERR_BAD_ADDR, one->call(handle, 0, NULL, 1));
        EXPECT(RSMERR_BAD_ADDR, one->call(handle, 0, NULL, 0));
    }
}

CONFORMANCE(G, 02, "data that is not aligned to the element")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    for (unsigned shift = 1; shift < one->width; shift++)
        EXPECT(RSMERR_BAD_MEM_ALIGNMENT, one->call(handle, 0, data + shift, 1));
}

CONFORMANCE(G, 03, "an offset that is not aligned to the element")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    for (unsigned shift = 1; shift < one->width; shift++)
        EXPECT(RSMERR_BAD_MEM_ALIGNMENT, one->call(handle, shift, data, 1));
}

CONFORMANCE(G, 04, "bytes and blocks may lie anywhere")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    for (unsigned shift = 0; one->width == 1 && shift < 8; shift++)
        OK(one->call(handle, 3 + shift, data + 7 - shift, 5));
}

CONFORMANCE(G, 05, "implicit mode without a barrier")
{
    offered(COUNT);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    EACH_TRANSFER(one)
    EXPECT(RSMERR_BARRIER_UNINITIALIZED, one->call(handle, 0, data, 1));
}

/* In Sun's library such a transfer left the segment mapped; in librsm none does. */
CONFORMANCE(G, 06, "a transfer, done or refused, does not use up the mapping")
{
    offered(COUNT);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    EXPECT(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_put8(handle, 0, data, 1));
    mapped(handle, PAGE);
    OK(rsm_memseg_import_unmap(handle));
    barrier_of(handle);
    OK(rsm_memseg_import_put8(handle, 0, data, 1));
    mapped(handle, PAGE);
}

CONFORMANCE(G, 07, "explicit mode without a barrier")
{
    offered(COUNT);
    rsm_memseg_import_handle_t handle = explicit_connection(RSM_PERM_RDWR);
    EACH_TRANSFER(one)
    OK(one->call(handle, 0, data, 1));
}

CONFORMANCE(G, 08, "nothing can be transferred too")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        OK(one->call(handle, 0, data, 0));
        OK(one->call(handle, end(), data, 0));
    }
}

CONFORMANCE(G, 09, "beyond the end of the segment")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, end(), data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, end() - (off_t)one->width, data, 2));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, end() + 64, data, 0));
    }
}

CONFORMANCE(G, 10, "before the beginning")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, -(off_t)one->width, data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, -(off_t)one->width, data, 2));
    }
}

CONFORMANCE(G, 11, "up to the very end")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        OK(one->call(handle, end() - (off_t)one->width, data, 1));
        OK(one->call(handle, end() - 4 * (off_t)one->width, data, 4));
    }
}

CONFORMANCE(G, 12, "with a part mapped: offsets count from the segment, and no further")
{
    struct actor *exporter = offered(4);
    rsm_memseg_import_handle_t handle = ready();
    void *address = NULL;
    off_t from = (off_t)PAGE, to = (off_t)(3 * PAGE);
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, from, 2 * PAGE));
    uint64_t value = 41;
    OK(rsm_memseg_import_put64(handle, from, &value, 1));
    HOLDS(load64(address) == 41);
    HOLDS(ASK(exporter, LOAD, .offset = from).value == 41);
    EACH_TRANSFER(one)
    {
        off_t width = (off_t)one->width;
        OK(one->call(handle, from, data, 1));
        OK(one->call(handle, to - width, data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, from - width, data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, to, data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, to - width, data, 2));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, 0, data, 1));
    }
}

/* What each function gets of a connection that has one right only, unmapped and mapped. */
static void expect_one_right(rsm_permission_t right)
{
    offered(COUNT);
    rsm_memseg_import_handle_t plain = connected(right), with_map = connected(right);
    void *address = NULL;
    barrier_of(plain);
    barrier_of(with_map);
    OK(import_map(with_map, &address, RSM_MAP_NONE, right, 0, PAGE));
    EACH_TRANSFER(one)
    {
        bool granted = one->writes == (right == RSM_PERM_WRITE);
        EXPECT(granted ? RSM_SUCCESS : RSMERR_PERM_DENIED, one->call(with_map, 0, data, 1));
        if (granted)
            EXPECT_EITHER(RSM_SUCCESS, RSMERR_BAD_PERMS, one->call(plain, 0, data, 1));
        else
            EXPECT(RSMERR_PERM_DENIED, one->call(plain, 0, data, 1));
    }
}

CONFORMANCE(G, 13, "a connection for reading: get, but no put")
{
    expect_one_right(RSM_PERM_READ);
}

CONFORMANCE(G, 14, "a connection for writing: put, but no get")
{
    expect_one_right(RSM_PERM_WRITE);
}

CONFORMANCE(G, 15, "order of errors: rights, then range, then barrier")
{
    offered(COUNT);
    rsm_memseg_import_handle_t none = connected(RSM_PERM_NONE), all = connected(RSM_PERM_RDWR);
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_PERM_DENIED, one->call(none, end(), data, 1));
        EXPECT(RSMERR_PERM_DENIED, one->call(none, 0, data, 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(all, end(), data, 1));
    }
}

CONFORMANCE(G, 16, "order of errors: alignment before everything but NULL")
{
    offered(COUNT);
    rsm_memseg_import_handle_t none = connected(RSM_PERM_NONE);
    EACH_TRANSFER(one)
    {
        if (one->width == 1)
            continue;
        EXPECT(RSMERR_BAD_MEM_ALIGNMENT, one->call(none, end(), data + 1, 1));
        EXPECT(RSMERR_BAD_MEM_ALIGNMENT, one->call(none, end() + 1, data, 1));
        EXPECT(RSMERR_BAD_SEG_HNDL, one->call(NULL, 1, data, 1));
        EXPECT(RSMERR_BAD_ADDR, one->call(none, 1, NULL, 1));
    }
}

CONFORMANCE(G, 17, "what was put is got, element by element")
{
    rsm_memseg_import_handle_t handle = connection();
    for (unsigned i = 0; i < TRANSFERS / 2; i++) {
        const struct transfer *get = &transfers[i], *put = &transfers[i + TRANSFERS / 2];
        _Alignas(8) uint8_t sent[BYTES], got[BYTES];
        size_t count = BYTES / put->width;
        about("%s, %s", put->name, get->name);
        HOLDS(get->width == put->width && put->writes && !get->writes);
        for (unsigned k = 0; k < BYTES; k++)
            sent[k] = (uint8_t)(k * 37 + i);
        memset(got, 0, sizeof got);
        OK(put->call(handle, 128, sent, count));
        OK(get->call(handle, 128, got, count));
        HOLDS(memcmp(sent, got, BYTES) == 0);
        memset(got, 0, sizeof got);
        OK(get->call(handle, 128 + (off_t)get->width, got, 1));
        HOLDS(memcmp(sent + get->width, got, get->width) == 0 && got[get->width] == 0);
    }
}

CONFORMANCE(G, 18, "bytes are not swapped")
{
    uint8_t *memory = pages(1);
    struct actor *importer = importer_start();
    act_as_exporter();
    published(memory, 1);
    TELL_OK(importer, CONNECT);
    TELL_OK(importer, BARRIER);
    TELL_OK(importer, PUT, .value = 0x0102030405060708);
    HOLDS(load64(memory) == 0x0102030405060708);
    uint32_t value = 0x01020304;
    rsm_memseg_import_handle_t own = ready();
    OK(rsm_memseg_import_put32(own, 8, &value, 1));
    HOLDS(load32(memory + 8) == 0x01020304);
    uint16_t small = 0x0102;
    OK(rsm_memseg_import_put16(own, 12, &small, 1));
    HOLDS(memory[12] == ((uint8_t *)&small)[0] && memory[13] == ((uint8_t *)&small)[1]);
}

CONFORMANCE(G, 19, "a block of odd length at an odd offset changes those bytes only")
{
    uint8_t block[BYTES], sent[13];
    rsm_memseg_import_handle_t handle = connection();
    memset(block, 0xee, sizeof block);
    memset(sent, 0x11, sizeof sent);
    OK(rsm_memseg_import_put(handle, 0, block, sizeof block));
    OK(rsm_memseg_import_put(handle, 7, sent, sizeof sent));
    OK(rsm_memseg_import_get(handle, 0, block, sizeof block));
    for (size_t i = 0; i < sizeof block; i++)
        HOLDS(block[i] == (i >= 7 && i < 7 + sizeof sent ? 0x11 : 0xee));
}

CONFORMANCE(G, 20, "after an abort, implicit mode: every transfer says so")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t plain = ready(), with_map = ready();
    mapped(with_map, PAGE);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(plain);
    await_abort(with_map);
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_CONN_ABORTED, one->call(plain, 0, data, 1));
        EXPECT(RSMERR_CONN_ABORTED, one->call(with_map, 0, data, 1));
    }
}

CONFORMANCE(G, 21, "after an abort, explicit mode, mapped: the barrier says so")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = explicit_connection(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    mapped(handle, PAGE);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(handle);
    EACH_TRANSFER(one)
    {
        OK(rsm_memseg_import_open_barrier(barrier));
        OK(one->call(handle, 0, data, 1));
        EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(barrier));
    }
}

CONFORMANCE(G, 22, "a count whose bytes overflow")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_TRANSFER(one)
    {
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, 0, data, SIZE_MAX));
        if (one->width > 1) /* the product wraps around to 0 */
            EXPECT(RSMERR_BAD_OFFSET, one->call(handle, 8, data, SIZE_MAX / one->width + 1));
        EXPECT(RSMERR_BAD_OFFSET, one->call(handle, 8, data, SIZE_MAX / one->width));
    }
}

CONFORMANCE(G, 23, "an export handle is no import handle")
{
    act_as_exporter();
    rsm_memseg_import_handle_t wrong = (rsm_memseg_import_handle_t)published(pages(1), 1);
    EACH_TRANSFER(one)
    EXPECT(RSMERR_BAD_SEG_HNDL, one->call(wrong, 0, data, 1));
}

enum { THREADS = 4, ROUNDS = 2000 };

static struct worker {
    rsm_memseg_import_handle_t handle;
    off_t offset;
    int error;
    bool torn;
} workers[THREADS];

/* Each thread has words of its own, and finds there what it put. */
static void *put_and_get(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 1; i <= ROUNDS && worker->error == RSM_SUCCESS; i++) {
        uint64_t sent[2] = {i, ~i}, got[2] = {0, 0};
        worker->error = rsm_memseg_import_put64(worker->handle, worker->offset, sent, 2);
        if (worker->error == RSM_SUCCESS)
            worker->error = rsm_memseg_import_get(worker->handle, worker->offset, got, sizeof got);
        worker->torn |= memcmp(sent, got, sizeof sent) != 0;
    }
    return NULL;
}

CONFORMANCE(G, 24, "threads may transfer through one handle at once")
{
    pthread_t threads[THREADS];
    rsm_memseg_import_handle_t handle = connection();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.handle = handle, .offset = 16 * (off_t)i};
        HOLDS(pthread_create(&threads[i], NULL, put_and_get, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        HOLDS(pthread_join(threads[i], NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        OK(workers[i].error);
        HOLDS(!workers[i].torn);
    }
}
