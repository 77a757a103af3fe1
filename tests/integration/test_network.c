/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the network between two hosts (networks.sh --wire): what is lost, late, out of order or cut
 * loses nothing as long as it is shorter than the peer time-out, and ends in the documented error within
 * it else. Nothing is left behind. */
#include "exchange.h"
#include "hosts.h"
#include "party.h"
#include "process.h"

enum {
    TIMEOUT_MS = 3000,
    MARGIN_MS = 3000, /* of a machine that is busy */
    AT_ONCE_MS = 1500,
    SHORT_CUT_MS = 1000,
    CALM_MS = 1000,
    LONG_CUT_MS = 10000,
    PATIENCE_MS = 60000,
    ROUNDS = 3,
};

#define PORT "19248"
#define CONFIGURATION                                                                              \
    "[controller sci0]\ntransport = " TRANSPORT "\noptions = port=" PORT                           \
    "\n[limits]\npeer-timeout-ms = 3000\n"
#define ACCESS .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

static pid_t daemons[2];
static struct world *world;
static struct actor *exporter, *importer;

/* ---------------------------------------------------------------- the wire */

#define WHOLE     "0 0 0 0"
#define CUT       "0 0 100 100"
#define DATA_CUT  "0 0 100 100 " PORT /* the daemons' link is well */
#define RESETS    "0 0 100 100 " PORT " 1"
#define LOSSY     "0 0 1 1"
#define FAR       "50 0 0 0"
#define UNORDERED "1 10 0 0"

/* See links/wire.c. When it was ordered. */
static int64_t wire(const char *order)
{
    int64_t now = now_ms();
    FILE *orders = fopen(getenv("RSM_TEST_WIRE"), "we");
    assert_non_null(orders);
    fprintf(orders, "%s\n", order);
    assert_int_equal(fclose(orders), 0);
    usleep(20000); /* it has been read then */
    return now;
}

static void sleep_until(int64_t when_ms)
{
    int64_t left = when_ms - now_ms();
    if (left > 0)
        usleep((useconds_t)(left * 1000));
}

/* ---------------------------------------------------------------- what there is */

enum { SERVERS = 2, PIDS = 6 };

struct census {
    pid_t pids[PIDS]; /* daemons, what serves their data, exporter, importer */
    unsigned descriptors[PIDS], threads[PIDS];
};

static struct census before;

static void count(struct census *census)
{
    census->pids[0] = daemons[0];
    census->pids[1] = daemons[1];
    for (unsigned i = 0; i < SERVERS; i++)
        census->pids[2 + i] = process_child_of(daemons[i]);
    census->pids[4] = exporter->pid;
    census->pids[5] = importer->pid;
    for (unsigned i = 0; i < PIDS; i++) {
        assert_true(census->pids[i] > 0);
        census->descriptors[i] = process_descriptors(census->pids[i]);
        census->threads[i] = process_threads(census->pids[i]);
    }
}

/* One that has been replaced has no more than its predecessor. */
static unsigned surplus(const struct census *now, char *text, size_t size)
{
    unsigned found = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < PIDS; i++) {
        if (now->descriptors[i] <= before.descriptors[i] && now->threads[i] <= before.threads[i])
            continue;
        size_t used = strlen(text);
        snprintf(text + used, size - used, " %u: %u descriptors, %u threads, not %u, %u;", i,
                 now->descriptors[i], now->threads[i], before.descriptors[i], before.threads[i]);
        found++;
    }
    return found;
}

/* In the end nothing is left, and a connection is made as at first. */
static void check_nothing_left(void)
{
    struct census now;
    char text[512];
    int64_t deadline = now_ms() + PATIENCE_MS;
    host_await_segments(world, 1, 1);
    host_await_segments(world, 2, 0);
    for (;;) {
        count(&now);
        if (surplus(&now, text, sizeof text) == 0)
            return;
        if (now_ms() > deadline)
            fail_msg("left behind (0, 1: daemons, 2, 3: what serves their data, 4: exporter, 5: "
                     "importer):%s",
                     text);
        usleep(10000);
    }
}

/* ---------------------------------------------------------------- begin and end */

static void connect_importer(void)
{
    TELL_OK(importer, connect, .node = 1, .length = EXCHANGE_BYTES);
    TELL_OK(importer, init_barrier);
}

static void work_once(void)
{
    connect_importer();
    exchange_begin(exporter, importer);
    exchange_await(ROUNDS, PATIENCE_MS);
    assert_int_equal(exchange_end(exporter, importer), RSM_SUCCESS);
    TELL_OK(importer, disconnect);
}

static void start_exporter(void)
{
    exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = EXCHANGE_BYTES, ACCESS);
}

/* Not in set_up(): cmocka cleans up behind a test that fails, and not behind a set_up() that does. */
static void begin(struct world *on)
{
    const struct host hosts[] = {{1, CONFIGURATION}, {2, CONFIGURATION}};
    world = on;
    exchange_set_up();
    wire(WHOLE);
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    start_exporter();
    importer = actor_start(world, 2);
    work_once();
    host_await_segments(world, 1, 1);
    host_await_segments(world, 2, 0);
    count(&before);
}

static int tear_down(void **state)
{
    wire(WHOLE);
    hosts_end(daemons);
    return world_teardown(state);
}

#define TEST(test)                                                                                 \
    static void test(void);                                                                        \
    static void test##_case(void **state)                                                          \
    {                                                                                              \
        begin(*state);                                                                             \
        test();                                                                                    \
    }                                                                                              \
    TEST_ADDED(test, test##_case, world_setup, tear_down)                                          \
    static void test(void)

/* ---------------------------------------------------------------- nothing is lost */

/* So many rounds under that order, and then some without. */
static void go_through(const char *order, unsigned rounds)
{
    connect_importer();
    exchange_begin(exporter, importer);
    exchange_await(ROUNDS, PATIENCE_MS);
    int64_t began = wire(order);
    exchange_await(rounds, PATIENCE_MS);
    print_message("    %u rounds in %ld ms\n", rounds, (long)(now_ms() - began));
    wire(WHOLE);
    exchange_await(ROUNDS, PATIENCE_MS);
    assert_int_equal(exchange_end(exporter, importer), RSM_SUCCESS);
    TELL_OK(importer, disconnect);
    check_nothing_left();
}

TEST(test_one_percent_of_loss)
{
    go_through(LOSSY, 100);
}

TEST(test_far_away)
{
    go_through(FAR, 10);
}

TEST(test_out_of_order)
{
    go_through(UNORDERED, 20);
}

/* Between two cuts the daemons' link, whose retransmissions have their own pace, is heard of, too. */
TEST(test_a_short_cut)
{
    connect_importer();
    exchange_begin(exporter, importer);
    for (unsigned i = 0; i < 2; i++) {
        exchange_await(ROUNDS, PATIENCE_MS);
        int64_t began = wire(CUT);
        sleep_until(began + SHORT_CUT_MS);
        wire(WHOLE);
        sleep_until(began + SHORT_CUT_MS + CALM_MS);
    }
    exchange_await(ROUNDS, PATIENCE_MS);
    assert_int_equal(exchange_end(exporter, importer), RSM_SUCCESS);
    TELL_OK(importer, disconnect);
    check_nothing_left();
}

/* ---------------------------------------------------------------- errors */

static void await_links(void)
{
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
}

/* The importer's exchange, amid which the wire is as ordered, ends in the documented error. */
static int64_t break_by(const char *order, int at_most_ms)
{
    int error;
    connect_importer();
    exchange_begin(exporter, importer);
    exchange_await(ROUNDS, PATIENCE_MS);
    int64_t began = wire(order);
    int64_t took = exchange_await_error(exporter, importer, began, &error);
    assert_int_equal(error, RSMERR_CONN_ABORTED);
    assert_in_range(took, 0, at_most_ms);
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED, .value = 5);
    TELL_OK(importer, disconnect);
    return began;
}

static void all_is_well_again(void)
{
    await_links();
    work_once();
    check_nothing_left();
}

TEST(test_a_long_cut)
{
    int64_t began = break_by(CUT, TIMEOUT_MS + MARGIN_MS);
    host_await_segments(world, 1, 1); /* the exporter's host has noticed, too */
    assert_in_range(now_ms() - began, 0, LONG_CUT_MS);
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 1);
    sleep_until(began + LONG_CUT_MS);
    wire(WHOLE);
    all_is_well_again();
}

/* Of what goes through the wire only the data does not: the daemons see each other. */
TEST(test_a_black_hole_for_data)
{
    break_by(DATA_CUT, TIMEOUT_MS + MARGIN_MS);
    int64_t began = now_ms();
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 1);
    assert_in_range(now_ms() - began, 0, TIMEOUT_MS + MARGIN_MS);
    await_links();
    wire(WHOLE);
    all_is_well_again();
}

TEST(test_resets)
{
    break_by(RESETS, AT_ONCE_MS);
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 1);
    await_links();
    wire(WHOLE);
    all_is_well_again();
}

/* ---------------------------------------------------------------- half-open connections */

/* The exporter's host is told nothing of this end. */
TEST(test_an_importer_ends_behind_a_cut)
{
    connect_importer();
    TELL_OK(importer, put64, .value = 7);
    int64_t began = wire(CUT);
    actor_kill(importer);
    host_await_segments(world, 1, 1);
    assert_in_range(now_ms() - began, 0, TIMEOUT_MS + MARGIN_MS);
    wire(WHOLE);
    importer = actor_start(world, 2);
    all_is_well_again();
}

/* As if it had lost its power: nothing of it says goodbye. */
TEST(test_the_exporters_host_ends_behind_a_cut)
{
    int error;
    connect_importer();
    exchange_begin(exporter, importer);
    exchange_await(ROUNDS, PATIENCE_MS);
    int64_t began = wire(CUT);
    world_daemon_kill(world, 1);
    daemons[0] = 0;
    exporter->busy = false;
    actor_kill(exporter);
    int64_t took = exchange_await_error(NULL, importer, began, &error);
    assert_int_equal(error, RSMERR_CONN_ABORTED);
    assert_in_range(took, 0, TIMEOUT_MS + MARGIN_MS);
    TELL_OK(importer, disconnect);
    host_await_link(world, 2, 1, false);
    wire(WHOLE);
    daemons[0] = host_start(world, 1);
    start_exporter();
    all_is_well_again();
}
