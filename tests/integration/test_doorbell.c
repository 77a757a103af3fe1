/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts of importers to an exporter on another host by counters and a doorbell, over a bridge made of
 * shared memory or, in the lab, by the kernel module: counted and coalesced as ever, whoever is stopped, killed or started again; and
 * without the importers' daemon, which may be stopped meanwhile. Where one of the hosts has no
 * doorbells the daemons carry the same.
 */
#include "hosts.h"
#include "party.h"
#include "process.h"

enum { LENGTH = PARTY_PAGE, WAIT_MS = 20000, ASIDE_MS = 50, FLOOD = 20000 };

static char device[2][128], configuration[2][256];
static pid_t daemons[2]; /* 0: ended */
static struct world *world;
static struct actor *exporter, *importer;

/* That of a piece of rsm.conf: tests/ivshmem has made one for its server, the lab one for each end. */
static bool find_device(const char *name, char *found)
{
    char line[sizeof device[0] + 16];
    FILE *file = fopen(name, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "device = %127s", found) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return found[0] != '\0';
}

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

static void begin_with(void **state, const char *exporters, const char *importers)
{
    const char *const options[] = {exporters, importers};
    world = *state;
    for (unsigned i = 0; i < 2; i++)
        snprintf(configuration[i], sizeof configuration[i],
                 "[controller sci0]\ntransport = ntb\ndevice = %s\n"
                 "options = doorbell=%s\n[limits]\npeer-timeout-ms = 60000\n",
                 device[i], options[i]);
    const struct host hosts[] = {{1, configuration[0]}, {2, configuration[1]}};
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    host_await_reach(world, 1, 2);
    host_await_reach(world, 2, 1);
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
}

static void begin(void **state)
{
    begin_with(state, "yes", "yes");
}

static void post(unsigned times, uint32_t flags)
{
    while (times-- > 0)
        TELL_OK(importer, post_import, .flags = flags);
}

static void expect(unsigned times)
{
    while (times-- > 0)
        TELL_OK(exporter, wait_export, .timeout = WAIT_MS);
}

static void expect_nothing(void)
{
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = ASIDE_MS);
}

/* ------------------------------------------------------------------ counting */

static void counts(void)
{
    post(5, 0);
    expect(5);
    expect_nothing();
    post(1, RSM_SIGPOST_NO_ACCUMULATE);
    expect(1);
    expect_nothing();
    BEGIN(exporter, wait_export, .timeout = WAIT_MS);
    assert_false(actor_ended(exporter, ASIDE_MS));
    post(1, 0);
    assert_int_equal(ANSWER(exporter), RSM_SUCCESS);
    expect_nothing();
}

#define TEST(test) TEST_BETWEEN(test, world_setup, tear_down)

TEST(test_counts)
{
    begin(state);
    counts();
}

TEST(test_exporter_without)
{
    begin_with(state, "no", "yes");
    counts();
}

TEST(test_importer_without)
{
    begin_with(state, "yes", "no");
    counts();
}

/* What was stored before the post is there after the wait. */
TEST(test_data_come_first)
{
    begin(state);
    TELL_OK(importer, init_barrier);
    for (uint64_t value = 1; value <= 50; value++) {
        TELL_OK(importer, put64, .offset = 16, .value = value);
        post(1, 0);
        expect(1);
        assert_int_equal(ASK(exporter, load, .offset = 16).value, value);
    }
}

static int post_many(void *order)
{
    const struct order *told = order;
    for (uint64_t i = 0; i < told->value; i++)
        NEED(rsm_intr_signal_post(party_import(0)->handle, told->flags) == RSM_SUCCESS);
    return 0;
}

static int wait_many(void *order)
{
    const struct order *told = order;
    for (uint64_t i = 0; i < told->value; i++)
        NEED(rsm_intr_signal_wait(party_export(0)->handle, WAIT_MS) == RSM_SUCCESS);
    return 0;
}

TEST(test_flood)
{
    begin(state);
    struct order order = {.value = FLOOD};
    actor_begin(importer, post_many, &order, sizeof order);
    actor_begin(exporter, wait_many, &order, sizeof order);
    assert_int_equal(actor_end(importer, &order, sizeof order), 0);
    assert_int_equal(actor_end(exporter, &order, sizeof order), 0);
    expect_nothing();
    /* Nobody waits: they are one. The daemon may hear of the last of them after that was taken. */
    unsigned events = 0;
    order.flags = RSM_SIGPOST_NO_ACCUMULATE;
    assert_int_equal(actor_run(importer, post_many, &order, sizeof order), 0);
    while (TELL(exporter, wait_export, .timeout = 4 * ASIDE_MS) == RSM_SUCCESS)
        events++;
    assert_in_range(events, 1, 2);
}

/* ------------------------------------------------------------------ daemons */

/* The link between the daemons carries nothing. */
TEST(test_importers_daemon_stopped)
{
    begin(state);
    expect_nothing();
    process_freeze(daemons[1]);
    post(2, 0);
    expect(2);
    BEGIN(exporter, wait_export, .timeout = WAIT_MS);
    assert_false(actor_ended(exporter, ASIDE_MS));
    post(1, RSM_SIGPOST_NO_ACCUMULATE);
    assert_int_equal(ANSWER(exporter), RSM_SUCCESS);
    expect_nothing();
    process_thaw(daemons[1]);
    expect_nothing();
}

TEST(test_exporters_daemon_stopped)
{
    struct order order = {.value = 1000};
    begin(state);
    process_freeze(daemons[0]);
    assert_int_equal(actor_run(importer, post_many, &order, sizeof order), 0);
    process_thaw(daemons[0]);
    assert_int_equal(actor_run(exporter, wait_many, &order, sizeof order), 0);
    expect_nothing();
}

TEST(test_importers_daemon_killed)
{
    begin(state);
    post(3, 0);
    expect(3);
    world_daemon_kill(world, 2);
    daemons[1] = 0;
    host_await_segments(world, 1, 1);
    actor_kill(importer);
    daemons[1] = host_start(world, 2);
    host_await_link(world, 1, 2, true);
    host_await_reach(world, 1, 2);
    host_await_reach(world, 2, 1);
    importer = actor_start(world, 2);
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    expect_nothing(); /* what was posted before was taken */
    post(1, 0);
    expect(1);
    expect_nothing();
}

/* ------------------------------------------------------------------ ends */

/* The last word of an importer, who disconnects at once. */
static int post_and_leave(void *order)
{
    const struct order *told = order;
    for (uint64_t i = 0; i < told->value; i++)
        NEED(rsm_intr_signal_post(party_import(0)->handle, 0) == RSM_SUCCESS);
    return party_disconnect(order);
}

TEST(test_post_and_leave)
{
    begin(state);
    for (unsigned i = 0; i < 100; i++) {
        struct order order = {.value = 1 + i % 3};
        assert_int_equal(actor_run(importer, post_and_leave, &order, sizeof order), 0);
        expect(1 + i % 3);
        TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    }
    expect_nothing();
}

TEST(test_killed_importer)
{
    begin(state);
    struct actor *other = actor_start(world, 2);
    TELL_OK(other, connect, .node = 1, .length = LENGTH);
    post(2, 0);
    actor_kill(importer);
    TELL_OK(other, post_import);
    expect(3);
    expect_nothing();
    host_await_segments(world, 1, 2); /* the export, and one import */
    TELL_OK(other, post_import);
    expect(1);
}

int main(int argc, char **argv)
{
    if (argc != 3 || !find_device(argv[1], device[0]) || !find_device(argv[2], device[1])) {
        fprintf(stderr, "usage: ivshmem_server --controller sci0 -- %s {} {}\n", argv[0]);
        return 2;
    }
    return cases_run();
}
