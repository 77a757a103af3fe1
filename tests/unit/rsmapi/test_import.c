/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance I-01 to I-18. */
#include "unit/rsmapi/rsmapi_test.h"

struct call {
    rsmapi_controller_handle_t live, controller;
    rsm_permission_t perm;
    rsm_memseg_import_handle_t made;
    rsm_memseg_import_handle_t *result;
};

static void prepare(void *state)
{
    struct call *call = state;
    call->controller = call->live;
    call->perm = RSM_PERM_RDWR;
    call->made = (rsm_memseg_import_handle_t)0x1234;
    call->result = &call->made;
    inject_calloc.error = 0;
    fake.connect = RSM_ST_OK;
}

static int perform(void *state)
{
    struct call *call = state;
    int error = rsm_memseg_import_connect(call->controller, 3, 0x400001, call->perm, call->result);
    if (error != RSM_SUCCESS && error != RSMERR_BAD_CTLR_HNDL && call->result != NULL)
        assert_null(call->made);
    return error;
}

SPOIL(struct call, no_controller, call->controller = NULL)
SPOIL(struct call, no_result, call->result = NULL)
SPOIL(struct call, other_bits, call->perm = 0601)
SPOIL(struct call, no_memory, inject_calloc.error = ENOMEM)
SPOIL(struct call, not_published, fake.connect = RSM_ST_NOT_FOUND)

TEST(connect_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL controller", no_controller, RSMERR_BAD_CTLR_HNDL},
        {"NULL result", no_result, RSMERR_BAD_SEG_HNDL},
        {"other permission bits", other_bits, RSMERR_PERM_DENIED},
        {"no memory", no_memory, RSMERR_INSUFFICIENT_MEM},
        {"not published", not_published, RSMERR_SEG_NOT_PUBLISHED},
    };
    struct call call = {.live = open_controller("sci0")};
    check_order(spoilers, COUNT(spoilers), &call, prepare, perform);
    close_controller(call.live);
}

TEST(connect_translates_refusals)
{
    static const struct {
        enum rsm_status status;
        int error;
    } cases[] = {{RSM_ST_NO_CONTROLLER, RSMERR_CTLR_NOT_PRESENT},
                 {RSM_ST_NO_ROUTE, RSMERR_REMOTE_NODE_UNREACHABLE},
                 {RSM_ST_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE},
                 {RSM_ST_TIMEOUT, RSMERR_REMOTE_NODE_UNREACHABLE},
                 {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
                 {RSM_ST_VERSION, RSMERR_BAD_DRIVER_VERSION},
                 {RSM_ST_NOT_TO_NODE, RSMERR_SEG_NOT_PUBLISHED_TO_NODE},
                 {RSM_ST_DENIED, RSMERR_PERM_DENIED},
                 {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM},
                 {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
                 {RSM_ST_PROTOCOL, RSMERR_INTERNAL_ERROR}};
    struct call call = {.live = open_controller("sci0")};
    for (size_t i = 0; i < COUNT(cases); i++) {
        prepare(&call);
        fake.connect = cases[i].status;
        assert_int_equal(perform(&call), cases[i].error);
    }
    close_controller(call.live);
}

TEST(every_permission_can_be_asked_for)
{
    static const struct {
        rsm_permission_t perm;
        uint32_t rights;
    } cases[] = {{0, 0},
                 {RSM_PERM_READ, RSM_RIGHT_READ},
                 {RSM_PERM_WRITE, RSM_RIGHT_WRITE},
                 {RSM_PERM_RDWR, RSM_RIGHT_READ | RSM_RIGHT_WRITE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        rsm_memseg_import_handle_t first = connect_import(cases[i].perm);
        rsm_memseg_import_handle_t second = connect_import(cases[i].perm);
        assert_ptr_not_equal(first, second);
        assert_int_equal(fake.rights, cases[i].rights);
        assert_int_equal(fake.node, 2);
        assert_int_equal(fake.segment_id, 0x400000);
        assert_int_equal(fake.space, RSM_ID_SPACE_RSMAPI);
        disconnect_import(first);
        disconnect_import(second);
    }
}

TEST(disconnect_checks_in_the_documented_order)
{
    struct pollfd pollfd;
    void *address = NULL;
    rsm_memseg_export_handle_t other = create_export();
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    assert_int_equal(rsm_memseg_import_disconnect(NULL), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_disconnect((void *)other), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_map(import, &address, RSM_MAP_NONE, RSM_PERM_READ, 0, 1),
                     RSM_SUCCESS);
    assert_int_equal(rsm_memseg_get_pollfd(import, &pollfd), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_disconnect(import), RSMERR_SEG_STILL_MAPPED);
    assert_int_equal(rsm_memseg_import_unmap(import), RSMERR_POLLFD_IN_USE);
    assert_int_equal(rsm_memseg_release_pollfd(import), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_disconnect(import), RSMERR_SEG_STILL_MAPPED);
    assert_int_equal(rsm_memseg_import_unmap(import), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_get_pollfd(import, &pollfd), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_disconnect(import), RSMERR_POLLFD_IN_USE);
    assert_int_equal(rsm_memseg_release_pollfd(import), RSM_SUCCESS);
    assert_int_equal(fake.imports, 1);
    disconnect_import(import);
    destroy_export(other);
}

TEST(disconnect_needs_no_unmap_after_put_or_abort)
{
    uint8_t byte = 1;
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    assert_int_equal(rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_put8(import, 0, &byte, 1), RSM_SUCCESS);
    fake_abort();
    disconnect_import(import);
}
