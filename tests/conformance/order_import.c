/* SPDX-License-Identifier: BSD-3-Clause */
/* O, second part: the order of errors, import side. */
#include "error_order.h"
#include "stage.h"
#include "transfers.h"

enum { COUNT = 2 };

/* Connections that the calls of one test share, to one segment of COUNT pages. */
static struct {
    rsm_memseg_import_handle_t handle; /* all rights, a barrier, not mapped */
    rsm_memseg_import_handle_t reader; /* may only read */
    rsm_memseg_import_handle_t nobody; /* may do nothing, has a barrier */
    rsm_memseg_import_handle_t busy;   /* all rights, mapped */
    rsm_memseg_import_handle_t bare;   /* all rights, no barrier */
    rsm_memseg_import_handle_t bare_nobody;
} my;

static void prepare(void)
{
    offered(COUNT);
    my.handle = ready();
    my.reader = connected(RSM_PERM_READ);
    my.nobody = connected(RSM_PERM_NONE);
    barrier_of(my.nobody);
    my.busy = ready();
    mapped(my.busy, PAGE);
    my.bare = connected(RSM_PERM_RDWR);
    my.bare_nobody = connected(RSM_PERM_NONE);
}

/* ---------------------------------------------------------------- connect, disconnect */

enum { CONNECT_CONTROLLER, CONNECT_RESULT, CONNECT_RIGHTS, CONNECT_NODE, CONNECT_ID };
static const struct fault connect_faults[] = {
    [CONNECT_CONTROLLER] = {"NULL controller", RSMERR_BAD_CTLR_HNDL, ABOUT_HANDLE},
    [CONNECT_RESULT] = {"NULL result", RSMERR_BAD_SEG_HNDL, ABOUT_RESULT},
    [CONNECT_RIGHTS] = {"no such right", RSMERR_PERM_DENIED, ABOUT_RIGHTS},
    [CONNECT_NODE] = {"another node", RSMERR_CTLR_NOT_PRESENT, ABOUT_NODE},
    [CONNECT_ID] = {"unpublished id", RSMERR_SEG_NOT_PUBLISHED, ABOUT_ID},
    {NULL, 0, 0},
};

/* Over loopback in the importer's own node, where all errors have one code each. */
static int call_connect(unsigned mask)
{
    rsm_memseg_import_handle_t handle;
    rsm_node_id_t own = options.exporter_node;
    int error = rsm_memseg_import_connect(
        WITH(CONNECT_CONTROLLER) ? NULL : loopback(), WITH(CONNECT_NODE) ? own % 64 + 1 : own,
        WITH(CONNECT_ID) ? SEGMENT_ID + 7 : SEGMENT_ID, WITH(CONNECT_RIGHTS) ? 0701 : RSM_PERM_RDWR,
        WITH(CONNECT_RESULT) ? NULL : &handle);
    return error == RSM_SUCCESS ? rsm_memseg_import_disconnect(handle) : error;
}

CONFORMANCE(O, 09, "order of errors: import_connect")
{
    static const struct checked_function checked = {"connect", connect_faults, call_connect};
    act_as_exporter();
    published(pages(1), 1);
    check_order(&checked);
}

enum { DISCONNECT_HANDLE, DISCONNECT_MAPPED, DISCONNECT_POLLFD };
static const struct fault disconnect_faults[] = {
    [DISCONNECT_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    [DISCONNECT_MAPPED] = {"mapped", RSMERR_SEG_STILL_MAPPED, ABOUT_STATE},
    [DISCONNECT_POLLFD] = {"pollfd in use", RSMERR_POLLFD_IN_USE, ABOUT_RESULT},
    {NULL, 0, 0},
};

static int call_disconnect(unsigned mask)
{
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    struct pollfd entry;
    if (WITH(DISCONNECT_MAPPED))
        mapped(handle, PAGE);
    if (WITH(DISCONNECT_POLLFD))
        OK(rsm_memseg_get_pollfd(handle, &entry));
    int error = rsm_memseg_import_disconnect(WITH(DISCONNECT_HANDLE) ? NULL : handle);
    if (WITH(DISCONNECT_POLLFD))
        OK(rsm_memseg_release_pollfd(handle));
    return error;
}

CONFORMANCE(O, 10, "order of errors: import_disconnect")
{
    static const struct checked_function checked = {"disconnect", disconnect_faults,
                                                    call_disconnect};
    offered(COUNT);
    check_order(&checked);
}

/* ---------------------------------------------------------------- map, unmap */

enum {
    MAP_HANDLE,
    MAP_NO_ADDRESS,
    MAP_MAPPED,
    MAP_NO_SUCH_RIGHT,
    MAP_NO_LENGTH,
    MAP_BEYOND,
    MAP_MISALIGNED,
    MAP_FIXED_MISALIGNED,
    MAP_RIGHTS,
};
static const struct fault map_faults[] = {
    [MAP_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_STATE},
    [MAP_NO_ADDRESS] = {"NULL address", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [MAP_MAPPED] = {"mapped", RSMERR_SEG_ALREADY_MAPPED, ABOUT_STATE},
    [MAP_NO_SUCH_RIGHT] = {"no such right", RSMERR_BAD_PERMS, ABOUT_RIGHTS},
    [MAP_NO_LENGTH] = {"length 0", RSMERR_BAD_LENGTH, ABOUT_LENGTH},
    [MAP_BEYOND] = {"beyond the end", RSMERR_BAD_LENGTH, ABOUT_LENGTH},
    [MAP_MISALIGNED] = {"misaligned offset", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_OFFSET},
    [MAP_FIXED_MISALIGNED] = {"misaligned fixed address", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_ADDRESS},
    [MAP_RIGHTS] = {"rights not granted", RSMERR_BAD_PERMS, ABOUT_STATE},
    {NULL, 0, 0},
};

static int call_map(unsigned mask)
{
    rsm_memseg_import_handle_t handle = my.handle;
    void *address = WITH(MAP_FIXED_MISALIGNED) ? (void *)(pages(2) + 8) : NULL;
    size_t length = 16;
    if (WITH(MAP_RIGHTS))
        handle = my.reader;
    if (WITH(MAP_MAPPED))
        handle = my.busy;
    if (WITH(MAP_HANDLE))
        handle = NULL;
    if (WITH(MAP_BEYOND))
        length = COUNT * PAGE + 1;
    if (WITH(MAP_NO_LENGTH))
        length = 0;
    int error = import_map(handle, WITH(MAP_NO_ADDRESS) ? NULL : &address,
                           WITH(MAP_FIXED_MISALIGNED) ? RSM_MAP_FIXED : RSM_MAP_NONE,
                           WITH(MAP_NO_SUCH_RIGHT) ? 0601 : RSM_PERM_RDWR,
                           WITH(MAP_MISALIGNED) ? 8 : 0, length);
    return error == RSM_SUCCESS ? rsm_memseg_import_unmap(handle) : error;
}

CONFORMANCE(O, 11, "order of errors: import_map")
{
    static const struct checked_function checked = {"map", map_faults, call_map};
    prepare();
    check_order(&checked);
}

enum { UNMAP_HANDLE, UNMAP_STATE, UNMAP_POLLFD };
static const struct fault unmap_faults[] = {
    [UNMAP_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    [UNMAP_STATE] = {"not mapped", RSMERR_SEG_NOT_MAPPED, ABOUT_STATE},
    [UNMAP_POLLFD] = {"pollfd in use", RSMERR_POLLFD_IN_USE, ABOUT_RESULT},
    {NULL, 0, 0},
};

static int call_unmap(unsigned mask)
{
    rsm_memseg_import_handle_t handle = WITH(UNMAP_STATE) ? my.handle : my.busy;
    struct pollfd entry;
    if (WITH(UNMAP_POLLFD))
        OK(rsm_memseg_get_pollfd(handle, &entry));
    int error = rsm_memseg_import_unmap(WITH(UNMAP_HANDLE) ? NULL : handle);
    if (WITH(UNMAP_POLLFD))
        OK(rsm_memseg_release_pollfd(handle));
    if (error == RSM_SUCCESS)
        mapped(handle, PAGE);
    return error;
}

CONFORMANCE(O, 12, "order of errors: import_unmap")
{
    static const struct checked_function checked = {"unmap", unmap_faults, call_unmap};
    prepare();
    check_order(&checked);
}

/* ---------------------------------------------------------------- put, get */

enum {
    ACCESS_HANDLE,
    ACCESS_NO_DATA,
    ACCESS_DATA_MISALIGNED,
    ACCESS_OFFSET_MISALIGNED,
    ACCESS_KIND,
    ACCESS_RIGHTS,
    ACCESS_RANGE,
    ACCESS_BARRIER,
};
static const struct fault access_faults[] = {
    [ACCESS_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL,
                       ABOUT_HANDLE | ABOUT_STATE | ABOUT_RIGHTS},
    [ACCESS_NO_DATA] = {"NULL data", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    [ACCESS_DATA_MISALIGNED] = {"misaligned data", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_ADDRESS},
    [ACCESS_OFFSET_MISALIGNED] = {"misaligned offset", RSMERR_BAD_MEM_ALIGNMENT, ABOUT_OFFSET},
    [ACCESS_KIND] = {"export handle", RSMERR_BAD_SEG_HNDL,
                     ABOUT_HANDLE | ABOUT_STATE | ABOUT_RIGHTS},
    [ACCESS_RIGHTS] = {"no right", RSMERR_PERM_DENIED, ABOUT_RIGHTS},
    [ACCESS_RANGE] = {"beyond the end", RSMERR_BAD_OFFSET, ABOUT_LENGTH},
    [ACCESS_BARRIER] = {"no barrier", RSMERR_BARRIER_UNINITIALIZED, ABOUT_STATE},
    {NULL, 0, 0},
};

static const struct transfer *tried;
static rsm_memseg_export_handle_t exported;

static rsm_memseg_import_handle_t access_handle(unsigned mask)
{
    if (WITH(ACCESS_HANDLE))
        return NULL;
    if (WITH(ACCESS_KIND))
        return (rsm_memseg_import_handle_t)exported;
    if (WITH(ACCESS_RIGHTS))
        return WITH(ACCESS_BARRIER) ? my.bare_nobody : my.nobody;
    return WITH(ACCESS_BARRIER) ? my.bare : my.handle;
}

/* Bytes have no alignment to break: what is right for them is taken. */
static int call_access(unsigned mask)
{
    static _Alignas(8) uint8_t bytes[32];
    uint8_t *data = bytes;
    off_t offset = 0;
    unsigned slip = tried->width / 2;
    if (WITH(ACCESS_DATA_MISALIGNED))
        data += slip;
    if (WITH(ACCESS_NO_DATA))
        data = NULL;
    if (WITH(ACCESS_OFFSET_MISALIGNED))
        offset = (off_t)slip;
    size_t count = WITH(ACCESS_RANGE) ? COUNT * PAGE / tried->width + 1 : 1;
    return tried->call(access_handle(mask), offset, data, count);
}

/* The list for a function on single bytes: without alignment. */
static int call_unaligned_access(unsigned mask)
{
    unsigned low = mask & ((1u << ACCESS_DATA_MISALIGNED) - 1);
    unsigned high = mask >> ACCESS_DATA_MISALIGNED << ACCESS_KIND;
    return call_access(low | high);
}

CONFORMANCE(O, 13, "order of errors: the ten put and get functions")
{
    struct fault unaligned_faults[FAULTS_MAX];
    size_t used = sizeof access_faults / sizeof access_faults[0];
    memcpy(unaligned_faults, access_faults, sizeof access_faults);
    memmove(&unaligned_faults[ACCESS_DATA_MISALIGNED], &unaligned_faults[ACCESS_KIND],
            (used - ACCESS_KIND) * sizeof unaligned_faults[0]);
    prepare();
    exported = created(pages(1), PAGE, 0);
    for (tried = transfers; tried < transfers + TRANSFERS; tried++) {
        struct checked_function checked = {tried->name, access_faults, call_access};
        if (tried->width == 1) {
            checked.faults = unaligned_faults;
            checked.call = call_unaligned_access;
        }
        check_order(&checked);
    }
}

/* ---------------------------------------------------------------- putv, getv */

enum { VECTOR_HANDLE, VECTOR_COUNT, VECTOR_NO_ENTRIES, VECTOR_TYPE, VECTOR_RIGHTS, VECTOR_RANGE };
static const struct fault vector_faults[] = {
    [VECTOR_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE | ABOUT_RIGHTS},
    [VECTOR_COUNT] = {"count 0", RSMERR_BAD_SGIO, ABOUT_LENGTH},
    [VECTOR_NO_ENTRIES] = {"NULL entries", RSMERR_BAD_SGIO, ABOUT_ADDRESS | ABOUT_OFFSET},
    [VECTOR_TYPE] = {"unknown type", RSMERR_BAD_SGIO, ABOUT_ADDRESS},
    [VECTOR_RIGHTS] = {"no right", RSMERR_PERM_DENIED, ABOUT_RIGHTS},
    [VECTOR_RANGE] = {"beyond the end", RSMERR_BAD_OFFSET, ABOUT_OFFSET},
    {NULL, 0, 0},
};

static int (*tried_vector)(rsm_scat_gath_t *);

static int call_vector(unsigned mask)
{
    static char bytes[64];
    rsm_iovec_t entry = {.io_type = WITH(VECTOR_TYPE) ? 5 : RSM_VA_TYPE,
                         .local.vaddr = bytes,
                         .remote_offset = WITH(VECTOR_RANGE) ? COUNT * PAGE : 0,
                         .transfer_length = 8};
    rsm_scat_gath_t request = {.io_request_count = WITH(VECTOR_COUNT) ? 0 : 1,
                               .iovec = WITH(VECTOR_NO_ENTRIES) ? NULL : &entry,
                               .remote_handle = my.handle};
    if (WITH(VECTOR_RIGHTS))
        request.remote_handle = my.nobody;
    if (WITH(VECTOR_HANDLE))
        request.remote_handle = NULL;
    return tried_vector(&request);
}

CONFORMANCE(O, 14, "order of errors: putv and getv")
{
    static const struct checked_function put = {"putv", vector_faults, call_vector};
    static const struct checked_function get = {"getv", vector_faults, call_vector};
    prepare();
    tried_vector = rsm_memseg_import_putv;
    check_order(&put);
    tried_vector = rsm_memseg_import_getv;
    check_order(&get);
}

/* ---------------------------------------------------------------- barriers, modes, events */

enum { INIT_HANDLE, INIT_BARRIER };
static const struct fault init_faults[] = {
    [INIT_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    [INIT_BARRIER] = {"NULL barrier", RSMERR_BAD_BARRIER_PTR, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_init(unsigned mask)
{
    rsmapi_barrier_t barrier;
    return rsm_memseg_import_init_barrier(WITH(INIT_HANDLE) ? NULL : my.handle, RSM_BARRIER_NODE,
                                          WITH(INIT_BARRIER) ? NULL : &barrier);
}

enum { MODE_HANDLE, MODE_VALUE };
static const struct fault get_mode_faults[] = {
    [MODE_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    [MODE_VALUE] = {"NULL mode", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    {NULL, 0, 0},
};
static const struct fault set_mode_faults[] = {
    [MODE_HANDLE] = {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    [MODE_VALUE] = {"unknown mode", RSMERR_BAD_MODE, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_get_mode(unsigned mask)
{
    rsm_barrier_mode_t mode;
    return rsm_memseg_import_get_mode(WITH(MODE_HANDLE) ? NULL : my.handle,
                                      WITH(MODE_VALUE) ? NULL : &mode);
}

static int call_set_mode(unsigned mask)
{
    return rsm_memseg_import_set_mode(WITH(MODE_HANDLE) ? NULL : my.handle,
                                      WITH(MODE_VALUE) ? (rsm_barrier_mode_t)7
                                                       : RSM_BARRIER_MODE_IMPLICIT);
}

static const struct fault pollfd_faults[] = {
    {"NULL handle", RSMERR_BAD_SEG_HNDL, ABOUT_HANDLE},
    {"NULL entry", RSMERR_BAD_ADDR, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_get_pollfd(unsigned mask)
{
    struct pollfd entry;
    int error = rsm_memseg_get_pollfd(WITH(0) ? NULL : my.handle, WITH(1) ? NULL : &entry);
    return error == RSM_SUCCESS ? rsm_memseg_release_pollfd(my.handle) : error;
}

static const struct fault free_faults[] = {
    {"NULL controller", RSMERR_BAD_CTLR_HNDL, ABOUT_HANDLE},
    {"NULL handle", RSMERR_BAD_LOCALMEM_HNDL, ABOUT_ADDRESS},
    {NULL, 0, 0},
};

static int call_free(unsigned mask)
{
    rsm_localmemory_handle_t local = NULL;
    if (mask == 0)
        OK(rsm_create_localmemory_handle(controller(), &local, (caddr_t)pages(1), PAGE));
    else if (!WITH(1)) /* any handle will do, it is not looked at */
        local = (rsm_localmemory_handle_t)my.handle;
    return rsm_free_localmemory_handle(WITH(0) ? NULL : controller(), local);
}

CONFORMANCE(O, 15, "order of errors: functions of two arguments")
{
    static const struct checked_function functions[] = {
        {"init_barrier", init_faults, call_init},
        {"get_mode", get_mode_faults, call_get_mode},
        {"set_mode", set_mode_faults, call_set_mode},
        {"get_pollfd", pollfd_faults, call_get_pollfd},
        {"free_localmemory_handle", free_faults, call_free},
    };
    prepare();
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        check_order(&functions[i]);
}
