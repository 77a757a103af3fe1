/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance P-01 to P-30, A-01 to, S-01 to S-03, state machine 4.1. */
#include "unit/rsmapi/rsmapi_test.h"

/* A publish or republish call and the handles that it can be spoiled with. */
struct call {
    rsm_memseg_export_handle_t fresh, published, on_loopback;
    rsm_memseg_export_handle_t handle;
    rsm_memseg_id_t id;
    rsm_memseg_id_t *id_pointer;
    rsmapi_access_entry_t list[2];
    rsmapi_access_entry_t *list_pointer;
    uint_t length;
};

/* An address where nothing is; volatile, or the compiler would warn of it. */
static rsmapi_access_entry_t *volatile nowhere = (rsmapi_access_entry_t *)16;

static rsm_memseg_export_handle_t create_on_loopback(void)
{
    rsm_memseg_export_handle_t made;
    rsmapi_controller_handle_t controller = open_controller("loopback");
    assert_int_equal(rsm_memseg_export_create(controller, &made, test_memory(), page_size(), 0),
                     RSM_SUCCESS);
    close_controller(controller);
    return made;
}

static void prepare(void *state)
{
    struct call *call = state;
    call->id = 0x400000;
    call->id_pointer = &call->id;
    call->list[0] = (rsmapi_access_entry_t){1, 0666};
    call->list[1] = (rsmapi_access_entry_t){64, 0};
    call->list_pointer = call->list;
    call->length = 2;
    fake.created_by_other = false;
    fake.publish = fake.republish = RSM_ST_OK;
}

static void prepare_publish(void *state)
{
    prepare(state);
    ((struct call *)state)->handle = ((struct call *)state)->fresh;
}

static void prepare_republish(void *state)
{
    prepare(state);
    ((struct call *)state)->handle = ((struct call *)state)->published;
}

static int perform_publish(void *state)
{
    struct call *call = state;
    rsm_memseg_id_t before = call->id;
    int error =
        rsm_memseg_export_publish(call->handle, call->id_pointer, call->list_pointer, call->length);
    assert_int_equal(call->id, before);
    return error;
}

static int perform_republish(void *state)
{
    struct call *call = state;
    return rsm_memseg_export_republish(call->handle, call->list_pointer, call->length);
}

SPOIL(struct call, no_id, call->id_pointer = NULL)
SPOIL(struct call, no_handle, call->handle = NULL)
SPOIL(struct call, no_list, call->list_pointer = NULL)
SPOIL(struct call, already_published, call->handle = call->published)
SPOIL(struct call, not_published, call->handle = call->fresh)
SPOIL(struct call, reserved_id, call->id = 0x3FFFFF)
SPOIL(struct call, other_creator, fake.created_by_other = true)
SPOIL(struct call, list_too_long, call->length = 65)
SPOIL(struct call, unreadable_list, call->list_pointer = nowhere)
SPOIL(struct call, bad_entry, call->list[1].ae_node = 65)
static void refused(void *call)
{
    fake.publish = RSM_ST_ID_IN_USE;
    fake.republish = RSM_ST_NO_ROUTE;
}

static void make_handles(struct call *call)
{
    call->fresh = create_export();
    call->published = publish_one(create_export());
    call->on_loopback = create_on_loopback();
}

static void end_handles(struct call *call)
{
    destroy_export(call->fresh);
    destroy_export(call->published);
    destroy_export(call->on_loopback);
}

TEST(publish_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL id", no_id, RSMERR_BAD_SEGID},
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"NULL list", no_list, RSMERR_BAD_ACL},
        {"published", already_published, RSMERR_SEG_ALREADY_PUBLISHED},
        {"reserved id", reserved_id, RSMERR_RESERVED_SEGID},
        {"not the creator", other_creator, RSMERR_NOT_CREATOR},
        {"list too long", list_too_long, RSMERR_BAD_ACL},
        {"unreadable list", unreadable_list, RSMERR_BAD_ADDR},
        {"bad entry", bad_entry, RSMERR_BAD_ACL},
        {"id in use", refused, RSMERR_SEGID_IN_USE},
    };
    struct call call;
    make_handles(&call);
    check_order(spoilers, COUNT(spoilers), &call, prepare_publish, perform_publish);
    /* After all these failures it can still be published. */
    prepare_publish(&call);
    assert_int_equal(perform_publish(&call), RSM_SUCCESS);
    end_handles(&call);
}

TEST(republish_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"not published", not_published, RSMERR_SEG_NOT_PUBLISHED},
        {"NULL list", no_list, RSMERR_BAD_ACL},
        {"not the creator", other_creator, RSMERR_NOT_CREATOR},
        {"list too long", list_too_long, RSMERR_BAD_ACL},
        {"unreadable list", unreadable_list, RSMERR_BAD_ADDR},
        {"bad entry", bad_entry, RSMERR_BAD_ACL},
        {"no route", refused, RSMERR_INTERNAL_ERROR},
    };
    struct call call;
    make_handles(&call);
    check_order(spoilers, COUNT(spoilers), &call, prepare_republish, perform_republish);
    prepare_republish(&call);
    assert_int_equal(perform_republish(&call), RSM_SUCCESS);
    assert_int_equal(fake.acl_count, 2);
    call.length = 0;
    call.list_pointer = NULL;
    assert_int_equal(perform_republish(&call), RSM_SUCCESS);
    assert_int_equal(fake.acl_count, 0);
    end_handles(&call);
}

TEST(ids_are_reserved_by_range)
{
    static const struct {
        rsm_memseg_id_t id;
        int error;
    } cases[] = {
        {0x1, RSMERR_RESERVED_SEGID},
        {0xFFFFF, RSMERR_RESERVED_SEGID},
        {0x100000, RSMERR_RESERVED_SEGID},
        {0x200000, RSMERR_RESERVED_SEGID},
        {0x300000, RSMERR_RESERVED_SEGID},
        {0x3FFFFF, RSMERR_RESERVED_SEGID},
        {0x400000, RSM_SUCCESS},
        {0x5FFFFF, RSM_SUCCESS},
        {0x600000, RSM_SUCCESS},
        {0x7FFFFFFF, RSM_SUCCESS},
        {0x80000000, RSMERR_RESERVED_SEGID},
        {0xFFFFFFFF, RSMERR_RESERVED_SEGID},
    };
    rsm_memseg_export_handle_t handle = create_export();
    for (size_t i = 0; i < COUNT(cases); i++) {
        rsm_memseg_id_t id = cases[i].id;
        assert_int_equal(rsm_memseg_export_publish(handle, &id, NULL, 0), cases[i].error);
        assert_int_equal(id, cases[i].id);
        if (cases[i].error == RSM_SUCCESS) {
            assert_int_equal(fake.segment_id, id);
            assert_int_equal(fake.space, RSM_ID_SPACE_RSMAPI);
            assert_int_equal(fake.publish_flags, 0);
            assert_int_equal(rsm_memseg_export_unpublish(handle), RSM_SUCCESS);
        }
    }
    destroy_export(handle);
}

TEST(an_id_is_written_only_where_one_was_asked_for)
{
    rsm_memseg_id_t id = 0;
    rsm_memseg_export_handle_t handle = create_export();
    fake.publish = RSM_ST_NO_RESOURCES;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, NULL, 0),
                     RSMERR_INSUFFICIENT_RESOURCES);
    assert_int_equal(id, 0);
    fake.publish = RSM_ST_OK;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, NULL, 0), RSM_SUCCESS);
    assert_int_equal(id, 0x80000001);
    assert_int_equal(fake.publish_flags, RSM_PUBLISH_ASSIGN_ID);
    destroy_export(handle);
}

TEST(lists_are_checked_and_copied)
{
    static const struct {
        rsmapi_access_entry_t entry;
        int error;
        uint32_t permission;
    } cases[] = {
        {{0, 0666}, RSM_SUCCESS, 0666},       {{64, 0}, RSM_SUCCESS, 0},
        {{1, 0577}, RSM_SUCCESS, 0466},       {{1, 0667}, RSMERR_BAD_ACL, 0},
        {{1, 0700}, RSMERR_BAD_ACL, 0},       {{65, 0666}, RSMERR_BAD_ACL, 0},
        {{UINT32_MAX, 0}, RSMERR_BAD_ACL, 0}, {{1, UINT32_MAX}, RSMERR_BAD_ACL, 0},
    };
    rsm_memseg_export_handle_t handle = publish_one(create_export());
    for (size_t i = 0; i < COUNT(cases); i++) {
        rsmapi_access_entry_t list[64];
        for (size_t j = 0; j < COUNT(list); j++)
            list[j] = (rsmapi_access_entry_t){(rsm_node_id_t)j, 0600};
        list[63] = cases[i].entry;
        fake.acl_count = 99;
        assert_int_equal(rsm_memseg_export_republish(handle, list, 64), cases[i].error);
        assert_int_equal(fake.acl_count, cases[i].error == RSM_SUCCESS ? 64 : 99);
        if (cases[i].error != RSM_SUCCESS)
            continue;
        assert_int_equal(fake.acl[0].permission, 0600);
        assert_int_equal(fake.acl[62].node, 62);
        assert_int_equal(fake.acl[63].node, cases[i].entry.ae_node);
        assert_int_equal(fake.acl[63].permission, cases[i].permission);
    }
    /* Length 0: the list is not looked at. */
    assert_int_equal(rsm_memseg_export_republish(handle, nowhere, 0), RSM_SUCCESS);
    assert_int_equal(fake.acl_count, 0);
    destroy_export(handle);
}

TEST(loopback_lists_name_the_own_node_alone)
{
    rsm_memseg_id_t id = 0x400000;
    rsmapi_access_entry_t list[2] = {{FAKE_NODE, 0666}, {FAKE_NODE, 0666}};
    rsm_memseg_export_handle_t handle = create_on_loopback();
    assert_int_equal(rsm_memseg_export_publish(handle, &id, list, 2), RSMERR_BAD_ACL);
    list[0].ae_node = FAKE_NODE + 1;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, list, 1), RSMERR_BAD_ACL);
    list[0].ae_node = FAKE_NODE;
    fake.local_node = RSM_ST_UNREACHABLE;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, list, 1), RSMERR_BAD_ACL);
    fake.local_node = RSM_ST_OK;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, list, 1), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_export_republish(handle, list, 2), RSMERR_BAD_ACL);
    destroy_export(handle);
}

TEST(a_list_that_ends_in_nowhere_is_a_bad_address)
{
    char *pages =
        mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(munmap(pages + page_size(), page_size()), 0);
    rsmapi_access_entry_t *last = (rsmapi_access_entry_t *)(void *)(pages + page_size()) - 1;
    *last = (rsmapi_access_entry_t){3, 0600};
    rsm_memseg_export_handle_t handle = publish_one(create_export());
    assert_int_equal(rsm_memseg_export_republish(handle, last, 1), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_export_republish(handle, last, 2), RSMERR_BAD_ADDR);
    /* Where the guarded read is forbidden the list is read plainly. */
    inject_vm_read.error = ENOSYS;
    fake.acl_count = 0;
    assert_int_equal(rsm_memseg_export_republish(handle, last, 1), RSM_SUCCESS);
    assert_int_equal(inject_vm_read.error, 0);
    assert_int_equal(fake.acl[0].node, 3);
    destroy_export(handle);
    assert_int_equal(munmap(pages, page_size()), 0);
}

TEST(unpublish_checks_in_the_documented_order)
{
    struct pollfd pollfd;
    rsm_memseg_export_handle_t handle = create_export();
    assert_int_equal(rsm_memseg_export_unpublish(NULL), RSMERR_BAD_SEG_HNDL);
    fake.created_by_other = true;
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSMERR_SEG_NOT_PUBLISHED);
    fake.created_by_other = false;
    publish_one(handle);
    assert_int_equal(rsm_memseg_get_pollfd(handle, &pollfd), RSM_SUCCESS);
    fake.created_by_other = true;
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSMERR_NOT_CREATOR);
    fake.created_by_other = false;
    fake.unpublish = RSM_ST_INTERRUPTED;
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSMERR_POLLFD_IN_USE);
    assert_int_equal(rsm_memseg_release_pollfd(handle), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSMERR_INTERRUPTED);
    fake.unpublish = RSM_ST_OK;
    fake.unpublish_flags = 99;
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSM_SUCCESS);
    assert_int_equal(fake.unpublish_flags, 0);
    assert_int_equal(rsm_memseg_export_unpublish(handle), RSMERR_SEG_NOT_PUBLISHED);
    publish_one(handle);
    destroy_export(handle);
}
