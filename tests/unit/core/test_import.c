/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers and transfers of the core over the fake transport: a failure is counted, and learnt by
 * every barrier that was open. */
#include "core/barrier.h"

#include "cases.h"
#include "unit/core/bed.h"

static int begin(void **state)
{
    return bed_begin(state, NULL);
}

static enum rsm_status put_one(struct rsmcore_import *import)
{
    static const uint8_t byte = 1;
    return rsmcore_import_put(import, 8, &byte, 1);
}

#define TEST(name) TEST_WITH(struct bed *bed, name, begin, bed_end)

TEST(a_barrier_may_be_closed_any_number_of_times)
{
    struct rsmcore_barrier barrier = rsmcore_barrier_open(&bed->import);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put_one(&bed->import), RSM_ST_OK);
        assert_int_equal(rsmcore_barrier_close(&bed->import, barrier), RSM_ST_OK);
    }
    assert_int_equal(fake_segment_memory(bed->segment)[8], 1);
}

TEST(every_open_barrier_learns_of_a_failure)
{
    fake_segment_delay(bed->segment, 1);
    struct rsmcore_barrier first = rsmcore_barrier_open(&bed->import);
    struct rsmcore_barrier second = rsmcore_barrier_open(&bed->import);
    fake_segment_fail(bed->segment, FAKE_DELIVERY, 0, RSM_ST_TIMEOUT);
    assert_int_equal(put_one(&bed->import), RSM_ST_OK);
    assert_int_equal(rsmcore_barrier_close(&bed->import, first), RSM_ST_TRANSFER);
    struct rsmcore_barrier later = rsmcore_barrier_open(&bed->import);
    assert_int_equal(rsmcore_barrier_close(&bed->import, second), RSM_ST_TRANSFER);
    assert_int_equal(rsmcore_barrier_close(&bed->import, first), RSM_ST_TRANSFER);
    assert_int_equal(rsmcore_barrier_close(&bed->import, later), RSM_ST_OK);
}

/* Whatever call it is that finds the failure. */
TEST(failures_of_all_calls_count)
{
    static const enum fake_op ops[] = {FAKE_PUT, FAKE_GET, FAKE_ORDER, FAKE_COMPLETE};
    struct rsmcore_import *import = &bed->import;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (int vector = 0; vector < 2; vector++) {
            uint8_t bytes[8] = {0};
            const struct rsm_transfer entry = {.local = bytes, .remote = 0, .length = 8};
            unsigned done;
            struct rsmcore_barrier barrier = rsmcore_barrier_open(import);
            fake_segment_fail(bed->segment, ops[i], 0, RSM_ST_TRANSFER);
            enum rsm_status put = vector ? rsmcore_import_putv(import, &entry, 1, &done)
                                         : rsmcore_import_put(import, 0, bytes, 8);
            enum rsm_status get = vector
                                      ? rsmcore_import_getv(import, &entry, 1, &done)
                                      : rsmcore_import_get_elems_unchecked(import, 0, bytes, 8, 1);
            enum rsm_status order = rsmcore_import_order(import);
            enum rsm_status complete = rsmcore_import_complete(import);
            int failed = (put != RSM_ST_OK) + (get != RSM_ST_OK) + (order != RSM_ST_OK) +
                         (complete != RSM_ST_OK);
            assert_int_equal(failed, 1);
            assert_int_equal(rsmcore_barrier_close(import, barrier), RSM_ST_TRANSFER);
            barrier = rsmcore_barrier_open(import);
            assert_int_equal(rsmcore_barrier_close(import, barrier), RSM_ST_OK);
        }
}

/* What the caller asked for wrongly never began, and is nobody else's affair. */
TEST(refusals_do_not_count)
{
    uint8_t byte = 1;
    struct rsmcore_barrier barrier = rsmcore_barrier_open(&bed->import);
    const struct rsm_transfer outside = {.local = &byte, .remote = BED_SIZE, .length = 1};
    unsigned done;
    assert_int_equal(rsmcore_import_put(&bed->import, BED_SIZE, &byte, 1), RSM_ST_RANGE);
    assert_int_equal(rsmcore_import_putv(&bed->import, &outside, 1, &done), RSM_ST_RANGE);
    bed->import.rights = RSM_RIGHT_READ;
    assert_int_equal(put_one(&bed->import), RSM_ST_DENIED);
    assert_int_equal(rsmcore_barrier_close(&bed->import, barrier), RSM_ST_OK);
}

TEST(a_cut_connection_is_told_by_every_close)
{
    struct rsmcore_barrier barrier = rsmcore_barrier_open(&bed->import);
    bed_cut();
    assert_int_equal(rsmcore_barrier_close(&bed->import, barrier), RSM_ST_ABORTED);
    assert_int_equal(rsmcore_barrier_close(&bed->import, rsmcore_barrier_open(&bed->import)),
                     RSM_ST_ABORTED);
}

/* As when another thread completes, flushes or polls. */
TEST(a_failure_that_another_call_has_found_is_told)
{
    fake_segment_delay(bed->segment, 1);
    struct rsmcore_barrier barrier = rsmcore_barrier_open(&bed->import);
    fake_segment_fail(bed->segment, FAKE_DELIVERY, 0, RSM_ST_TIMEOUT);
    assert_int_equal(put_one(&bed->import), RSM_ST_OK);
    assert_int_equal(rsmcore_import_order(&bed->import), RSM_ST_OK);
    assert_int_equal(rsmcore_import_complete(&bed->import), RSM_ST_OK);
    assert_int_equal(rsmcore_barrier_close(&bed->import, barrier), RSM_ST_TRANSFER);
    barrier = rsmcore_barrier_open(&bed->import);
    assert_int_equal(rsmcore_barrier_close(&bed->import, barrier), RSM_ST_OK);
}

static enum rsm_status posted;

static enum rsm_status count_post(struct rsm_conn *conn, bool coalesce)
{
    (void)conn, (void)coalesce;
    return posted;
}

static void fail_late(struct bed *bed)
{
    fake_segment_fail(bed->segment, FAKE_DELIVERY, 0, RSM_ST_TIMEOUT);
    assert_int_equal(put_one(&bed->import), RSM_ST_OK);
    assert_int_equal(rsmcore_import_complete(&bed->import), RSM_ST_OK);
}

/* The post tells of it instead, or a barrier has. */
TEST(a_post_is_refused_behind_a_failure_that_nobody_was_told_of)
{
    static const struct rsm_signal_ops signals = {.size = sizeof signals, .post = count_post};
    struct rsmcore_import *import = &bed->import;
    struct rsm_conn *conn = rsmcore_import_conn(import);
    struct rsm_import_ops ops = *conn->ops;
    ops.signals = &signals;
    conn->ops = &ops;
    conn->caps |= RSM_CAP_REMOTE_SIGNAL;
    posted = RSM_ST_OK;
    fake_segment_delay(bed->segment, 1);
    struct rsmcore_barrier barrier = rsmcore_barrier_open(import);
    fail_late(bed);
    assert_int_equal(rsmcore_import_post(import, false), RSM_ST_TRANSFER);
    assert_int_equal(rsmcore_import_post(import, false), RSM_ST_OK);
    assert_int_equal(rsmcore_barrier_close(import, barrier), RSM_ST_TRANSFER);
    fail_late(bed);
    assert_int_equal(rsmcore_barrier_close(import, barrier), RSM_ST_TRANSFER);
    assert_int_equal(rsmcore_import_post(import, false), RSM_ST_OK);
    posted = RSM_ST_TRANSFER;
    assert_int_equal(rsmcore_import_post(import, false), RSM_ST_TRANSFER);
    conn->ops = &bed->table.ops;
}

/* ---------------------------------------------------------------- what a transport may bring */

static unsigned acquired, in_one;

static void count_acquire(struct rsm_conn *conn)
{
    acquired++;
}

static enum rsm_status put_in_one(struct rsm_conn *conn, uint64_t offset, const void *src,
                                  size_t length)
{
    in_one++;
    enum rsm_status status = conn->port->ops->put(conn, offset, src, length);
    return status == RSM_ST_OK ? conn->port->ops->complete(conn) : status;
}

TEST(a_barrier_that_opens_acquires)
{
    struct rsm_import_ops ops = *bed->import.inner->ops;
    ops.acquire = count_acquire;
    bed->import.inner->ops = &ops;
    acquired = 0;
    (void)rsmcore_barrier_open(&bed->import);
    assert_int_equal(acquired, 0); /* what the core does not know of, it does not call */
    bed->import.acquires = true;
    (void)rsmcore_barrier_open(&bed->import);
    assert_int_equal(acquired, 1);
    (void)rsmcore_barrier_open_for_calls(&bed->import);
    assert_int_equal(acquired, 1);
    bed->import.inner->ops = &bed->table.ops;
}

/* Late failures are counted as ever, and the error of the put itself is returned. */
TEST(a_put_that_completes_is_one_call)
{
    struct rsmcore_import *import = &bed->import;
    struct rsm_import_ops ops = *import->inner->ops;
    const uint8_t byte = 5;
    unsigned count;
    ops.put_complete = put_in_one;
    import->inner->ops = &ops;
    in_one = 0;
    fake_segment_delay(bed->segment, 1);
    assert_int_equal(rsmcore_import_put_complete(import, 8, &byte, 1), RSM_ST_OK);
    assert_int_equal(in_one, 1);
    assert_int_equal(fake_segment_memory(bed->segment)[8], 5);
    struct rsmcore_barrier barrier = rsmcore_barrier_open(import);
    fake_segment_fail(bed->segment, FAKE_DELIVERY, 0, RSM_ST_TIMEOUT);
    enum rsm_status status = rsmcore_import_put_complete(import, 8, &byte, 1);
    assert_int_equal(status, RSM_ST_OK);
    assert_int_equal(rsmcore_barrier_compare(import, barrier, status), RSM_ST_TRANSFER);
    fake_segment_fail(bed->segment, FAKE_PUT, 0, RSM_ST_TIMEOUT);
    assert_int_equal(rsmcore_import_put_complete(import, 8, &byte, 1), RSM_ST_TIMEOUT);
    ops.put_complete = NULL; /* as of a connection that has become mappable */
    fake_segment_forget(bed->segment);
    assert_int_equal(rsmcore_import_put_complete(import, 8, &byte, 1), RSM_ST_OK);
    fake_segment_calls(bed->segment, &count);
    assert_int_equal(count, 3); /* put, complete, and the delivery between them */
    import->inner->ops = &bed->table.ops;
}

/* ---------------------------------------------------------------- many threads */

enum { ROUNDS = 2000, ASKERS = 3 };

struct crowd {
    struct bed *bed;
    atomic_bool over;
};

static void *ask_all_the_time(void *arg)
{
    struct crowd *crowd = arg;
    while (!atomic_load(&crowd->over))
        (void)rsmcore_import_complete(&crowd->bed->import);
    return NULL;
}

/* Whoever is told: a barrier over a transfer that failed never succeeds, and always closes. */
TEST(no_failure_is_lost_in_a_crowd)
{
    struct crowd crowd = {.bed = bed};
    struct rsmcore_import *import = &crowd.bed->import;
    pthread_t threads[ASKERS];
    unsigned lost = 0;
    fake_segment_delay(crowd.bed->segment, 1);
    for (unsigned i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_all_the_time, &crowd), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct rsmcore_barrier barrier = rsmcore_barrier_open(import);
        fake_segment_fail(crowd.bed->segment, FAKE_DELIVERY, 0, RSM_ST_TIMEOUT);
        (void)put_one(import);
        lost += rsmcore_barrier_close(import, barrier) == RSM_ST_OK;
    }
    atomic_store(&crowd.over, true);
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(lost, 0);
}
