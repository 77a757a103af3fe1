/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance V-01 to V-19. */
#include "unit/rsmapi/rsmapi_test.h"

struct call {
    bool put;
    rsm_memseg_import_handle_t able, unable;
    rsm_memseg_export_handle_t other;
    rsmapi_controller_handle_t controller;
    rsm_localmemory_handle_t memory;
    char buffer[64];
    rsm_iovec_t iovec[RSM_MAX_SGIOREQS + 1];
    rsm_scat_gath_t request;
    rsm_scat_gath_t *pointer;
};

enum { UNTOUCHED = 99 };

/* Three entries: the first and last by address, the middle one by handle, at "ab", "cd", "ef". */
static void prepare(void *state)
{
    struct call *call = state;
    for (size_t i = 0; i < 3; i++)
        call->iovec[i] = (rsm_iovec_t){.io_type = RSM_VA_TYPE,
                                       .local.vaddr = call->buffer,
                                       .local_offset = 2 * i,
                                       .remote_offset = 100 * (3 - i),
                                       .transfer_length = 2};
    call->iovec[1].io_type = RSM_HANDLE_TYPE;
    call->iovec[1].local.handle = call->memory;
    call->request = (rsm_scat_gath_t){.local_nodeid = 4711,
                                      .io_request_count = 3,
                                      .io_residual_count = UNTOUCHED,
                                      .remote_handle = call->able,
                                      .iovec = call->iovec};
    call->pointer = &call->request;
    fake.transfer = fake.complete = fake.order = fake.post = RSM_ST_OK;
    fake.vector_done = 0;
}

static int perform(void *state)
{
    struct call *call = state;
    rsm_scat_gath_t before = call->request;
    int error =
        call->put ? rsm_memseg_import_putv(call->pointer) : rsm_memseg_import_getv(call->pointer);
    before.io_residual_count = call->request.io_residual_count;
    assert_memory_equal(&call->request, &before, sizeof before);
    return error;
}

static void make_call(struct call *call, bool put)
{
    rsm_permission_t right = put ? RSM_PERM_WRITE : RSM_PERM_READ;
    memset(call, 0, sizeof *call);
    call->put = put;
    call->able = connect_import(right);
    call->unable = connect_import(RSM_PERM_RDWR & ~right);
    call->other = create_export();
    call->controller = open_controller("sci0");
    assert_int_equal(
        rsm_create_localmemory_handle(call->controller, &call->memory, test_memory(), 100),
        RSM_SUCCESS);
    prepare(call);
}

static void end_call(struct call *call)
{
    assert_int_equal(rsm_free_localmemory_handle(call->controller, call->memory), RSM_SUCCESS);
    close_controller(call->controller);
    disconnect_import(call->able);
    disconnect_import(call->unable);
    destroy_export(call->other);
}

SPOIL(struct call, no_request, call->pointer = NULL)
SPOIL(struct call, no_handle, call->request.remote_handle = NULL)
SPOIL(struct call, export_handle, call->request.remote_handle = (void *)call->other)
SPOIL(struct call, count_0, call->request.io_request_count = 0)
SPOIL(struct call, count_17, call->request.io_request_count = 17)
SPOIL(struct call, no_iovec, call->request.iovec = NULL)
SPOIL(struct call, unknown_type, call->iovec[2].io_type = 3)
SPOIL(struct call, null_local_handle, call->iovec[1].local.handle = NULL)
SPOIL(struct call, strange_local_handle, call->iovec[1].local.handle = (void *)call->other)
SPOIL(struct call, no_right, call->request.remote_handle = call->unable)
SPOIL(struct call, no_address, call->iovec[0].local.vaddr = NULL)
SPOIL(struct call, bad_range, call->iovec[0].remote_offset = fake_segment_length())
SPOIL(struct call, transfer_fails, fake.transfer = RSM_ST_NO_RESOURCES)
SPOIL(struct call, completion_fails, fake.complete = RSM_ST_TRANSFER)

TEST(errors_come_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL request", no_request, RSMERR_BAD_SGIO},
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"export handle", export_handle, RSMERR_BAD_SEG_HNDL},
        {"no entries", count_0, RSMERR_BAD_SGIO},
        {"17 entries", count_17, RSMERR_BAD_SGIO},
        {"NULL iovec", no_iovec, RSMERR_BAD_SGIO},
        {"unknown type", unknown_type, RSMERR_BAD_SGIO},
        {"NULL local handle", null_local_handle, RSMERR_BAD_SGIO},
        {"strange local handle", strange_local_handle, RSMERR_BAD_SGIO},
        {"no right", no_right, RSMERR_PERM_DENIED},
        {"NULL address", no_address, RSMERR_BAD_ADDR},
        {"bad range", bad_range, RSMERR_BAD_OFFSET},
        {"transfer fails", transfer_fails, RSMERR_INSUFFICIENT_RESOURCES},
        {"completion fails", completion_fails, RSMERR_BARRIER_FAILURE},
    };
    for (int put = 0; put < 2; put++) {
        struct call call;
        make_call(&call, put);
        check_order(spoilers, COUNT(spoilers), &call, prepare, perform);
        for (size_t i = 0; i < COUNT(spoilers); i++) {
            prepare(&call);
            spoilers[i].spoil(&call);
            call.request.flags = RSM_IMPLICIT_SIGPOST;
            assert_int_equal(perform(&call), spoilers[i].error);
            /* Checks leave the residual count alone; from the range on it is the transfer. */
            assert_int_equal(call.request.io_residual_count, i < 11 ? UNTOUCHED : 3);
        }
        assert_int_equal(fake.posts, 0);
        end_call(&call);
    }
}

TEST(data_is_gathered_and_scattered)
{
    struct call call;
    make_call(&call, true);
    memcpy(call.buffer, "ab??ef", 6);
    memcpy(test_memory(), "??cd", 4);
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(call.request.io_residual_count, 0);
    assert_memory_equal(fake_segment + 300, "ab\0", 3);
    assert_memory_equal(fake_segment + 200, "cd\0", 3);
    assert_memory_equal(fake_segment + 100, "ef\0", 3);
    end_call(&call);

    make_call(&call, false);
    memset(test_memory(), 0, 8);
    call.request.io_residual_count = UNTOUCHED;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(call.request.io_residual_count, 0);
    assert_memory_equal(call.buffer, "ab\0\0ef\0", 7);
    assert_memory_equal(test_memory(), "\0\0cd\0", 5);
    end_call(&call);
}

TEST(one_and_sixteen_entries_and_length_0_are_fine)
{
    for (int put = 0; put < 2; put++) {
        struct call call;
        make_call(&call, put);
        for (size_t i = 0; i < RSM_MAX_SGIOREQS; i++)
            call.iovec[i] = call.iovec[0];
        call.request.io_request_count = 1;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        call.request.io_request_count = RSM_MAX_SGIOREQS;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        call.iovec[5].transfer_length = 0;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(call.request.io_residual_count, 0);
        end_call(&call);
    }
}

TEST(the_first_failing_entry_stops)
{
    struct call call;
    make_call(&call, true);
    memcpy(call.buffer, "abcdef", 6);
    call.iovec[1].remote_offset = fake_segment_length() - 1;
    assert_int_equal(perform(&call), RSMERR_BAD_OFFSET);
    assert_int_equal(call.request.io_residual_count, 2);
    assert_memory_equal(fake_segment + 300, "ab", 2);
    assert_memory_equal(fake_segment + 100, "\0\0", 2);

    /* A barrier that is open learns of a failure of the fabric, not of a bad range. */
    rsmapi_barrier_t barrier;
    assert_int_equal(rsm_memseg_import_init_barrier(call.able, RSM_BARRIER_NODE, &barrier),
                     RSM_SUCCESS);
    assert_int_equal(rsm_memseg_import_open_barrier(&barrier), RSM_SUCCESS);
    assert_int_equal(perform(&call), RSMERR_BAD_OFFSET);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSM_SUCCESS);
    prepare(&call);
    fake.transfer = RSM_ST_TRANSFER;
    fake.vector_done = 2;
    assert_int_equal(perform(&call), RSMERR_BARRIER_FAILURE);
    assert_int_equal(call.request.io_residual_count, 1);
    assert_int_equal(rsm_memseg_import_close_barrier(&barrier), RSMERR_BARRIER_FAILURE);
    end_call(&call);
}

TEST(offsets_are_of_the_segment_whatever_is_mapped)
{
    struct call call;
    void *address = NULL;
    make_call(&call, true);
    memcpy(call.buffer, "xy", 2);
    call.request.io_request_count = 1;
    assert_int_equal(rsm_memseg_import_map(call.able, &address, RSM_MAP_NONE, RSM_PERM_WRITE,
                                           (off_t)page_size(), page_size()),
                     RSM_SUCCESS);
    call.iovec[0].remote_offset = page_size() + 7;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_memory_equal(fake_segment + page_size() + 7, "xy", 2);
    call.iovec[0].remote_offset = 3;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_memory_equal(fake_segment + 3, "xy", 2);
    assert_int_equal(rsm_memseg_import_unmap(call.able), RSM_SUCCESS);
    end_call(&call);
}

TEST(modes_decide_about_completion_and_abort)
{
    for (int put = 0; put < 2; put++) {
        struct call call;
        void *address = NULL;
        make_call(&call, put);
        fake.completes = 0;
        assert_int_equal(perform(&call), RSM_SUCCESS); /* implicit, with no barrier in sight */
        assert_int_equal(fake.completes, 1);
        assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_EXPLICIT),
                         RSM_SUCCESS);
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(fake.completes, 1);

        rsm_permission_t right = put ? RSM_PERM_WRITE : RSM_PERM_READ;
        assert_int_equal(rsm_memseg_import_map(call.able, &address, RSM_MAP_NONE, right, 0, 1),
                         RSM_SUCCESS);
        fake_abort();
        assert_int_equal(perform(&call), RSM_SUCCESS);
        fake.transfer = RSM_ST_TRANSFER;
        assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
        fake.transfer = RSM_ST_OK;
        assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_IMPLICIT),
                         RSM_SUCCESS);
        assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
        assert_int_equal(call.request.io_residual_count, 3);
        assert_int_equal(rsm_memseg_import_unmap(call.able), RSM_SUCCESS);
        prepare(&call);
        assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
        assert_int_equal(call.request.io_residual_count, UNTOUCHED);
        end_call(&call);
    }
}

TEST(success_posts_once_behind_the_data)
{
    struct call call;
    make_call(&call, true);
    call.request.flags = RSM_IMPLICIT_SIGPOST;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(fake.posts, 1);
    assert_int_equal(fake.coalesced, 0);
    assert_int_equal(fake.orders, 1);
    call.request.flags |= RSM_SIGPOST_NO_ACCUMULATE;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(fake.posts, 2);
    assert_int_equal(fake.coalesced, 1);
    call.request.flags = RSM_SIGPOST_NO_ACCUMULATE;
    assert_int_equal(perform(&call), RSM_SUCCESS);
    assert_int_equal(fake.posts, 2);

    call.request.flags = RSM_IMPLICIT_SIGPOST;
    fake.order = RSM_ST_TRANSFER;
    assert_int_equal(perform(&call), RSMERR_BARRIER_FAILURE);
    assert_int_equal(fake.posts, 2);
    fake.order = RSM_ST_OK;
    fake.post = RSM_ST_UNREACHABLE;
    assert_int_equal(perform(&call), RSMERR_REMOTE_NODE_UNREACHABLE);
    assert_int_equal(call.request.io_residual_count, 0);
    end_call(&call);
}
