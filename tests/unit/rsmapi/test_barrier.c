/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance B-01 to B-22. */
#include "unit/rsmapi/rsmapi_test.h"

static rsmapi_barrier_t init(rsm_memseg_import_handle_t import)
{
    rsmapi_barrier_t barrier;
    memset(&barrier, 0xa5, sizeof barrier); /* init does not read the object */
    assert_int_equal(rsm_memseg_import_init_barrier(import, RSM_BARRIER_NODE, &barrier),
                     RSM_SUCCESS);
    return barrier;
}

static int put_one(rsm_memseg_import_handle_t import)
{
    uint8_t byte = 1;
    return rsm_memseg_import_put8(import, 0, &byte, 1);
}

TEST(init_checks_in_order_and_takes_any_type)
{
    static const int types[] = {RSM_BARRIER_SEGMENT,
                                RSM_BARRIER_NODE,
                                RSM_BARRIER_SEGMENT_THREAD,
                                RSM_BARRIER_NODE_THREAD,
                                RSM_BAR_DEFAULT,
                                0,
                                77};
    rsmapi_barrier_t barrier;
    rsm_memseg_export_handle_t other = create_export();
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    assert_int_equal(rsm_memseg_import_init_barrier(NULL, RSM_BARRIER_NODE, &barrier),
                     RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_init_barrier(NULL, RSM_BARRIER_NODE, NULL),
                     RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_init_barrier((void *)other, RSM_BARRIER_NODE, &barrier),
                     RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_init_barrier(import, RSM_BARRIER_NODE, NULL),
                     RSMERR_BAD_BARRIER_PTR);
    for (size_t i = 0; i < COUNT(types); i++)
        assert_int_equal(
            rsm_memseg_import_init_barrier(import, (rsm_barrier_type_t)types[i], &barrier),
            RSM_SUCCESS);
    disconnect_import(import);
    destroy_export(other);
}

TEST(null_and_uninitialised_barriers_are_refused)
{
    static int (*const functions[])(rsmapi_barrier_t *) = {
        rsm_memseg_import_open_barrier, rsm_memseg_import_order_barrier,
        rsm_memseg_import_close_barrier, rsm_memseg_import_destroy_barrier};
    rsm_memseg_export_handle_t other = create_export();
    rsmapi_barrier_t zero = {0};
    rsmapi_barrier_t strange = {.seg = other};
    for (size_t i = 0; i < COUNT(functions); i++) {
        assert_int_equal(functions[i](NULL), RSMERR_BAD_BARRIER_PTR);
        assert_int_equal(functions[i](&zero), RSMERR_BARRIER_UNINITIALIZED);
        assert_int_equal(functions[i](&strange), RSMERR_BARRIER_UNINITIALIZED);
    }
    destroy_export(other);
}

TEST(a_live_connection_passes_any_number_of_times)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t barrier = init(import);
    for (int mode = 0; mode < 2; mode++) {
        assert_int_equal(rsm_memseg_import_set_mode(import, (rsm_barrier_mode_t)mode), RSM_SUCCESS);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
            assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
            assert_int_equal(put_one(import), RSM_SUCCESS);
            assert_int_equal(rsm_memseg_import_order_barrier(&barrier), RSM_SUCCESS);
            assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
        }
    }
    assert_int_equal(fake.orders, 6);
    assert_int_equal(rsm_memseg_import_destroy_barrier(&barrier), RSM_SUCCESS);
    disconnect_import(import);
}

TEST(close_needs_an_opening_once_and_order_none)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t barrier = init(import);
    assert_int_equal(rsm_memseg_import_order_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_NOT_OPENED);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_init_barrier(import, RSM_BARRIER_NODE, &barrier),
                     RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_NOT_OPENED);
    disconnect_import(import);
}

TEST(after_an_abort_every_close_fails)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t barrier = init(import);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    fake_abort();
    fake.complete = RSM_ST_TRANSFER;
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_CONN_ABORTED);
    fake.complete = RSM_ST_OK;
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_order_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_CONN_ABORTED);
    disconnect_import(import);
}

TEST(failures_of_the_fabric_are_barrier_failures)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t barrier = init(import);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    fake.order = RSM_ST_TIMEOUT;
    assert_int_equal(rsm_memseg_import_order_barrier(&barrier), RSMERR_BARRIER_FAILURE);
    fake.order = RSM_ST_OK;
    /* What order found is not forgotten by close. */
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_FAILURE);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    fake.complete = RSM_ST_TRANSFER;
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_FAILURE);
    fake.complete = RSM_ST_OK;
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
    disconnect_import(import);
}

/* A transport tells of a failure once; every barrier that was open then must learn of it. */
TEST(no_open_barrier_misses_a_failure)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t first = init(import);
    rsmapi_barrier_t second = init(import);
    rsmapi_barrier_t later = init(import);
    assert_int_equal(rsm_memseg_import_open_barrier(&first), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_open_barrier(&second), RSM_SUCCESS);
    fake.complete = RSM_ST_TRANSFER;
    assert_int_equal(put_one(import), RSMERR_BARRIER_FAILURE); /* implicit mode asked first */
    fake.complete = RSM_ST_OK;
    assert_int_equal(rsm_memseg_import_open_barrier(&later), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&first), RSMERR_BARRIER_FAILURE);
    assert_int_equal(rsm_memseg_import_close_barrier(&second), RSMERR_BARRIER_FAILURE);
    assert_int_equal(rsm_memseg_import_close_barrier(&later), RSM_SUCCESS);
    disconnect_import(import);
}

TEST(implicit_access_needs_a_barrier_that_was_not_destroyed)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    assert_int_equal(put_one(import), RSMERR_BARRIER_UNINITIALIZED);
    rsmapi_barrier_t older = init(import);
    rsmapi_barrier_t newer = init(import);
    assert_int_equal(put_one(import), RSM_SUCCESS);
    /* Destroying either of them does it. */
    assert_int_equal(rsm_memseg_import_destroy_barrier(&older), RSM_SUCCESS);
    assert_int_equal(put_one(import), RSMERR_BARRIER_UNINITIALIZED);
    assert_int_equal(rsm_memseg_import_open_barrier(&newer), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&newer), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_destroy_barrier(&older), RSMERR_BARRIER_UNINITIALIZED);
    init(import); /* an object that is gone by the next line, as on a stack */
    assert_int_equal(put_one(import), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_destroy_barrier(&newer), RSM_SUCCESS);
    assert_int_equal(put_one(import), RSMERR_BARRIER_UNINITIALIZED);
    assert_int_equal(rsm_memseg_import_open_barrier(&newer), RSMERR_BARRIER_UNINITIALIZED);
    disconnect_import(import);
}

TEST(the_mode_belongs_to_the_handle)
{
    rsm_barrier_mode_t mode;
    rsm_memseg_export_handle_t other = create_export();
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsm_memseg_import_handle_t second = connect_import(RSM_PERM_RDWR);
    assert_int_equal(rsm_memseg_import_get_mode(import, &mode), RSM_SUCCESS);
    assert_int_equal(mode, RSM_BARRIER_MODE_IMPLICIT);
    assert_int_equal(rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_set_mode(import, (rsm_barrier_mode_t)7), RSMERR_BAD_MODE);
    assert_int_equal(rsm_memseg_import_get_mode(import, &mode), RSM_SUCCESS);
    assert_int_equal(mode, RSM_BARRIER_MODE_EXPLICIT);
    assert_int_equal(rsm_memseg_import_get_mode(second, &mode), RSM_SUCCESS);
    assert_int_equal(mode, RSM_BARRIER_MODE_IMPLICIT);

    assert_int_equal(rsm_memseg_import_set_mode(NULL, (rsm_barrier_mode_t)7), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_set_mode((void *)other, RSM_BARRIER_MODE_EXPLICIT),
                     RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_get_mode(NULL, &mode), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_get_mode(NULL, NULL), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(rsm_memseg_import_get_mode(import, NULL), RSMERR_BAD_ADDR);
    disconnect_import(import);
    disconnect_import(second);
    destroy_export(other);
}
