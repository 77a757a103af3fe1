/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance L-01 to L-07. */
#include "unit/rsmapi/rsmapi_test.h"

struct call {
    rsmapi_controller_handle_t live, controller;
    rsm_localmemory_handle_t made;
    rsm_localmemory_handle_t *result;
    char *address;
    size_t length;
};

static void prepare(void *state)
{
    struct call *call = state;
    call->controller = call->live;
    call->made = (rsm_localmemory_handle_t)0x1234;
    call->result = &call->made;
    call->address = test_memory();
    call->length = page_size() + 1;
    inject_calloc.error = 0;
    fake.registration = RSM_ST_OK;
}

static int perform(void *state)
{
    struct call *call = state;
    int error =
        rsm_create_localmemory_handle(call->controller, call->result, call->address, call->length);
    if (error != RSM_SUCCESS)
        assert_ptr_equal(call->made, (rsm_localmemory_handle_t)0x1234);
    return error;
}

SPOIL(struct call, crooked_address, call->address = (char *)test_memory() + 1)
SPOIL(struct call, no_controller, call->controller = NULL)
SPOIL(struct call, no_result, call->result = NULL)
SPOIL(struct call, no_length, call->length = 0)
static void no_address(void *call)
{
    if (((struct call *)call)->address == test_memory())
        ((struct call *)call)->address = NULL;
}
SPOIL(struct call, no_memory, inject_calloc.error = ENOMEM)
SPOIL(struct call, refused, fake.registration = RSM_ST_FAULT)

TEST(create_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"misaligned address", crooked_address, RSMERR_BAD_ADDR},
        {"NULL controller", no_controller, RSMERR_BAD_CTLR_HNDL},
        {"NULL result", no_result, RSMERR_BAD_LOCALMEM_HNDL},
        {"length 0", no_length, RSMERR_BAD_LENGTH},
        {"NULL address", no_address, RSMERR_BAD_ADDR},
        {"no memory", no_memory, RSMERR_INSUFFICIENT_MEM},
        {"refused by the core", refused, RSMERR_BAD_ADDR},
    };
    struct call call = {.live = open_controller("sci0")};
    check_order(spoilers, COUNT(spoilers), &call, prepare, perform);
    close_controller(call.live);
}

TEST(free_checks_in_the_documented_order)
{
    struct call call = {.live = open_controller("sci0")};
    rsm_memseg_export_handle_t other = create_export();
    prepare(&call);
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(rsm_free_localmemory_handle(NULL, NULL), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_free_localmemory_handle(NULL, call.made), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_free_localmemory_handle((void *)other, call.made), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_free_localmemory_handle(call.live, NULL), RSMERR_BAD_LOCALMEM_HNDL);
    assert_int_equal(rsm_free_localmemory_handle(call.live, (void *)other),
                     RSMERR_BAD_LOCALMEM_HNDL);
    assert_int_equal(fake.registrations, 1);
    assert_int_equal(rsm_free_localmemory_handle(call.live, call.made), RSM_SUCCESS);
    destroy_export(other);
    close_controller(call.live);
}

TEST(several_handles_over_the_same_memory_are_independent)
{
    struct call first = {.live = open_controller("sci0")};
    struct call second = {.live = first.live};
    memset(test_memory(), 0x5a, page_size());
    prepare(&first);
    prepare(&second);
    assert_int_equal(perform(&first), RSM_SUCCESS);
    assert_int_equal(perform(&second), RSM_SUCCESS);
    assert_ptr_not_equal(first.made, second.made);
    assert_int_equal(rsm_free_localmemory_handle(first.live, first.made), RSM_SUCCESS);
    assert_int_equal(fake.registrations, 1);
    assert_int_equal(rsm_free_localmemory_handle(first.live, second.made), RSM_SUCCESS);
    assert_int_equal(*(unsigned char *)test_memory(), 0x5a);
    close_controller(first.live);
}

TEST(a_handle_outlives_the_release_of_its_controller)
{
    struct call call = {.live = open_controller("sci0")};
    prepare(&call);
    assert_int_equal(perform(&call), RSM_SUCCESS);
    close_controller(call.live);
    assert_int_equal(fake.controllers, 1);
    rsmapi_controller_handle_t again = open_controller("sci0");
    assert_int_equal(fake.controllers, 2);
    assert_int_equal(rsm_free_localmemory_handle(again, call.made), RSM_SUCCESS);
    assert_int_equal(fake.controllers, 1);
    close_controller(again);
}
