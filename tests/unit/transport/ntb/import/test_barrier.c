/* SPDX-License-Identifier: BSD-3-Clause */
/* What a barrier says of each thing that can be wrong with a link; and the copies. */
#include <stdlib.h>
#include <string.h>

#include "base/fence.h"
#include "cmocka_all.h"
#include "transport/ntb/import/barrier.h"
#include "transport/ntb/import/copy.h"

#define CANARY UINT64_C(0x1234567800000007)

static struct ntb_status status;
static uint64_t canary;
static struct ntb_barrier barrier;
static struct rsm_conn conn;

static int begin(void **state)
{
    (void)state;
    status = (struct ntb_status){
        .abi = NTB_STATUS_ABI, .import_epoch = 3, .epoch = 3, .err_seq = 5, .canary = CANARY};
    canary = CANARY;
    conn.failures = 0;
    ntb_barrier_begin(&barrier, &status, &canary);
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    return 0;
}

static void dead_for_good(void)
{
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_ABORTED);
    assert_false(ntb_barrier_alive(&barrier));
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_ABORTED);
}

static void errors_are_counted_and_stay(void **state)
{
    (void)state;
    for (uint32_t errors = 2; errors < 6; errors += 2) {
        status.err_seq += 2;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
            assert_int_equal(rsm_conn_failures(&conn), errors);
        }
        assert_true(ntb_barrier_alive(&barrier)); /* retriable */
    }
}

/* A thread that comes late with an older count takes nothing back. */
static void the_greatest_count_stays(void **state)
{
    (void)state;
    status.err_seq += 3;
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    status.err_seq -= 2;
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    assert_int_equal(rsm_conn_failures(&conn), 3);
}

static void all_ones_are_no_success(void **state)
{
    (void)state;
    canary = UINT64_MAX;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_TRANSFER);
    assert_true(ntb_barrier_alive(&barrier));
    canary = CANARY; /* the link was retrained before anybody took it for dead */
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    canary = UINT64_MAX;
    status.epoch = 0; /* it was taken for dead */
    dead_for_good();
}

static void another_session_there(void **state)
{
    (void)state;
    canary = CANARY + 1; /* and this host does not know yet */
    dead_for_good();
    canary = CANARY; /* what looks right later does not count */
    dead_for_good();
}

static void no_session_there(void **state)
{
    (void)state;
    canary = 0;
    dead_for_good();
}

static void another_epoch_here(void **state)
{
    (void)state;
    status.epoch = 4;
    dead_for_good();
}

static void revoked(void **state)
{
    (void)state;
    status.revoked = 1;
    dead_for_good();
}

static void memory_of_this_host_does_not_fail(void **state)
{
    (void)state;
    ntb_barrier_begin(&barrier, NULL, NULL);
    assert_true(ntb_barrier_alive(&barrier));
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
}

/* Every length and alignment: these bytes, and no others. */
static void copies(void **state)
{
    enum { ROOM = 512, MOST = 300 };
    uint8_t *from = aligned_alloc(64, ROOM), *to = aligned_alloc(64, ROOM);
    (void)state;
    for (unsigned i = 0; i < ROOM; i++)
        from[i] = (uint8_t)(i * 7 + 1);
    for (size_t a = 0; a < 64; a += 3) {
        for (size_t b = 0; b < 64; b += 5) {
            for (size_t length = 0; length <= MOST; length += length < 140 ? 1 : 13) {
                for (unsigned way = 0; way < 2; way++) {
                    memset(to, 0, ROOM);
                    (way == 0 ? ntb_copy_out : ntb_copy_in)(to + b, from + a, length);
                    rsm_fence_stores();
                    assert_memory_equal(to + b, from + a, length);
                    for (size_t i = 0; i < ROOM; i++)
                        if ((i < b || i >= b + length) && to[i] != 0)
                            fail_msg("byte %zu of %zu at %zu", i, length, b);
                }
            }
        }
    }
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(errors_are_counted_and_stay, begin),
        cmocka_unit_test_setup(the_greatest_count_stays, begin),
        cmocka_unit_test_setup(all_ones_are_no_success, begin),
        cmocka_unit_test_setup(another_session_there, begin),
        cmocka_unit_test_setup(no_session_there, begin),
        cmocka_unit_test_setup(another_epoch_here, begin),
        cmocka_unit_test_setup(revoked, begin),
        cmocka_unit_test_setup(memory_of_this_host_does_not_fail, begin),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
