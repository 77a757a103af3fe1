/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance E-01 to E-09, E-18 to E-24, E-27 to E-37. */
#include "unit/rsmapi/rsmapi_test.h"

struct create_call {
    rsmapi_controller_handle_t live;
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t made;
    rsm_memseg_export_handle_t *result;
    char *address;
    size_t size;
};

static void prepare_create(void *state)
{
    struct create_call *call = state;
    call->controller = call->live;
    call->made = (rsm_memseg_export_handle_t)0x1234;
    call->result = &call->made;
    call->address = test_memory();
    call->size = page_size();
    fake.create = RSM_ST_OK;
    inject_calloc.error = 0;
}

static int perform_create(void *state)
{
    struct create_call *call = state;
    int error =
        rsm_memseg_export_create(call->controller, call->result, call->address, call->size, 0);
    if (error != RSMERR_BAD_CTLR_HNDL && call->result != NULL)
        assert_null(call->made);
    return error;
}

SPOIL(struct create_call, no_controller, call->controller = NULL)
SPOIL(struct create_call, no_result, call->result = NULL)
SPOIL(struct create_call, no_address, call->address = NULL)
SPOIL(struct create_call, no_size, call->size = 0)
SPOIL(struct create_call, crooked_address, call->address += 16)
SPOIL(struct create_call, crooked_size, call->size += 1)
SPOIL(struct create_call, too_long, call->size += 8 * page_size())
SPOIL(struct create_call, no_memory, inject_calloc.error = ENOMEM)
SPOIL(struct create_call, denied, fake.create = RSM_ST_DENIED)

TEST(create_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL controller", no_controller, RSMERR_BAD_CTLR_HNDL},
        {"NULL result", no_result, RSMERR_BAD_SEG_HNDL},
        {"NULL address", no_address, RSMERR_BAD_ADDR},
        {"size 0", no_size, RSMERR_BAD_LENGTH},
        {"misaligned address", crooked_address, RSMERR_BAD_MEM_ALIGNMENT},
        {"misaligned size", crooked_size, RSMERR_BAD_MEM_ALIGNMENT},
        {"beyond the controller's limit", too_long, RSMERR_BAD_LENGTH},
        {"no memory", no_memory, RSMERR_INSUFFICIENT_MEM},
        {"refused by the core", denied, RSMERR_PERM_DENIED},
    };
    struct create_call call = {.live = open_controller("sci0")};
    check_order(spoilers, COUNT(spoilers), &call, prepare_create, perform_create);
    inject_calloc.error = 0;
    close_controller(call.live);
}

TEST(the_core_decides_about_memory)
{
    static const struct {
        enum rsm_status status;
        int error;
    } cases[] = {{RSM_ST_FAULT, RSMERR_BAD_ADDR},
                 {RSM_ST_DENIED, RSMERR_PERM_DENIED},
                 {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM},
                 {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
                 {RSM_ST_NO_CONTROLLER, RSMERR_CTLR_NOT_PRESENT},
                 {RSM_ST_STALE, RSMERR_CTLR_NOT_PRESENT},
                 {RSM_ST_INTERRUPTED, RSMERR_INTERRUPTED}};
    struct create_call call = {.live = open_controller("sci0")};
    for (size_t i = 0; i < COUNT(cases); i++) {
        prepare_create(&call);
        fake.create = cases[i].status;
        assert_int_equal(perform_create(&call), cases[i].error);
    }
    close_controller(call.live);
}

TEST(the_size_limit_is_exact_and_not_for_loopback)
{
    rsm_memseg_export_handle_t made;
    rsmapi_controller_handle_t loopback = open_controller("loopback");
    assert_int_equal(
        rsm_memseg_export_create(loopback, &made, test_memory(), 9 * page_size(), 0xfffffff0),
        RSM_SUCCESS);
    close_controller(loopback);
    destroy_export(made);
    rsmapi_controller_handle_t limited = open_controller("sci0");
    assert_int_equal(rsm_memseg_export_create(limited, &made, test_memory(), 8 * page_size(), 0),
                     RSM_SUCCESS);
    close_controller(limited);
    destroy_export(made);
}

static const mode_t masks[] = {022, 0, 077, 0777};

TEST(the_creation_mode_follows_the_umask)
{
    mode_t before = umask(0);
    for (size_t i = 0; i < COUNT(masks); i++) {
        umask(masks[i]);
        destroy_export(create_export());
        assert_int_equal(fake.mode, 0777 & ~masks[i]);
        assert_int_equal(umask(0), masks[i]);
    }
    umask(before);
}

static void *wait_for_end(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

/* Another thread could make a file while the mask is another. */
TEST(beside_other_threads_the_umask_is_left_alone)
{
    pthread_t thread;
    pthread_barrier_t end;
    pthread_barrier_init(&end, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &end), 0);
    mode_t before = umask(0);
    for (size_t i = 0; i < COUNT(masks); i++) {
        umask(masks[i]);
        umask_calls = 0;
        destroy_export(create_export());
        assert_int_equal(fake.mode, 0777 & ~masks[i]);
        assert_int_equal(umask_calls, 0); /* read without touching it */
        /* Without /proc the mask is asked of umask(2) and put back. */
        inject_open.error = ENOENT;
        destroy_export(create_export());
        assert_int_equal(fake.mode, 0777 & ~masks[i]);
        inject_fd_place.error = EMFILE;
        destroy_export(create_export());
        assert_int_equal(fake.mode, 0777 & ~masks[i]);
        assert_int_equal(umask(0), masks[i]);
    }
    umask(before);
    pthread_barrier_wait(&end);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&end);
}

TEST(destroy_waits_for_poll_descriptors)
{
    struct pollfd pollfd;
    rsm_memseg_export_handle_t made = publish_one(create_export());
    assert_int_equal(rsm_memseg_export_destroy(NULL), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_get_pollfd(made, &pollfd), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_export_destroy(made), RSMERR_POLLFD_IN_USE);
    assert_int_equal(fake.exports, 1);
    assert_int_equal(rsm_memseg_release_pollfd(made), RSM_SUCCESS);
    destroy_export(made);
}

TEST(an_import_is_no_export)
{
    rsm_memseg_id_t id = 0x400000;
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_READ);
    void *other = import;
    assert_int_equal(rsm_memseg_export_destroy(other), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_export_publish(other, &id, NULL, 0), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_export_republish(other, NULL, 0), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_export_unpublish(other), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_export_rebind(other, test_memory(), 0, page_size()),
                     RSMERR_BAD_SEG_HNDL);
    disconnect_import(import);
}

struct rebind_call {
    rsm_memseg_export_handle_t with_rebind, without;
    rsm_memseg_export_handle_t handle;
    char *address;
    size_t size;
};

static void prepare_rebind(void *state)
{
    struct rebind_call *call = state;
    call->handle = call->with_rebind;
    call->address = (char *)test_memory() + 2 * page_size();
    call->size = page_size();
    fake.created_by_other = false;
    fake.rebind = RSM_ST_OK;
}
static int perform_rebind(void *state)
{
    struct rebind_call *call = state;
    return rsm_memseg_export_rebind(call->handle, call->address, 12345, call->size);
}
SPOIL(struct rebind_call, rebind_null, call->handle = NULL)
SPOIL(struct rebind_call, rebind_no_address, call->address = NULL)
SPOIL(struct rebind_call, rebind_not_allowed, call->handle = call->without)
SPOIL(struct create_call, other_creator, fake.created_by_other = true)
SPOIL(struct rebind_call, rebind_wrong_size, call->size = 2 * page_size())
SPOIL(struct rebind_call, rebind_same_address, call->address = test_memory())
SPOIL(struct rebind_call, rebind_crooked_address, call->address += 8)
SPOIL(struct create_call, rebind_fault, fake.rebind = RSM_ST_FAULT)

TEST(rebind_checks_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL handle", rebind_null, RSMERR_BAD_SEG_HNDL},
        {"NULL address", rebind_no_address, RSMERR_BAD_ADDR},
        {"not allowed", rebind_not_allowed, RSMERR_REBIND_NOT_ALLOWED},
        {"not the creator", other_creator, RSMERR_NOT_CREATOR},
        {"another size", rebind_wrong_size, RSMERR_BAD_LENGTH},
        {"the same address", rebind_same_address, RSM_SUCCESS},
        {"misaligned address", rebind_crooked_address, RSMERR_BAD_ADDR},
        {"refused by the core", rebind_fault, RSMERR_BAD_ADDR},
    };
    struct rebind_call call = {.with_rebind = create_export()};
    rsmapi_controller_handle_t controller = open_controller("sci0");
    assert_int_equal(
        rsm_memseg_export_create(controller, &call.without, test_memory(), page_size(), 0),
        RSM_SUCCESS);
    close_controller(controller);
    check_order(spoilers, COUNT(spoilers), &call, prepare_rebind, perform_rebind);

    prepare_rebind(&call);
    assert_int_equal(perform_rebind(&call), RSM_SUCCESS);
    fake.rebind = RSM_ST_BUSY; /* it is the address now: the core is not asked */
    assert_int_equal(perform_rebind(&call), RSM_SUCCESS);
    call.address = test_memory();
    assert_int_equal(perform_rebind(&call), RSMERR_INSUFFICIENT_RESOURCES);
    destroy_export(call.with_rebind);
    destroy_export(call.without);
}
