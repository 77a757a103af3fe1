/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance G-01 to G-23. Every test runs over all ten functions. */
#include "rsmapi/handle.h"
#include "unit/rsmapi/rsmapi_test.h"

/* The ten functions behind one signature. */
#define UNIFORM(name, type)                                                                        \
    static int call_##name(rsm_memseg_import_handle_t handle, off_t offset, void *data,            \
                           size_t count)                                                           \
    {                                                                                              \
        return rsm_memseg_import_##name(handle, offset, (type *)data, count);                      \
    }
UNIFORM(get8, uint8_t)
UNIFORM(get16, uint16_t)
UNIFORM(get32, uint32_t)
UNIFORM(get64, uint64_t)
UNIFORM(get, void)
UNIFORM(put8, uint8_t)
UNIFORM(put16, uint16_t)
UNIFORM(put32, uint32_t)
UNIFORM(put64, uint64_t)
UNIFORM(put, void)

static const struct function {
    const char *name;
    int (*call)(rsm_memseg_import_handle_t handle, off_t offset, void *data, size_t count);
    unsigned width;
    bool put, block;
} functions[] = {
    {"get8", call_get8, 1, false, false},   {"get16", call_get16, 2, false, false},
    {"get32", call_get32, 4, false, false}, {"get64", call_get64, 8, false, false},
    {"get", call_get, 1, false, true},      {"put8", call_put8, 1, true, false},
    {"put16", call_put16, 2, true, false},  {"put32", call_put32, 4, true, false},
    {"put64", call_put64, 8, true, false},  {"put", call_put, 1, true, true},
};

#define EACH(function)                                                                             \
    for (const struct function *function = functions; function < functions + COUNT(functions);     \
         function++)

/* A call and what it can be spoiled with. */
struct call {
    const struct function *function;
    rsm_memseg_import_handle_t able, unable; /* with and without the right */
    rsm_memseg_export_handle_t other;
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barriers[2]; /* of able and unable */
    uint64_t buffer[8];
    char *data;
    off_t offset;
    size_t count;
};

static void prepare(void *state)
{
    struct call *call = state;
    call->handle = call->able;
    call->data = (char *)call->buffer;
    call->offset = 16;
    call->count = 2;
    fake.transfer = fake.complete = RSM_ST_OK;
    assert_int_equal(
        rsm_memseg_import_init_barrier(call->able, RSM_BARRIER_NODE, &call->barriers[0]),
        RSM_SUCCESS);
    assert_int_equal(
        rsm_memseg_import_init_barrier(call->unable, RSM_BARRIER_NODE, &call->barriers[1]),
        RSM_SUCCESS);
}

static int perform(void *state)
{
    struct call *call = state;
    return call->function->call(call->handle, call->offset, call->data, call->count);
}

static void make_call(struct call *call, const struct function *function)
{
    rsm_permission_t right = function->put ? RSM_PERM_WRITE : RSM_PERM_READ;
    memset(call, 0, sizeof *call);
    call->function = function;
    call->able = connect_import(right);
    call->unable = connect_import(RSM_PERM_RDWR & ~right);
    call->other = create_export();
    prepare(call);
}

static void end_call(struct call *call)
{
    disconnect_import(call->able);
    disconnect_import(call->unable);
    destroy_export(call->other);
}

SPOIL(struct call, no_handle, call->handle = NULL)
SPOIL(struct call, no_data, call->data = NULL)
SPOIL(struct call, crooked_data, call->data += 1)
SPOIL(struct call, crooked_offset, call->offset += 1)
SPOIL(struct call, other_handle, call->handle = (void *)call->other)
SPOIL(struct call, no_right, call->handle = call->unable)
SPOIL(struct call, beyond_end, call->offset = (off_t)fake_segment_length())
SPOIL(struct call, negative_offset, call->offset = -4096)
SPOIL(struct call, overflowing_count, call->count = SIZE_MAX)
static void no_barrier(void *call)
{
    rsmapi_barrier_t one;
    rsmapi_barrier_t two;
    struct call *spoiled = call;
    rsm_memseg_import_init_barrier(spoiled->able, RSM_BARRIER_NODE, &one);
    rsm_memseg_import_init_barrier(spoiled->unable, RSM_BARRIER_NODE, &two);
    rsm_memseg_import_destroy_barrier(&one);
    rsm_memseg_import_destroy_barrier(&two);
}
SPOIL(struct call, transfer_fails, fake.transfer = RSM_ST_NO_RESOURCES)
SPOIL(struct call, completion_fails, fake.complete = RSM_ST_TRANSFER)

TEST(errors_come_in_the_documented_order)
{
    static const struct spoiler spoilers[] = {
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"NULL data", no_data, RSMERR_BAD_ADDR},
        {"misaligned data", crooked_data, RSMERR_BAD_MEM_ALIGNMENT},
        {"misaligned offset", crooked_offset, RSMERR_BAD_MEM_ALIGNMENT},
        {"export handle", other_handle, RSMERR_BAD_SEG_HNDL},
        {"no right", no_right, RSMERR_PERM_DENIED},
        {"beyond the end", beyond_end, RSMERR_BAD_OFFSET},
        {"negative offset", negative_offset, RSMERR_BAD_OFFSET},
        {"overflow", overflowing_count, RSMERR_BAD_OFFSET},
        {"no barrier", no_barrier, RSMERR_BARRIER_UNINITIALIZED},
        {"transfer fails", transfer_fails, RSMERR_INSUFFICIENT_RESOURCES},
        {"completion fails", completion_fails, RSMERR_BARRIER_FAILURE},
    };
    /* Bytes and blocks have no alignment to violate. */
    static const struct spoiler unaligned[] = {
        {"NULL handle", no_handle, RSMERR_BAD_SEG_HNDL},
        {"NULL data", no_data, RSMERR_BAD_ADDR},
        {"export handle", other_handle, RSMERR_BAD_SEG_HNDL},
        {"no right", no_right, RSMERR_PERM_DENIED},
        {"beyond the end", beyond_end, RSMERR_BAD_OFFSET},
        {"overflow", overflowing_count, RSMERR_BAD_OFFSET},
        {"no barrier", no_barrier, RSMERR_BARRIER_UNINITIALIZED},
        {"transfer fails", transfer_fails, RSMERR_INSUFFICIENT_RESOURCES},
        {"completion fails", completion_fails, RSMERR_BARRIER_FAILURE},
    };
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        if (function->width > 1)
            check_order(spoilers, COUNT(spoilers), &call, prepare, perform);
        else
            check_order(unaligned, COUNT(unaligned), &call, prepare, perform);
        end_call(&call);
    }
}

TEST(data_moves_in_its_own_width)
{
    EACH(function)
    {
        struct call call;
        uint64_t pattern[2] = {0x0102030405060708, 0x1112131415161718};
        make_call(&call, function);
        memset(fake_segment, 0xee, fake_segment_length());
        memset(call.buffer, 0xdd, sizeof call.buffer);
        memcpy(function->put ? (void *)call.buffer : fake_segment + 16, pattern, sizeof pattern);
        assert_int_equal(perform(&call), RSM_SUCCESS);

        size_t bytes = 2 * function->width;
        const uint8_t *to = function->put ? fake_segment + 16 : (uint8_t *)call.buffer;
        uint8_t untouched = function->put ? 0xee : 0xdd;
        assert_memory_equal(to, pattern, bytes);
        assert_int_equal(to[bytes], untouched);
        if (function->put)
            assert_int_equal(fake_segment[15], 0xee);
        if (!function->block) {
            assert_int_equal(fake.width, function->width);
            assert_int_equal(fake.count, 2);
        }
        end_call(&call);
    }
    assert_int_equal(fake.puts, 1);
    assert_int_equal(fake.gets, 1);
    assert_int_equal(fake.element_puts, 4);
    assert_int_equal(fake.element_gets, 4);
    assert_int_equal(fake.completes, 10);
}

TEST(ranges_have_exact_bounds)
{
    off_t end = (off_t)fake_segment_length();
    EACH(function)
    {
        struct call call;
        off_t width = (off_t)function->width;
        make_call(&call, function);
        const struct {
            off_t offset;
            size_t count;
            int error;
        } cases[] = {
            {end - width, 1, RSM_SUCCESS},
            {end - width, 2, RSMERR_BAD_OFFSET},
            {end, 0, RSM_SUCCESS},
            {end, 1, RSMERR_BAD_OFFSET},
            {end + width, 0, RSMERR_BAD_OFFSET},
            {-width, 1, RSMERR_BAD_OFFSET},
            {-width, 0, RSMERR_BAD_OFFSET},
            {0, SIZE_MAX, RSMERR_BAD_OFFSET},
            {width, function->width > 1 ? SIZE_MAX / function->width + 1 : SIZE_MAX,
             RSMERR_BAD_OFFSET},
            {width, SIZE_MAX / function->width, RSMERR_BAD_OFFSET},
            {0, 0, RSM_SUCCESS},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
            prepare(&call);
            call.offset = cases[i].offset;
            call.count = cases[i].count;
            int error = perform(&call);
            if (error != cases[i].error)
                fail_msg("%s, case %zu: %d", function->name, i, error);
        }
        end_call(&call);
    }
}

TEST(count_0_still_needs_a_data_pointer)
{
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        call.count = 0;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        call.data = NULL;
        assert_int_equal(perform(&call), RSMERR_BAD_ADDR);
        end_call(&call);
    }
    assert_int_equal(fake.puts + fake.gets + fake.element_puts + fake.element_gets, 0);
}

TEST(explicit_mode_needs_no_barrier_and_completes_nothing)
{
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        no_barrier(&call);
        assert_int_equal(perform(&call), RSMERR_BARRIER_UNINITIALIZED);
        assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_EXPLICIT),
                         RSM_SUCCESS);
        fake.complete = RSM_ST_TRANSFER;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(fake.completes, 0);
        end_call(&call);
    }
}

TEST(a_mapping_narrows_the_window)
{
    off_t page = (off_t)page_size();
    EACH(function)
    {
        struct call call;
        void *address = NULL;
        size_t length = page_size() + 64; /* not a page multiple: the exact length counts */
        off_t end = page + (off_t)length;
        off_t width = (off_t)function->width;
        make_call(&call, function);
        rsm_permission_t right = function->put ? RSM_PERM_WRITE : RSM_PERM_READ;
        assert_int_equal(
            rsm_memseg_import_map(call.able, &address, RSM_MAP_NONE, right, page, length),
            RSM_SUCCESS);
        const struct {
            off_t offset;
            int error;
        } cases[] = {{page, RSM_SUCCESS},
                     {end - 2 * width, RSM_SUCCESS},
                     {end - width, RSMERR_BAD_OFFSET},
                     {end, RSMERR_BAD_OFFSET},
                     {page - width, RSMERR_BAD_OFFSET},
                     {0, RSMERR_BAD_OFFSET}};
        for (size_t i = 0; i < COUNT(cases); i++) {
            call.offset = cases[i].offset;
            assert_int_equal(perform(&call), cases[i].error);
        }
        assert_int_equal(rsm_memseg_import_unmap(call.able), RSM_SUCCESS);
        call.offset = 0;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        call.offset = end;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        /* The transfer has not used up the one mapping. */
        assert_int_equal(rsm_memseg_import_map(call.able, &address, RSM_MAP_NONE, right, 0, 1),
                         RSM_SUCCESS);
        assert_int_equal(rsm_memseg_import_unmap(call.able), RSM_SUCCESS);
        end_call(&call);
    }
}

TEST(a_mapping_narrows_the_rights)
{
    static const struct {
        rsm_permission_t perm;
        int get_error, put_error;
    } cases[] = {
        {RSM_PERM_RDWR, RSM_SUCCESS, RSM_SUCCESS},
        {RSM_PERM_READ, RSM_SUCCESS, RSMERR_PERM_DENIED},
        {RSM_PERM_WRITE, RSM_SUCCESS, RSM_SUCCESS},
        {0, RSMERR_PERM_DENIED, RSMERR_PERM_DENIED},
    };
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_RDWR);
    assert_int_equal(rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT), RSM_SUCCESS);
    EACH(function)
    {
        uint64_t buffer[2] = {0, 0};
        for (size_t i = 0; i < COUNT(cases); i++) {
            void *address = NULL;
            assert_int_equal(
                rsm_memseg_import_map(import, &address, RSM_MAP_NONE, cases[i].perm, 0, 64),
                RSM_SUCCESS);
            assert_int_equal(function->call(import, 0, buffer, 1),
                             function->put ? cases[i].put_error : cases[i].get_error);
            assert_int_equal(rsm_memseg_import_unmap(import), RSM_SUCCESS);
            assert_int_equal(function->call(import, 0, buffer, 1), RSM_SUCCESS);
        }
    }
    disconnect_import(import);
}

/* Every combination of mapped or not, implicit or explicit, good call or bad one. */
TEST(an_aborted_connection_is_reported_as_the_states_demand)
{
    EACH(function)
    {
        for (int mapped = 0; mapped < 2; mapped++) {
            struct call call;
            void *address = NULL;
            rsm_permission_t right = function->put ? RSM_PERM_WRITE : RSM_PERM_READ;
            make_call(&call, function);
            if (mapped)
                assert_int_equal(
                    rsm_memseg_import_map(call.able, &address, RSM_MAP_NONE, right, 0, 64),
                    RSM_SUCCESS);
            assert_int_equal(perform(&call), RSM_SUCCESS);
            fake_abort();
            assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
            no_barrier(&call);
            assert_int_equal(perform(&call),
                             mapped ? RSMERR_BARRIER_UNINITIALIZED : RSMERR_CONN_ABORTED);
            assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_EXPLICIT),
                             RSM_SUCCESS);
            assert_int_equal(perform(&call), mapped ? RSM_SUCCESS : RSMERR_CONN_ABORTED);
            beyond_end(&call);
            assert_int_equal(perform(&call), mapped ? RSMERR_BAD_OFFSET : RSMERR_CONN_ABORTED);
            /* A fabric that fails the transfer for that reason does not hide the reason. */
            prepare(&call);
            fake.transfer = RSM_ST_TRANSFER;
            assert_int_equal(perform(&call), RSMERR_CONN_ABORTED);
            if (mapped)
                assert_int_equal(rsm_memseg_import_unmap(call.able), RSM_SUCCESS);
            end_call(&call);
        }
    }
}

TEST(failures_of_transfer_and_completion_are_translated)
{
    static const struct {
        enum rsm_status status;
        int transfer_error, complete_error;
    } cases[] = {
        {RSM_ST_TRANSFER, RSMERR_BARRIER_FAILURE, RSMERR_BARRIER_FAILURE},
        {RSM_ST_TIMEOUT, RSMERR_BARRIER_FAILURE, RSMERR_BARRIER_FAILURE},
        {RSM_ST_UNREACHABLE, RSMERR_CONN_ABORTED, RSMERR_BARRIER_FAILURE},
        {RSM_ST_ABORTED, RSMERR_CONN_ABORTED, RSMERR_CONN_ABORTED},
        {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM, RSMERR_BARRIER_FAILURE},
        {RSM_ST_INTERRUPTED, RSMERR_INTERRUPTED, RSMERR_BARRIER_FAILURE},
    };
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        for (size_t i = 0; i < 2 * COUNT(cases); i++) {
            const size_t which = i / 2;
            prepare(&call);
            call.able->core->reports_health = i % 2 == 0; /* two ways */
            fake.transfer = cases[which].status;
            assert_int_equal(perform(&call), cases[which].transfer_error);
            fake.transfer = RSM_ST_OK;
            fake.complete = cases[which].status;
            assert_int_equal(perform(&call), cases[which].complete_error);
        }
        end_call(&call);
    }
}

/* In implicit mode an access is a barrier of its own: the error may be that of this access. */
TEST(an_error_that_another_thread_is_told_of_counts)
{
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        fake.failing = call.able->core;
        assert_int_equal(perform(&call), RSMERR_BARRIER_FAILURE);
        fake.failing = NULL;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        end_call(&call);
    }
}

/* In implicit mode a put of a block is one call of a transport that has one for it. */
TEST(a_put_is_one_call_where_it_can_be)
{
    fake_puts_in_one(true);
    EACH(function)
    {
        struct call call;
        make_call(&call, function);
        fake.in_one = 0;
        unsigned blocks = fake.puts;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(fake.in_one, fake.puts - blocks);
        assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_EXPLICIT),
                         RSM_SUCCESS);
        fake.in_one = 0;
        assert_int_equal(perform(&call), RSM_SUCCESS);
        assert_int_equal(fake.in_one, 0);
        assert_int_equal(rsm_memseg_import_set_mode(call.able, RSM_BARRIER_MODE_IMPLICIT),
                         RSM_SUCCESS);
        fake.failing = call.able->core;
        assert_int_equal(perform(&call), RSMERR_BARRIER_FAILURE);
        fake.failing = NULL;
        fake.transfer = RSM_ST_TIMEOUT;
        assert_int_equal(perform(&call), RSMERR_BARRIER_FAILURE);
        fake.transfer = RSM_ST_OK;
        end_call(&call);
    }
    fake_puts_in_one(false);
}
