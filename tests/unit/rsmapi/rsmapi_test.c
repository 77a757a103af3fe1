/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/rsmapi/rsmapi_test.h"

#include "rsmapi/handle.h"

void check_order(const struct spoiler *spoilers, size_t count, void *call,
                 void (*prepare)(void *call), int (*perform)(void *call))
{
    for (unsigned set = 1; set < 1u << count; set++) {
        size_t first = (size_t)__builtin_ctz(set);
        prepare(call);
        /* The earliest last, so that where two spoil the same argument it is the one that shows. */
        for (size_t i = count; i-- > 0;)
            if ((set >> i & 1) != 0)
                spoilers[i].spoil(call);
        int error = perform(call);
        if (error != spoilers[first].error)
            fail_msg("set %#x, first \"%s\": %d, expected %d", set, spoilers[first].what, error,
                     spoilers[first].error);
    }
}

int set_up(void **state)
{
    fake_reset();
    return 0;
}

int tear_down(void **state)
{
    assert_int_equal(fake.controllers, 0);
    assert_int_equal(fake.exports, 0);
    assert_int_equal(fake.imports, 0);
    assert_int_equal(fake.registrations, 0);
    return 0;
}

rsmapi_controller_handle_t open_controller(const char *name)
{
    char copy[32];
    rsmapi_controller_handle_t controller;
    assert_true(strlen(name) < sizeof copy);
    strcpy(copy, name);
    assert_int_equal(rsm_get_controller(copy, &controller), RSM_SUCCESS);
    return controller;
}

void close_controller(rsmapi_controller_handle_t controller)
{
    assert_int_equal(rsm_release_controller(controller), RSM_SUCCESS);
}

size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *test_memory(void)
{
    static void *memory;
    if (memory == NULL)
        memory = aligned_alloc(page_size(), 16 * page_size());
    return memory;
}

rsm_memseg_import_handle_t connect_import(rsm_permission_t permission)
{
    rsm_memseg_import_handle_t import;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    assert_int_equal(rsm_memseg_import_connect(controller, 2, 0x400000, permission, &import),
                     RSM_SUCCESS);
    close_controller(controller);
    return import;
}

void disconnect_import(rsm_memseg_import_handle_t import)
{
    assert_int_equal(rsm_memseg_import_disconnect(import), RSM_SUCCESS);
}

rsm_memseg_export_handle_t create_export(void)
{
    rsm_memseg_export_handle_t made;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    assert_int_equal(
        rsm_memseg_export_create(controller, &made, test_memory(), page_size(), RSM_ALLOW_REBIND),
        RSM_SUCCESS);
    close_controller(controller);
    return made;
}

rsm_memseg_export_handle_t publish_one(rsm_memseg_export_handle_t handle)
{
    rsm_memseg_id_t id = 0x400000;
    assert_int_equal(rsm_memseg_export_publish(handle, &id, NULL, 0), RSM_SUCCESS);
    return handle;
}

void destroy_export(rsm_memseg_export_handle_t export_handle)
{
    assert_int_equal(rsm_memseg_export_destroy(export_handle), RSM_SUCCESS);
}

struct rsmcore_event *event_of(void *handle)
{
    return rsmapi_segment_of(handle)->event;
}
