/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance M-01 to M-25, state machine 4.2. */
#include "unit/rsmapi/rsmapi_test.h"

struct call {
    rsm_memseg_import_handle_t live, handle;
    rsm_memseg_export_handle_t other;
    void *address;
    void **result;
    rsm_attribute_t attr;
    rsm_permission_t perm;
    off_t offset;
    size_t length;
};

static void prepare(void *state)
{
    struct call *call = state;
    call->handle = call->live;
    call->address = NULL;
    call->result = &call->address;
    call->attr = RSM_MAP_NONE;
    call->perm = RSM_PERM_READ;
    call->offset = (off_t)page_size();
    call->length = page_size();
    fake.map = RSM_ST_OK;
}

static int perform(void *state)
{
    struct call *call = state;
    void *before = call->address;
    int error = rsm_memseg_import_map(call->handle, call->result, call->attr, call->perm,
                                      call->offset, call->length);
    if (error != RSM_SUCCESS)
        assert_ptr_equal(call->address, before);
    return error;
}

SPOIL(struct call, no_handle, call->handle = NULL)
SPOIL(struct call, no_address, call->result = NULL)
SPOIL(struct call, other_handle, call->handle = (void *)call->other)
SPOIL(struct call, bad_permission, call->perm = 0601)
SPOIL(struct call, no_length, call->length = 0)
SPOIL(struct call, too_long, call->length = fake_segment_length())
static void crooked_offset(void *call)
{
    ((struct call *)call)->offset += 8;
    ((struct call *)call)->length -= 8;
}
static void crooked_fixed(void *call)
{
    ((struct call *)call)->attr = RSM_MAP_FIXED;
    ((struct call *)call)->address = (char *)test_memory() + 1;
}
SPOIL(struct call, more_rights, call->perm = RSM_PERM_RDWR)
SPOIL(struct call, core_fails, fake.map = RSM_ST_NO_RESOURCES)

TEST(map_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"NULL address", no_address, RSMERR_BAD_ADDR},
        {"export handle", other_handle, RSMERR_BAD_SEG_HNDL},
        {"bad permission", bad_permission, RSMERR_BAD_PERMS},
        {"length 0", no_length, RSMERR_BAD_LENGTH},
        {"beyond the end", too_long, RSMERR_BAD_LENGTH},
        {"misaligned offset", crooked_offset, RSMERR_BAD_MEM_ALIGNMENT},
        {"misaligned fixed address", crooked_fixed, RSMERR_BAD_MEM_ALIGNMENT},
        {"more rights than connected", more_rights, RSMERR_BAD_PERMS},
        {"refused by the core", core_fails, RSMERR_INSUFFICIENT_RESOURCES},
    };
    struct call call = {.live = connect_import(RSM_PERM_READ), .other = create_export()};
    check_order(spoilers, COUNT(spoilers), &call, prepare, perform);

    /* Usable after all of that; and once mapped nothing else is looked at. */
    prepare(&call);
    assert_int_equal(perform(&call), RSM_SUCCESS);
    bad_permission(&call);
    no_length(&call);
    assert_int_equal(perform(&call), RSMERR_SEG_ALREADY_MAPPED);
    fake_abort();
    assert_int_equal(perform(&call), RSMERR_SEG_ALREADY_MAPPED);
    assert_int_equal(rsm_memseg_import_unmap(call.live), RSM_SUCCESS);
    prepare(&call);
    assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
    disconnect_import(call.live);
    destroy_export(call.other);
}

TEST(offsets_and_lengths_have_exact_bounds)
{
    struct call call = {.live = connect_import(RSM_PERM_READ)};
    const struct {
        off_t offset;
        size_t length;
        int error;
    } cases[] = {
        {0, fake_segment_length(), RSM_SUCCESS},
        {0, 1, RSM_SUCCESS},
        {(off_t)(fake_segment_length() - page_size()), page_size(), RSM_SUCCESS},
        {(off_t)(fake_segment_length() - page_size()), page_size() + 1, RSMERR_BAD_LENGTH},
        {(off_t)fake_segment_length(), 1, RSMERR_BAD_LENGTH},
        {(off_t)fake_segment_length() + 8, 1, RSMERR_BAD_LENGTH},
        {-(off_t)page_size(), page_size(), RSMERR_BAD_LENGTH},
        {-1, 1, RSMERR_BAD_LENGTH},
        {(off_t)page_size(), SIZE_MAX, RSMERR_BAD_LENGTH},
        {INT64_MAX, SIZE_MAX, RSMERR_BAD_LENGTH},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        prepare(&call);
        call.offset = cases[i].offset;
        call.length = cases[i].length;
        assert_int_equal(perform(&call), cases[i].error);
        if (cases[i].error == RSM_SUCCESS) {
            assert_ptr_equal(call.address, fake_segment + cases[i].offset);
            assert_int_equal(rsm_memseg_import_unmap(call.live), RSM_SUCCESS);
        }
    }
    disconnect_import(call.live);
}

TEST(attributes_and_permissions_reach_the_core)
{
    static const struct {
        rsm_attribute_t attr;
        rsm_permission_t perm;
        bool fixed;
        uint32_t rights;
    } cases[] = {
        {RSM_MAP_NONE, RSM_PERM_RDWR, false, RSM_RIGHT_READ | RSM_RIGHT_WRITE},
        {RSM_MAP_RESERVED, RSM_PERM_WRITE, false, RSM_RIGHT_WRITE},
        {RSM_MAP_FIXED, RSM_PERM_READ, true, RSM_RIGHT_READ},
        {RSM_MAP_NONE, 0, false, 0},
        {RSM_MAP_NONE, 0577, false, RSM_RIGHT_READ},
    };
    struct call call = {.live = connect_import(RSM_PERM_RDWR)};
    for (size_t i = 0; i < COUNT(cases); i++) {
        prepare(&call);
        call.attr = cases[i].attr;
        call.perm = cases[i].perm;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(fake.map_fixed, cases[i].fixed);
        assert_int_equal(fake.map_rights, cases[i].rights);
        assert_int_equal(rsm_memseg_import_unmap(call.live), RSM_SUCCESS);
    }
    disconnect_import(call.live);
}

TEST(failures_of_the_core_are_translated)
{
    static const struct {
        enum rsm_status status;
        int error;
    } cases[] = {{RSM_ST_NO_MEMORY, RSMERR_BAD_LENGTH},
                 {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
                 {RSM_ST_UNSUPPORTED, RSMERR_MAP_FAILED},
                 {RSM_ST_MAP_FAILED, RSMERR_MAP_FAILED},
                 {RSM_ST_FAULT, RSMERR_MAP_FAILED}};
    struct call call = {.live = connect_import(RSM_PERM_RDWR)};
    for (size_t i = 0; i < COUNT(cases); i++) {
        prepare(&call);
        fake.map = cases[i].status;
        assert_int_equal(perform(&call), cases[i].error);
        assert_int_equal(rsm_memseg_import_unmap(call.live), RSMERR_SEG_NOT_MAPPED);
    }
    disconnect_import(call.live);
}

TEST(unmap_checks_and_may_fail)
{
    struct pollfd pollfd;
    struct call call = {.live = connect_import(RSM_PERM_RDWR), .other = create_export()};
    assert_int_equal(rsm_memseg_import_unmap(NULL), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_unmap((void *)call.other), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_get_pollfd(call.live, &pollfd), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_unmap(call.live), RSMERR_SEG_NOT_MAPPED);
    prepare(&call);
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_unmap(call.live), RSMERR_POLLFD_IN_USE);
    assert_int_equal(rsm_memseg_release_pollfd(call.live), RSM_SUCCESS);
    fake.unmap = RSM_ST_FAULT;
    assert_int_equal(rsm_memseg_import_unmap(call.live), RSMERR_MAP_FAILED);
    assert_int_equal(rsm_memseg_import_disconnect(call.live), RSMERR_SEG_STILL_MAPPED);
    fake.unmap = RSM_ST_OK;
    fake_abort();
    assert_int_equal(rsm_memseg_import_unmap(call.live), RSM_SUCCESS);
    disconnect_import(call.live);
    destroy_export(call.other);
}
