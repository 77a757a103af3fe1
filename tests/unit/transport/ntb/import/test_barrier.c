/* SPDX-License-Identifier: BSD-3-Clause */
/* What a barrier says of each thing that can be wrong with a link; and the copies. */
#include "base/fence.h"
#include "cases.h"
#include "transport/ntb/import/barrier.h"
#include "transport/ntb/import/copy.h"

#define CANARY UINT64_C(0x1234567800000007)

static struct ntb_status status;
static uint64_t canary;
static struct ntb_barrier barrier;
static struct rsm_conn conn;

static int begin(void **state)
{
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

#define TEST(test) TEST_BETWEEN(test, begin, NULL)

TEST(errors_are_counted_and_stay)
{
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
TEST(the_greatest_count_stays)
{
    status.err_seq += 3;
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    status.err_seq -= 2;
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
    assert_int_equal(rsm_conn_failures(&conn), 3);
}

TEST(all_ones_are_no_success)
{
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

TEST(another_session_there)
{
    canary = CANARY + 1; /* and this host does not know yet */
    dead_for_good();
    canary = CANARY; /* what looks right later does not count */
    dead_for_good();
}

TEST(no_session_there)
{
    canary = 0;
    dead_for_good();
}

TEST(another_epoch_here)
{
    status.epoch = 4;
    dead_for_good();
}

TEST(revoked)
{
    status.revoked = 1;
    dead_for_good();
}

TEST(memory_of_this_host_does_not_fail)
{
    ntb_barrier_begin(&barrier, NULL, NULL);
    assert_true(ntb_barrier_alive(&barrier));
    assert_int_equal(ntb_barrier_close(&barrier, &conn), RSM_ST_OK);
}

/* Every length and alignment: these bytes, and no others. */
TEST_ALONE(copies)
{
    enum { ROOM = 512, MOST = 300 };
    uint8_t *from = aligned_alloc(64, ROOM), *to = aligned_alloc(64, ROOM);
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
