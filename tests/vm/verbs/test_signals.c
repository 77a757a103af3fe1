/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals of the exporter to its importers. */
#include <arpa/inet.h>

#include "cases.h"
#include "pair.h"

enum { PAGE = 4096, PATIENCE_MS = 20000, ASIDE_MS = 100 };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

static struct stage {
    struct pair *pair;
    struct remote remote;
    struct rsm_conn *conn;
    uint32_t made;
} stage;

/* A connection whose importer wants signals, and the node knows. */
static struct rsm_conn *connect_and_hear(uint32_t *made)
{
    struct rsm_conn *conn = pair_connect(stage.pair, &stage.remote, both, made);
    assert_int_equal(node_signal(stage.pair, *made, 1, false), RSM_ST_UNSUPPORTED);
    assert_int_equal(stage.pair->ops->signals->arm(conn), RSM_ST_OK);
    /* What is posted behind it arrives behind it. */
    uint64_t before = node_report(stage.pair).signals;
    int64_t deadline = clock_ms() + PATIENCE_MS;
    assert_int_equal(stage.pair->ops->signals->post(conn, false), RSM_ST_OK);
    while (node_report(stage.pair).signals == before)
        assert_true(clock_ms() < deadline);
    return conn;
}

static int set_up(void **state)
{
    stage.pair = pair_open("", "");
    stage.remote = remote_make(stage.pair, PAGE);
    stage.conn = connect_and_hear(&stage.made);
    return 0;
}

static int tear_down(void **state)
{
    stage.pair->ops->disconnect(stage.conn);
    remote_free(stage.pair, &stage.remote);
    pair_close(stage.pair);
    return 0;
}

static bool is_readable(int patience_ms)
{
    struct pollfd fd = {.fd = stage.pair->ops->signals->fd(stage.conn), .events = POLLIN};
    assert_true(fd.fd >= 0);
    return poll(&fd, 1, patience_ms) == 1;
}

static void post(uint32_t count, bool coalesced)
{
    assert_int_equal(node_signal(stage.pair, stage.made, count, coalesced), RSM_ST_OK);
}

/* What the descriptor announces is there; afterwards nothing is, and the descriptor says so. */
static void expect(uint32_t count, bool coalesced)
{
    struct rsm_signals taken;
    assert_true(is_readable(PATIENCE_MS));
    assert_int_equal(stage.pair->ops->signals->poll(stage.conn, &taken), RSM_ST_OK);
    assert_int_equal(taken.count, count);
    assert_int_equal(taken.coalesced, coalesced);
    assert_false(is_readable(0));
    stage.pair->ops->signals->acknowledge(stage.conn);
}

static void expect_nothing(void)
{
    struct rsm_signals taken;
    assert_false(is_readable(0));
    assert_int_equal(stage.pair->ops->signals->poll(stage.conn, &taken), RSM_ST_OK);
    assert_int_equal(taken.count, 0);
    assert_false(taken.coalesced);
    assert_false(is_readable(0));
}

static void await_taken(uint64_t times)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (node_report(stage.pair).taken < times)
        assert_true(clock_ms() < deadline);
    assert_int_equal(node_report(stage.pair).taken, times);
}

/* ------------------------------------------------------------------ what they are for */

#define SIGNAL_TEST(test) TEST_BETWEEN(test, set_up, tear_down)

SIGNAL_TEST(counts_arrive)
{
    expect_nothing();
    post(1, false);
    expect(1, false);
    expect_nothing();
    await_taken(1);
    post(70000, true);
    expect(70000, true);
    await_taken(2);
    post(0, true);
    expect(0, true);
    await_taken(3);
    post(RSM_SIGNALS_MAX, true);
    expect(RSM_SIGNALS_MAX, true);
    await_taken(4);
    expect_nothing();
}

/* More of them than anything could be left of: receives, room for answers, numbers. */
SIGNAL_TEST(many_in_a_row)
{
    for (uint32_t i = 1; i <= 2 * VERBS_SEND_DEPTH; i++) {
        post(i, false);
        expect(i, false);
        await_taken(i);
    }
}

SIGNAL_TEST(data_come_first)
{
    volatile uint64_t *word = (void *)stage.remote.bytes;
    for (uint64_t i = 1; i <= 200; i++) {
        uint64_t seen;
        *word = i;
        post(1, false);
        expect(1, false);
        assert_int_equal(stage.pair->ops->get(stage.conn, 0, &seen, sizeof seen), RSM_ST_OK);
        assert_int_equal(seen, i);
        await_taken(i);
    }
}

/* An importer that takes none holds up nothing, and what it has not taken is not under way twice.
 */
SIGNAL_TEST(one_at_a_time)
{
    uint64_t word = 7;
    uint32_t made;
    struct rsm_conn *other = connect_and_hear(&made);
    post(1, false);
    assert_int_equal(node_signal(stage.pair, stage.made, 1, false), RSM_ST_BUSY);
    for (int i = 0; i < 300; i++)
        assert_int_equal(stage.pair->ops->put(stage.conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(stage.pair->ops->complete(stage.conn), RSM_ST_OK);
    struct rsm_conn *first = stage.conn;
    uint32_t first_made = stage.made;
    stage.conn = other;
    stage.made = made;
    post(2, false);
    expect(2, false);
    await_taken(1);
    stage.pair->ops->disconnect(other);
    stage.conn = first;
    stage.made = first_made;
    assert_int_equal(node_signal(stage.pair, stage.made, 1, false), RSM_ST_BUSY);
    expect(1, false);
    await_taken(2);
    post(3, false);
    expect(3, false);
}

/* The importer's own signals and the credit for them do not look like the exporter's. */
SIGNAL_TEST(credits_wake_nobody)
{
    enum { SIGNALS = 5 * VERBS_SIGNALS_AHEAD };
    for (int i = 0; i < SIGNALS; i++) {
        assert_int_equal(stage.pair->ops->signals->post(stage.conn, false), RSM_ST_OK);
        assert_false(is_readable(0));
    }
    expect_nothing();
    assert_int_equal(stage.pair->ops->complete(stage.conn), RSM_ST_OK);
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (node_report(stage.pair).signals < SIGNALS + 1) /* set_up() has sent one */
        assert_true(clock_ms() < deadline);
    assert_false(is_readable(ASIDE_MS));
    post(1, false);
    for (int i = 0; i < SIGNALS; i++)
        assert_int_equal(stage.pair->ops->signals->post(stage.conn, false), RSM_ST_OK);
    expect(1, false);
    expect_nothing();
}

/* ------------------------------------------------------------------ who cannot */

/* A library of before does not ask for any; its importers get none. To ask twice is a mistake. */
SIGNAL_TEST(who_did_not_ask)
{
    uint32_t made;
    struct rsm_conn *conn = pair_connect(stage.pair, &stage.remote, both, &made);
    struct rsm_signals taken;
    assert_int_equal(node_signal(stage.pair, made, 1, false), RSM_ST_UNSUPPORTED);
    assert_int_equal(stage.pair->ops->signals->poll(conn, &taken), RSM_ST_OK);
    assert_int_equal(taken.count, 0);
    stage.pair->ops->disconnect(conn);
    assert_int_not_equal(stage.pair->ops->signals->arm(stage.conn), RSM_ST_OK);
    stage.pair->ops->signals->acknowledge(
        stage.conn); /* to nothing, which nobody signals_armed of */
    post(1, false);
    expect(1, false);
    await_taken(1);
}

/* A node of before says in its welcome that it cannot. */
SIGNAL_TEST(who_cannot)
{
    verbs_of(stage.conn)->can_signal = false;
    assert_int_equal(stage.pair->ops->signals->fd(stage.conn), -1);
    verbs_of(stage.conn)->signals_armed = false;
    assert_int_equal(stage.pair->ops->signals->arm(stage.conn), RSM_ST_UNSUPPORTED);
}

SIGNAL_TEST(before_and_after_the_connection)
{
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    struct remote_piece piece = {.remote = &stage.remote, .length = PAGE};
    uint32_t made;
    assert_non_null(offer);
    assert_int_equal(node_offer(stage.pair, &piece, 1, both, offer, &made), RSM_ST_OK);
    assert_int_equal(node_signal(stage.pair, made, 1, false), RSM_ST_UNSUPPORTED);
    node_revoke(stage.pair, made);
    free(offer);
    struct rsm_conn *gone = pair_connect(stage.pair, &stage.remote, both, &made);
    stage.pair->ops->disconnect(gone);
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (node_report(stage.pair).lost == 0)
        assert_true(clock_ms() < deadline);
    assert_int_equal(node_signal(stage.pair, made, 1, false), RSM_ST_UNREACHABLE);
}

/* What has arrived is not lost with the connection. */
SIGNAL_TEST(revoked_behind_a_signal)
{
    struct rsm_signals taken;
    post(5, false);
    assert_true(is_readable(PATIENCE_MS));
    node_revoke(stage.pair, stage.made);
    uint64_t word = 1;
    stage.pair->ops->put(stage.conn, 0, &word, 8);
    while (stage.pair->ops->complete(stage.conn) == RSM_ST_OK &&
           stage.pair->ops->health(stage.conn) == RSM_ST_OK)
        continue; /* the test's time limit ends it */
    expect(5, false);
    /* The failure is told once, and then nothing more is there to be told. */
    while (stage.pair->ops->signals->poll(stage.conn, &taken) == RSM_ST_OK && is_readable(ASIDE_MS))
        assert_int_equal(taken.count, 0);
    assert_false(is_readable(0));
}

SIGNAL_TEST(child_takes_nothing)
{
    int status;
    post(4, false);
    assert_true(is_readable(PATIENCE_MS));
    const struct rsm_import_ops *guarded = pair_guard(stage.pair, stage.conn);
    pid_t child = fork();
    if (child == 0) {
        struct rsm_signals taken;
        bool refused = guarded->signals->poll(stage.conn, &taken) == RSM_ST_STALE &&
                       taken.count == 0 && guarded->signals->fd(stage.conn) == -1;
        guarded->disconnect(stage.conn);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    pair_unguard(stage.conn);
    assert_int_equal(status, 0);
    expect(4, false);
    await_taken(1);
}

/* ------------------------------------------------------------------ liars */

/* One signal at most is believed, and then the connection fails. */
static void expect_failure(void)
{
    struct rsm_signals taken;
    uint32_t count = 0;
    assert_true(is_readable(PATIENCE_MS));
    for (int i = 0; i < 10 && is_readable(ASIDE_MS); i++) {
        stage.pair->ops->signals->poll(stage.conn, &taken);
        count += taken.count;
    }
    assert_false(is_readable(0));
    assert_in_range(count, 0, 1);
    assert_int_not_equal(stage.pair->ops->health(stage.conn), RSM_ST_OK);
    assert_int_equal(stage.pair->ops->signals->poll(stage.conn, &taken), RSM_ST_OK);
}

SIGNAL_TEST(node_floods)
{
    node_lie(stage.pair, stage.made, 1, 0);
    node_lie(stage.pair, stage.made, 1, 0);
    node_lie(stage.pair, stage.made, 1, 0);
    assert_true(is_readable(PATIENCE_MS));
    usleep(ASIDE_MS * 1000);
    expect_failure();
}

SIGNAL_TEST(node_says_nothing)
{
    node_lie(stage.pair, stage.made, 0, 0);
    expect_failure();
}

SIGNAL_TEST(node_sends_bytes)
{
    node_lie(stage.pair, stage.made, 1, 8);
    expect_failure();
}

/* An answer to nothing ends the connection, and costs the node no more. */
static void expect_end_after(uint32_t immediate)
{
    struct verbs_conn *verbs = verbs_of(stage.conn);
    pthread_mutex_lock(&verbs->lock);
    verbs_post_immediate(verbs, immediate);
    pthread_mutex_unlock(&verbs->lock);
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (node_report(stage.pair).lost == 0)
        assert_true(clock_ms() < deadline);
    assert_int_equal(node_report(stage.pair).taken, 0);
    assert_int_equal(node_signal(stage.pair, stage.made, 1, false), RSM_ST_UNREACHABLE);
}

SIGNAL_TEST(importer_answers_unasked)
{
    expect_end_after(VERBS_SIGNALS_ACK);
}

SIGNAL_TEST(importer_asks_twice)
{
    expect_end_after(VERBS_SIGNALS_ARM);
}

int main(int argc, char **argv)
{
    pair_main(argc, argv);
    return cases_run();
}
