/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance N-01, N-05 to N-11, N-16 to N-18 as far as they are the face's. */
#include "unit/rsmapi/rsmapi_test.h"

TEST(both_kinds_of_handle_and_no_other)
{
    struct pollfd pollfd = {.fd = -7};
    rsmapi_controller_handle_t controller = open_controller("sci0");
    void *others[] = {NULL, controller};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(rsm_intr_signal_post(others[i], 0), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_intr_signal_wait(others[i], 0), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_memseg_get_pollfd(others[i], &pollfd), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_memseg_get_pollfd(others[i], NULL), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_memseg_release_pollfd(others[i]), RSMERR_BAD_SEG_HNDL);
    }
    assert_int_equal(pollfd.fd, -7);
    close_controller(controller);

    rsm_memseg_export_handle_t export_handle = create_export();
    rsm_memseg_import_handle_t import = connect_import(0);
    void *segments[] = {export_handle, import};
    for (size_t i = 0; i < COUNT(segments); i++) {
        assert_int_equal(rsm_intr_signal_post(segments[i], 0), RSM_SUCCESS);
        fake_raise(event_of(segments[i]));
        assert_int_equal(rsm_intr_signal_wait(segments[i], 0), RSM_SUCCESS);
    }
    disconnect_import(import);
    destroy_export(export_handle);
}

TEST(one_flag_counts)
{
    rsm_memseg_import_handle_t import = connect_import(0);
    assert_int_equal(rsm_intr_signal_post(import, 0xfffffffd), RSM_SUCCESS);
    assert_int_equal(fake.coalesced, 0);
    assert_int_equal(rsm_intr_signal_post(import, RSM_SIGPOST_NO_ACCUMULATE), RSM_SUCCESS);
    assert_int_equal(fake.coalesced, 1);
    assert_int_equal(fake.posts, 2);
    disconnect_import(import);
}

/* Whoever posts learns that an event may not have arrived, through either kind of handle; that
 * nobody is there to get it is no error. */
TEST(failures_to_post_are_translated)
{
    static const struct {
        enum rsm_status status;
        int error;
    } cases[] = {
        {RSM_ST_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE},
        {RSM_ST_STALE, RSMERR_REMOTE_NODE_UNREACHABLE},
        {RSM_ST_TIMEOUT, RSMERR_REMOTE_NODE_UNREACHABLE},
        {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
        {RSM_ST_TRANSFER, RSMERR_CONN_ABORTED},
        {RSM_ST_NOT_FOUND, RSM_SUCCESS},
        {RSM_ST_NOT_PUBLISHED, RSM_SUCCESS},
        {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM},
        {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
    };
    rsm_memseg_export_handle_t export_handle = create_export();
    rsm_memseg_import_handle_t import = connect_import(0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        fake.post = cases[i].status;
        assert_int_equal(rsm_intr_signal_post(import, 0), cases[i].error);
        assert_int_equal(rsm_intr_signal_post(export_handle, 0), cases[i].error);
    }
    disconnect_import(import);
    destroy_export(export_handle);
}

/* A post looks whether the data before it has arrived; what it finds belongs to the barriers, too.
 */
TEST(no_barrier_misses_what_a_post_found)
{
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    rsmapi_barrier_t barrier;
    assert_int_equal(rsm_memseg_import_init_barrier(import, RSM_BARRIER_SEGMENT, &barrier),
                     RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(rsm_intr_signal_post(import, 0), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
    fake.earlier = RSM_ST_TRANSFER;
    assert_int_equal(rsm_intr_signal_post(import, 0), RSMERR_CONN_ABORTED);
    assert_int_equal(fake.posts, 1);
    fake.earlier = RSM_ST_OK;
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_FAILURE);
    disconnect_import(import);
}

TEST(waits_are_translated)
{
    static const struct {
        enum rsm_status status;
        int error;
    } cases[] = {{RSM_ST_TIMEOUT, RSMERR_TIMEOUT},
                 {RSM_ST_INTERRUPTED, RSMERR_INTERRUPTED},
                 {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
                 {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_RESOURCES},
                 {RSM_ST_STALE, RSMERR_BAD_SEG_HNDL},
                 {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
                 {RSM_ST_INVALID, RSMERR_BAD_ARGS_ERRORS}};
    rsm_memseg_import_handle_t import = connect_import(0);
    for (int i = 0; i < 3; i++)
        fake_raise(event_of(import));
    for (int i = 0; i < 3; i++)
        assert_int_equal(rsm_intr_signal_wait(import, -1), RSM_SUCCESS);
    assert_int_equal(rsm_intr_signal_wait(import, 0), RSMERR_TIMEOUT);
    assert_int_equal(rsm_intr_signal_wait(import, 5), RSMERR_TIMEOUT);
    for (size_t i = 0; i < COUNT(cases); i++) {
        fake.wait = cases[i].status;
        assert_int_equal(rsm_intr_signal_wait(import, 0), cases[i].error);
    }
    disconnect_import(import);
}
