/* SPDX-License-Identifier: BSD-3-Clause */
/* V: scatter-gather. L: local memory handles. */
#include "stage.h"

enum { COUNT = 2, EVENT_MS = 20000, NO_EVENT_MS = 50 };

/* One request, and what its entries point into. */
static struct {
    rsm_scat_gath_t request;
    rsm_iovec_t entries[RSM_MAX_SGIOREQS + 1];
    uint8_t *memory;
} sg;

static rsm_scat_gath_t *request(rsm_memseg_import_handle_t handle, unsigned count)
{
    sg.request = (rsm_scat_gath_t){.io_request_count = count,
                                   .io_residual_count = 999,
                                   .remote_handle = handle,
                                   .iovec = sg.entries};
    if (sg.memory == NULL)
        sg.memory = pages(COUNT);
    for (unsigned i = 0; i <= RSM_MAX_SGIOREQS; i++)
        sg.entries[i] = (rsm_iovec_t){.io_type = RSM_VA_TYPE,
                                      .local.vaddr = (caddr_t)sg.memory,
                                      .local_offset = 64 * i,
                                      .remote_offset = 128 * i,
                                      .transfer_length = 32};
    return &sg.request;
}

static rsm_memseg_import_handle_t connection(void)
{
    offered(COUNT);
    return connected(RSM_PERM_RDWR);
}

/* The segment's bytes at an offset are all of that value. */
static void expect_bytes(rsm_memseg_import_handle_t handle, size_t offset, size_t length,
                         uint8_t value)
{
    uint8_t bytes[256];
    HOLDS(length <= sizeof bytes);
    barrier_of(handle);
    OK(rsm_memseg_import_get(handle, (off_t)offset, bytes, length));
    for (size_t i = 0; i < length; i++)
        HOLDS(bytes[i] == value);
}

typedef int (*vector_function)(rsm_scat_gath_t *sg_io);
static const vector_function both[] = {rsm_memseg_import_putv, rsm_memseg_import_getv};

/* Do the following for putv and getv. */
#define EACH_VECTOR(call)                                                                          \
    for (const vector_function *call = both;                                                       \
         call < both + 2 && (about("%s", call == both ? "putv" : "getv"), true); call++)

CONFORMANCE(V, 01, "no request, or no connection in it")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        EXPECT(RSMERR_BAD_SGIO, (*call)(NULL));
        EXPECT(RSMERR_BAD_SEG_HNDL, (*call)(request(NULL, 1)));
        OK((*call)(request(handle, 1)));
    }
}

CONFORMANCE(V, 02, "1 to 16 entries")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        EXPECT(RSMERR_BAD_SGIO, (*call)(request(handle, 0)));
        EXPECT(RSMERR_BAD_SGIO, (*call)(request(handle, RSM_MAX_SGIOREQS + 1)));
        HOLDS(sg.request.io_residual_count == 999);
        OK((*call)(request(handle, 1)));
        OK((*call)(request(handle, RSM_MAX_SGIOREQS)));
    }
}

CONFORMANCE(V, 03, "the connection is checked before the count")
{
    act_as_importer();
    EACH_VECTOR(call)
    EXPECT(RSMERR_BAD_SEG_HNDL, (*call)(request(NULL, 0)));
}

CONFORMANCE(V, 04, "pieces go where they should, and come back")
{
    rsm_memseg_import_handle_t handle = connection();
    rsm_scat_gath_t *io = request(handle, RSM_MAX_SGIOREQS);
    for (unsigned i = 0; i < RSM_MAX_SGIOREQS; i++)
        memset(sg.memory + 64 * i, (int)(i + 1), 32);
    OK(rsm_memseg_import_putv(io));
    for (unsigned i = 0; i < RSM_MAX_SGIOREQS; i++) {
        expect_bytes(handle, 128 * i, 32, (uint8_t)(i + 1));
        expect_bytes(handle, 128 * i + 32, 96, 0);
    }
    memset(sg.memory, 0xff, COUNT * PAGE);
    OK(rsm_memseg_import_getv(io));
    for (unsigned i = 0; i < RSM_MAX_SGIOREQS; i++)
        for (unsigned k = 0; k < 64; k++)
            HOLDS(sg.memory[64 * i + k] == (k < 32 ? i + 1 : 0xff));
}

static rsm_localmemory_handle_t local_handle(void *memory, size_t length)
{
    rsm_localmemory_handle_t local = NULL;
    OK(rsm_create_localmemory_handle(controller(), &local, memory, length));
    HOLDS(local != NULL);
    return local;
}

/* The entry's local side by a handle. */
static void by_handle(unsigned entry, rsm_localmemory_handle_t local)
{
    sg.entries[entry].io_type = RSM_HANDLE_TYPE;
    sg.entries[entry].local.handle = local;
}

CONFORMANCE(V, 05, "the local offset counts from the address or the handle's memory")
{
    rsm_memseg_import_handle_t handle = connection();
    rsm_scat_gath_t *io = request(handle, 2);
    rsm_localmemory_handle_t local = local_handle(sg.memory, COUNT * PAGE);
    sg.memory[100] = 7;
    sg.memory[PAGE + 1] = 8;
    sg.entries[0].local_offset = 100;
    sg.entries[0].transfer_length = 1;
    by_handle(1, local);
    sg.entries[1].local_offset = PAGE + 1;
    sg.entries[1].transfer_length = 1;
    OK(rsm_memseg_import_putv(io));
    expect_bytes(handle, 0, 1, 7);
    expect_bytes(handle, 128, 1, 8);
    OK(rsm_free_localmemory_handle(controller(), local));
}

CONFORMANCE(V, 06, "addresses and handles in one request")
{
    rsm_memseg_import_handle_t handle = connection();
    rsm_scat_gath_t *io = request(handle, 4);
    uint8_t *others = pages(1);
    rsm_localmemory_handle_t local = local_handle(others, PAGE);
    memset(sg.memory, 1, PAGE);
    memset(others, 2, PAGE);
    by_handle(1, local);
    by_handle(3, local);
    OK(rsm_memseg_import_putv(io));
    for (unsigned i = 0; i < 4; i++)
        expect_bytes(handle, 128 * i, 32, i % 2 == 0 ? 1 : 2);
    memset(sg.memory, 0, PAGE);
    memset(others, 0, PAGE);
    OK(rsm_memseg_import_getv(io));
    HOLDS(sg.memory[0] == 1 && sg.memory[64] == 0 && others[64] == 2 && others[0] == 0);
    OK(rsm_free_localmemory_handle(controller(), local));
}

CONFORMANCE(V, 07, "success leaves no entry over")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        OK((*call)(request(handle, 5)));
        HOLDS(sg.request.io_residual_count == 0);
    }
}

static bool same_entry(const rsm_iovec_t *one, const rsm_iovec_t *other)
{
    return one->io_type == other->io_type && one->local.vaddr == other->local.vaddr &&
           one->local_offset == other->local_offset && one->remote_offset == other->remote_offset &&
           one->transfer_length == other->transfer_length;
}

CONFORMANCE(V, 08, "flags and entries are not changed")
{
    rsm_iovec_t before[RSM_MAX_SGIOREQS + 1];
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        rsm_scat_gath_t *io = request(handle, 3);
        io->flags = RSM_IMPLICIT_SIGPOST | RSM_SIGPOST_NO_ACCUMULATE;
        memcpy(before, sg.entries, sizeof before);
        OK((*call)(io));
        HOLDS(io->flags == (RSM_IMPLICIT_SIGPOST | RSM_SIGPOST_NO_ACCUMULATE));
        HOLDS(io->iovec == sg.entries && io->io_request_count == 3);
        for (unsigned i = 0; i < 3; i++)
            HOLDS(same_entry(&before[i], &sg.entries[i]));
    }
}

CONFORMANCE(V, 09, "an entry may be empty")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        rsm_scat_gath_t *io = request(handle, 3);
        sg.entries[1].transfer_length = 0;
        OK((*call)(io));
        HOLDS(io->io_residual_count == 0);
    }
}

CONFORMANCE(V, 10, "no barrier is needed in either mode")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_IMPLICIT));
        OK((*call)(request(handle, 2)));
        OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_EXPLICIT));
        OK((*call)(request(handle, 2)));
    }
}

/* Sun's library mapped the segment for it; librsm does not. */
CONFORMANCE(V, 11, "no mapping is needed, and none is used up")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        OK((*call)(request(handle, 2)));
        mapped(handle, PAGE);
        OK((*call)(request(handle, 2)));
        OK(rsm_memseg_import_unmap(handle));
    }
}

CONFORMANCE(V, 12, "an implicit post is one event for each call")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    EACH_VECTOR(call)
    {
        for (unsigned i = 0; i < 3; i++) {
            rsm_scat_gath_t *io = request(handle, 4);
            io->flags = RSM_IMPLICIT_SIGPOST;
            OK((*call)(io));
        }
        for (unsigned i = 0; i < 3; i++)
            TELL_OK(exporter, WAIT, .timeout = EVENT_MS);
        TELL_GET(RSMERR_TIMEOUT, exporter, WAIT, .timeout = NO_EVENT_MS);
        OK((*call)(request(handle, 4)));
        TELL_GET(RSMERR_TIMEOUT, exporter, WAIT, .timeout = NO_EVENT_MS);
    }
}

CONFORMANCE(V, 13, "a call that fails posts nothing")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    EACH_VECTOR(call)
    {
        rsm_scat_gath_t *io = request(handle, 2);
        io->flags = RSM_IMPLICIT_SIGPOST;
        sg.entries[1].remote_offset = COUNT * PAGE;
        EXPECT(RSMERR_BAD_OFFSET, (*call)(io));
        io->io_request_count = 0;
        EXPECT(RSMERR_BAD_SGIO, (*call)(io));
    }
    TELL_GET(RSMERR_TIMEOUT, exporter, WAIT, .timeout = NO_EVENT_MS);
}

CONFORMANCE(V, 14, "an entry beyond the end: those before it are done, the rest is left over")
{
    rsm_memseg_import_handle_t handle = connection();
    rsm_scat_gath_t *io = request(handle, 5);
    memset(sg.memory, 3, PAGE);
    sg.entries[2].remote_offset = COUNT * PAGE - 31;
    EXPECT(RSMERR_BAD_OFFSET, rsm_memseg_import_putv(io));
    HOLDS(io->io_residual_count == 3);
    expect_bytes(handle, 0, 32, 3);
    expect_bytes(handle, 128, 32, 3);
    expect_bytes(handle, COUNT * PAGE - 31, 31, 0);
    expect_bytes(handle, 384, 32, 0);
    memset(sg.memory, 9, PAGE);
    EXPECT(RSMERR_BAD_OFFSET, rsm_memseg_import_getv(io));
    HOLDS(io->io_residual_count == 3);
    HOLDS(sg.memory[0] == 3 && sg.memory[64] == 3);
    HOLDS(sg.memory[128] == 9 && sg.memory[192] == 9);
}

CONFORMANCE(V, 15, "a right that the connection has not")
{
    offered(COUNT);
    rsm_memseg_import_handle_t reader = connected(RSM_PERM_READ);
    rsm_memseg_import_handle_t writer = connected(RSM_PERM_WRITE);
    EXPECT_EITHER(RSMERR_PERM_DENIED, RSMERR_BAD_PERMS, rsm_memseg_import_putv(request(reader, 1)));
    EXPECT_EITHER(RSMERR_PERM_DENIED, RSMERR_BAD_PERMS, rsm_memseg_import_getv(request(writer, 1)));
    OK(rsm_memseg_import_getv(request(reader, 1)));
    OK(rsm_memseg_import_putv(request(writer, 1)));
}

CONFORMANCE(V, 16, "an aborted connection")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t plain = connected(RSM_PERM_RDWR), with_map = ready();
    mapped(with_map, PAGE);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(plain);
    EACH_VECTOR(call)
    for (unsigned i = 0; i < 2; i++) {
        rsm_scat_gath_t *io = request(i == 0 ? plain : with_map, 2);
        memset(sg.memory, 5, PAGE);
        int error = (*call)(io);
        HOLDS(error == RSMERR_CONN_ABORTED || error == RSMERR_BAD_SGIO || error == RSM_SUCCESS);
    }
    HOLDS(ASK(exporter, LOAD).value == 0);
}

CONFORMANCE(V, 17, "with a part mapped, offsets count from the segment")
{
    struct actor *exporter = offered(COUNT);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    void *address = NULL;
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, (off_t)PAGE, PAGE));
    rsm_scat_gath_t *io = request(handle, 1);
    memset(sg.memory, 0x11, 32);
    sg.entries[0].remote_offset = PAGE;
    OK(rsm_memseg_import_putv(io));
    HOLDS(ASK(exporter, LOAD, .offset = (int64_t)PAGE).value == 0x1111111111111111);
    HOLDS(ASK(exporter, LOAD, .offset = 0).value == 0);
    HOLDS(load64(address) == 0x1111111111111111);
}

CONFORMANCE(V, 18, "the local node id does not matter")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        rsm_scat_gath_t *io = request(handle, 1);
        io->local_nodeid = 4711;
        OK((*call)(io));
        HOLDS(io->local_nodeid == 4711);
    }
}

CONFORMANCE(V, 19, "an entry of an unknown type, or no entries")
{
    rsm_memseg_import_handle_t handle = connection();
    EACH_VECTOR(call)
    {
        rsm_scat_gath_t *io = request(handle, 2);
        sg.entries[1].io_type = 3;
        EXPECT(RSMERR_BAD_SGIO, (*call)(io));
        io = request(handle, 2);
        io->iovec = NULL;
        EXPECT(RSMERR_BAD_SGIO, (*call)(io));
    }
}

/* ---------------------------------------------------------------- local memory handles */

static int create_local(rsmapi_controller_handle_t through, void *memory, size_t length)
{
    rsm_localmemory_handle_t untouched = (rsm_localmemory_handle_t)&untouched;
    rsm_localmemory_handle_t local = untouched;
    int error = rsm_create_localmemory_handle(through, &local, memory, length);
    HOLDS(error == RSM_SUCCESS || local == untouched);
    return error == RSM_SUCCESS ? rsm_free_localmemory_handle(through, local) : error;
}

CONFORMANCE(L, 01, "a misaligned address is found before anything else")
{
    uint8_t *memory = pages(2);
    act_as_importer();
    EXPECT(RSMERR_BAD_ADDR, create_local(controller(), memory + 1, PAGE));
    EXPECT(RSMERR_BAD_ADDR, create_local(NULL, memory + 8, PAGE));
    EXPECT(RSMERR_BAD_ADDR, create_local(NULL, memory + 8, 0));
}

CONFORMANCE(L, 02, "no controller, nowhere to put the handle, no length: in this order")
{
    char *memory = (char *)pages(1);
    act_as_importer();
    EXPECT(RSMERR_BAD_CTLR_HNDL, create_local(NULL, memory, PAGE));
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_create_localmemory_handle(NULL, NULL, memory, 0));
    EXPECT(RSMERR_BAD_LOCALMEM_HNDL,
           rsm_create_localmemory_handle(controller(), NULL, memory, PAGE));
    EXPECT(RSMERR_BAD_LOCALMEM_HNDL, rsm_create_localmemory_handle(controller(), NULL, memory, 0));
    EXPECT(RSMERR_BAD_LENGTH, create_local(controller(), memory, 0));
}

CONFORMANCE(L, 03, "the length need not be whole pages")
{
    act_as_importer();
    OK(create_local(controller(), pages(1), 1));
    OK(create_local(controller(), pages(2), PAGE + 100));
}

CONFORMANCE(L, 04, "free without a controller, or without a handle")
{
    act_as_importer();
    rsm_localmemory_handle_t local = local_handle(pages(1), PAGE);
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_free_localmemory_handle(NULL, local));
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_free_localmemory_handle(NULL, NULL));
    EXPECT(RSMERR_BAD_LOCALMEM_HNDL, rsm_free_localmemory_handle(controller(), NULL));
    OK(rsm_free_localmemory_handle(controller(), local));
}

/* Send the first bytes of `memory` by a handle and see them arrive. */
static void expect_usable(rsm_memseg_import_handle_t handle, rsm_localmemory_handle_t local,
                          uint8_t *memory, uint8_t value)
{
    rsm_scat_gath_t *io = request(handle, 1);
    memset(memory, value, 32);
    by_handle(0, local);
    OK(rsm_memseg_import_putv(io));
    expect_bytes(handle, 0, 32, value);
    HOLDS(memory[0] == value && memory[31] == value);
}

CONFORMANCE(L, 05, "the memory stays as it is, before and after")
{
    rsm_memseg_import_handle_t handle = connection();
    uint8_t *memory = pages(2);
    memset(memory, 0x77, 2 * PAGE);
    for (uint8_t i = 1; i <= 5; i++) {
        rsm_localmemory_handle_t local = local_handle(memory, 2 * PAGE);
        expect_usable(handle, local, memory, i);
        OK(rsm_free_localmemory_handle(controller(), local));
        HOLDS(memory[0] == i && memory[2 * PAGE - 1] == 0x77);
        memory[0] = 0;
    }
}

CONFORMANCE(L, 06, "a handle over memory that is exported too")
{
    uint8_t *memory = pages(2);
    act_as_exporter();
    published(memory, 2);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsm_localmemory_handle_t local = local_handle(memory + PAGE, PAGE);
    expect_usable(handle, local, memory + PAGE, 6);
    HOLDS(memory[0] == 6);
    OK(rsm_free_localmemory_handle(controller(), local));
}

CONFORMANCE(L, 07, "several handles over the same memory")
{
    rsm_memseg_import_handle_t handle = connection();
    uint8_t *memory = pages(2);
    rsm_localmemory_handle_t first = local_handle(memory, 2 * PAGE);
    rsm_localmemory_handle_t second = local_handle(memory, PAGE);
    expect_usable(handle, first, memory, 1);
    expect_usable(handle, second, memory, 2);
    OK(rsm_free_localmemory_handle(controller(), first));
    expect_usable(handle, second, memory, 3);
    OK(rsm_free_localmemory_handle(controller(), second));
}
