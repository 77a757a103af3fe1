/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The generic forms of operations over the fake transport, and that one itself. */
#include "check.h"

#include "fixture.h"

/* ------------------------------------------------------------------ generic forms */

FIXTURE_TEST(elements_are_one_put_each_ascending)
{
    uint32_t out[5] = {1, 2, 3, 4, 5}, in[5] = {0};
    unsigned count;
    assert_status(f->ops->put_elems(f->conn, 64, out, 4, 5), RSM_ST_OK);
    assert_status(f->ops->get_elems(f->conn, 64, in, 4, 5), RSM_ST_OK);
    assert_memory_equal(in, out, sizeof out);
    assert_memory_equal(fake_segment_memory(f->segment) + 64, out, sizeof out);
    const struct fake_call *calls = fake_segment_calls(f->segment, &count);
    assert_int_equal(count, 10);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(calls[i].op, i < 5 ? FAKE_PUT : FAKE_GET);
        assert_int_equal(calls[i].offset, 64 + 4 * (i % 5));
        assert_int_equal(calls[i].length, 4);
    }
}

FIXTURE_TEST(elements_stop_at_the_first_error)
{
    uint64_t values[4] = {1, 2, 3, 4};
    unsigned count;
    fake_segment_fail(f->segment, FAKE_PUT, 2, RSM_ST_TRANSFER);
    assert_status(f->ops->put_elems(f->conn, 0, values, 8, 4), RSM_ST_TRANSFER);
    fake_segment_fail(f->segment, FAKE_GET, 1, RSM_ST_ABORTED);
    assert_status(f->ops->get_elems(f->conn, 0, values, 8, 4), RSM_ST_ABORTED);
    fake_segment_calls(f->segment, &count);
    assert_int_equal(count, 3 + 2);
}

FIXTURE_TEST(vectors_say_how_far_they_came)
{
    char a[] = "one", b[] = "three", c[] = "seven";
    struct rsm_transfer vec[] = {{a, 0, 3}, {b, 100, 5}, {c, 50, 0}, {c, 200, 5}};
    unsigned done = 99;
    assert_status(f->ops->putv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_memory_equal(fake_segment_memory(f->segment) + 100, "three", 5);
    memset(a, 0, sizeof a), memset(b, 0, sizeof b), memset(c, 0, sizeof c);
    assert_status(f->ops->getv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_string_equal(a, "one");
    assert_string_equal(c, "seven");
    fake_segment_fail(f->segment, FAKE_PUT, 1, RSM_ST_TRANSFER);
    assert_status(f->ops->putv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 1);
    fake_segment_fail(f->segment, FAKE_GET, 3, RSM_ST_TRANSFER);
    assert_status(f->ops->getv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 3);
    assert_status(f->ops->putv(f->conn, vec, 0, &done), RSM_ST_OK);
    assert_int_equal(done, 0);
}

FIXTURE_TEST(what_cannot_be_emulated_is_refused)
{
    void *address = f, *cookie = f;
    assert_status(f->ops->map(f->conn, 0, 4096, RSM_RIGHT_READ, false, &address),
                  RSM_ST_UNSUPPORTED);
    assert_ptr_equal(address, f);
    assert_status(f->ops->unmap(f->conn, f, 4096), RSM_ST_UNSUPPORTED);
    assert_status(f->ops->signals->post(f->conn, false), RSM_ST_UNSUPPORTED);
    assert_status(f->ops->health(f->conn), RSM_ST_OK);
    assert_status(f->ops->register_memory(f->port, f, sizeof *f, &cookie), RSM_ST_OK);
    assert_null(cookie);
    f->ops->unregister_memory(f->port, cookie);
}

static enum rsm_status submit(struct fixture *f, uint64_t cookie, bool read, uint64_t offset,
                              void *local, size_t length)
{
    const struct rsm_work work = {
        .cookie = cookie, .read = read, .transfer = {local, offset, length}};
    return rsmcore_conn_completions(f->conn)->submit(f->conn, &work);
}

FIXTURE_TEST(works_are_done_when_submitted)
{
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(f->conn);
    struct rsm_completion done[4];
    char out[] = "work", in[5] = "";
    assert_int_equal(ops->poll(f->conn, done, 4), 0);
    assert_status(ops->wait(f->conn, -1), RSM_ST_NOT_FOUND);
    fake_segment_delay(f->segment, 1); /* what a put does not wait for, a completion does */
    assert_status(submit(f, 11, false, 100, out, 4), RSM_ST_OK);
    assert_memory_equal(fake_segment_memory(f->segment) + 100, "work", 4);
    assert_status(submit(f, 12, true, 100, in, 4), RSM_ST_OK);
    assert_string_equal(in, "work");
    fake_segment_fail(f->segment, FAKE_DELIVERY, 0, RSM_ST_TRANSFER);
    assert_status(submit(f, 13, false, 0, out, 4), RSM_ST_OK);
    assert_status(ops->wait(f->conn, -1), RSM_ST_OK);
    assert_int_equal(ops->poll(f->conn, done, 2), 2);
    assert_int_equal(ops->poll(f->conn, done + 2, 2), 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(done[i].cookie, 11 + i);
        assert_status(done[i].status, i == 2 ? RSM_ST_TRANSFER : RSM_ST_OK);
    }
    /* The failure was the work's, and is not told a second time. */
    assert_status(f->ops->complete(f->conn), RSM_ST_OK);
    assert_status(ops->wait(f->conn, 0), RSM_ST_NOT_FOUND);
}

FIXTURE_TEST(works_that_nobody_polls_are_bounded)
{
    struct rsm_completion done[2];
    uint64_t taken = 0;
    char byte = 'x';
    for (unsigned round = 0; round < 3; round++) {
        uint64_t cookie = taken;
        while (submit(f, cookie, false, 0, &byte, 1) == RSM_ST_OK)
            cookie++;
        assert_int_equal(cookie - taken, RSM_WORK_MAX);
        assert_status(submit(f, cookie, false, 0, &byte, 1), RSM_ST_BUSY);
        for (unsigned count; (count = rsmcore_completion_ops.poll(f->conn, done, 2)) > 0;)
            for (unsigned i = 0; i < count; i++)
                assert_int_equal(done[i].cookie, taken++);
        assert_int_equal(taken, cookie);
    }
}

static unsigned own_poll(struct rsm_conn *conn, struct rsm_completion *completions, unsigned most)
{
    if (most > 0)
        completions[0] = (struct rsm_completion){.cookie = 77};
    return most > 0;
}

static enum rsm_status own_submit(struct rsm_conn *conn, const struct rsm_work *work)
{
    (void)conn, (void)work;
    return RSM_ST_OK;
}

static enum rsm_status own_wait(struct rsm_conn *conn, int timeout_ms)
{
    (void)conn, (void)timeout_ms;
    return RSM_ST_TIMEOUT;
}

/* The mapping engine puts a connection in front of another one, which may have works under way. */
FIXTURE_TEST(a_successor_finds_the_completions_of_both)
{
    static const struct rsm_completion_ops own = {
        .size = sizeof own, .submit = own_submit, .poll = own_poll, .wait = own_wait};
    struct rsm_import_ops native = *f->ops, generic = *f->ops;
    struct rsm_completion done[3];
    char byte = 'x';
    native.completions = &own;
    generic.completions = NULL;
    struct rsm_conn *former = f->conn, successor = *former;
    former->ops = &native;
    successor.ops = &generic;
    successor.core = NULL;
    rsmcore_conn_succeed(&successor, former);
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(&successor);
    assert_status(ops->wait(&successor, 0), RSM_ST_TIMEOUT);
    former->ops = f->ops; /* by which the fake is reached */
    assert_status(submit(f, 5, false, 0, &byte, 1), RSM_ST_OK);
    former->ops = &native;
    assert_status(ops->wait(&successor, 0), RSM_ST_OK);
    assert_int_equal(ops->poll(&successor, done, 3), 2);
    assert_int_equal(done[0].cookie, 5);
    assert_int_equal(done[1].cookie, 77);
    former->ops = f->ops;
}

/* ------------------------------------------------------------------ the fake itself */

FIXTURE_TEST(delayed_puts_arrive_at_order_and_not_before)
{
    uint8_t value = 7, seen = 99;
    fake_segment_delay(f->segment, 1);
    assert_status(f->ops->put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops->get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 0);
    assert_status(f->ops->order(f->conn), RSM_ST_OK);
    assert_status(f->ops->get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 7);
}

FIXTURE_TEST(delayed_puts_are_reordered)
{
    unsigned last[2] = {0};
    for (uint32_t seed = 0; seed < 64; seed++) {
        uint8_t one = 1, two = 2;
        fake_segment_delay(f->segment, seed);
        assert_status(f->ops->put(f->conn, 0, &one, 1), RSM_ST_OK);
        assert_status(f->ops->put(f->conn, 0, &two, 1), RSM_ST_OK);
        assert_status(f->ops->complete(f->conn), RSM_ST_OK);
        last[fake_segment_memory(f->segment)[0] - 1]++;
    }
    assert_true(last[0] > 0 && last[1] > 0);
}

FIXTURE_TEST(a_late_error_is_counted_and_stays)
{
    uint8_t value = 7;
    fake_segment_delay(f->segment, 3);
    fake_segment_fail(f->segment, FAKE_DELIVERY, 0, RSM_ST_TRANSFER);
    assert_status(f->ops->put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops->order(f->conn), RSM_ST_OK);
    for (int i = 0; i < 2; i++) {
        assert_status(f->ops->complete(f->conn), RSM_ST_OK);
        assert_int_equal(rsm_conn_failures(f->conn), 1);
    }
    assert_int_equal(fake_segment_memory(f->segment)[10], 0);
}

/* ------------------------------------------------------------------ forked children */

/* A bit for each operation that answered otherwise. */
static unsigned wrong_answers(struct rsm_conn *conn, enum rsm_status wanted)
{
    uint64_t word = 0;
    const struct rsm_transfer entry = {&word, 0, sizeof word};
    unsigned done, wrong = 0, bit = 0;
    const enum rsm_status answers[] = {
        conn->ops->put(conn, 0, &word, sizeof word),
        conn->ops->get(conn, 0, &word, sizeof word),
        conn->ops->put_elems(conn, 0, &word, sizeof word, 1),
        conn->ops->get_elems(conn, 0, &word, sizeof word, 1),
        conn->ops->putv(conn, &entry, 1, &done),
        conn->ops->getv(conn, &entry, 1, &done),
        conn->ops->order(conn),
        conn->ops->complete(conn),
        conn->ops->health(conn),
    };
    for (; bit < sizeof answers / sizeof answers[0]; bit++)
        wrong |= (unsigned)(answers[bit] != wanted) << bit;
    if (wanted == RSM_ST_STALE) {
        struct rsm_signals taken;
        void *address = NULL;
        wrong |= (unsigned)(conn->ops->signals->post(conn, false) != wanted) << bit++;
        wrong |= (unsigned)(conn->ops->signals->poll(conn, &taken) != wanted) << bit++;
        wrong |= (unsigned)(conn->ops->signals->arm(conn) != wanted) << bit++;
        wrong |= (unsigned)(conn->ops->signals->fd(conn) != -1) << bit++;
        wrong |= (unsigned)(conn->ops->map(conn, 0, 8, RSM_RIGHT_READ, false, &address) != wanted)
                 << bit++;
    }
    return wrong;
}

static int in_child(struct fixture *f, enum rsm_status wanted, bool reaches)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsigned count, wrong = wrong_answers(f->conn, wanted);
        rsmcore_conn_close(f->conn);
        fake_segment_calls(f->segment, &count);
        _exit(wrong != 0 || (count != 0) != reaches);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The transport hears of nothing in the child, not even of the end of the connection. */
FIXTURE_TEST(a_child_gets_one_answer)
{
    assert_int_equal(in_child(f, RSM_ST_STALE, false), 0);
    assert_int_equal(wrong_answers(f->conn, RSM_ST_OK), 0);
}

FIXTURE_TEST(a_connection_that_works_in_children)
{
    struct rsm_offer offer = {.size = sizeof offer};
    rsmcore_conn_close(f->conn);
    f->port->caps |= RSM_CAP_FORK;
    fake_segment_offer(f->segment, &offer);
    assert_status(
        rsmcore_conn_open(f->port, &offer, 4096, RSM_RIGHT_READ | RSM_RIGHT_WRITE, &f->conn),
        RSM_ST_OK);
    f->port->caps &= ~RSM_CAP_FORK; /* it is one for all tests */
    fake_segment_forget(f->segment);
    assert_int_equal(in_child(f, RSM_ST_OK, true), 0);
}
