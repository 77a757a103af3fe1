/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two hosts on two RDMA devices, and what may happen to them: every fault ends in an error within
 * its time, nothing hangs, and what is made afterwards works. The network between the daemons is
 * another one than that between the devices, so that each can fail alone.
 */
#include "hosts.h"
#include "process.h"
#include "transfer.h"

enum { EXPORTER = 1, IMPORTER = 2, LIMIT_BYTES = 4096, OUTPUT_BYTES = 2048, TICK_MS = 100 };

/* Of the two nodes that there are. */
#define ANYBODY                                                                                    \
    .acl_count = 2, .acl = {{.ae_node = EXPORTER, .ae_permission = 0666},                          \
                            {.ae_node = IMPORTER, .ae_permission = 0666}}

static struct world *world;
static struct actor *exporter, *importer;
static pid_t daemons[2];
static const char *verbs_options = ""; /* of both controllers */

/* ---------------------------------------------------------------- the stage */

static void shell(const char *command)
{
    int status = system(command);
    if (status != 0)
        fail_msg("status %#x: %s", (unsigned)status, command);
}

static void network_as_before(void)
{
    shell("tc qdisc del dev v1 root 2>/dev/null; tc qdisc del dev v2 root 2>/dev/null;"
          ". /lab/guest/lab.sh && lab_link_up");
}

/* A loaded machine under emulation may be slow to answer, so that peers have some patience. What a
 * device has lost shall come back sooner. */
static void configure(char text[LIMIT_BYTES], const char *device)
{
    snprintf(text, LIMIT_BYTES,
             "[controller sci0]\ntransport = verbs\ndevice = %s\noptions = timeout=3000 %s\n"
             "[limits]\npeer-timeout-ms = 6000\n",
             device, verbs_options);
}

/* In the test, not in its setup: after a failure there the teardown would not be done. */
static void open_stage(void **state)
{
    static char configuration[2][LIMIT_BYTES];
    static const struct host hosts[] = {{EXPORTER, configuration[0]}, {IMPORTER, configuration[1]}};
    world = *state;
    configure(configuration[0], "rxe1");
    configure(configuration[1], "rxe2");
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    exporter = actor_start(world, EXPORTER);
    importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, offer, .length = BLOCK, ANYBODY);
    TELL_OK(importer, join, .node = EXPORTER, .length = BLOCK);
}

static int close_stage(void **state)
{
    network_as_before();
    for (unsigned i = 0; i < 2; i++)
        if (daemons[i] != 0)
            world_daemon_end(daemons[i]);
    daemons[0] = daemons[1] = 0;
    return world_teardown(state);
}

static void restart_daemon(unsigned node)
{
    daemons[node - 1] = host_start(world, node);
    host_await_link(world, EXPORTER, IMPORTER, true);
    host_await_link(world, IMPORTER, EXPORTER, true);
}

static void kill_daemon(unsigned node)
{
    world_daemon_kill(world, node);
    daemons[node - 1] = 0;
}

static void begin_putting(void)
{
    BEGIN(importer, put_rounds, .length = BLOCK);
    BEGIN(exporter, await_rounds, .value = 2);
    while (!actor_ended(exporter, TICK_MS))
        if (actor_ended(importer, 0))
            fail_msg("the puts ended early, with %d", ANSWER(importer));
    assert_int_equal(ANSWER(exporter), RSM_SUCCESS);
}

/* The rounds end with one of the errors that a fault may have, and so does the next transfer. */
static void expect_error(void)
{
    int error = ANSWER(importer);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        fail_msg("the put ended with %d", error);
    error = TELL(importer, there_and_back, .length = PARTY_PAGE, .value = 1);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        fail_msg("the put after it ended with %d", error);
}

/* A connection that is made now works, whatever became of the old one. */
static void expect_new_connection(void)
{
    TELL_OK(importer, disconnect);
    TELL_OK(importer, join, .node = EXPORTER, .length = BLOCK);
    TELL_OK(importer, there_and_back, .length = BLOCK, .value = 77);
}

/* An exporter and an importer that begin anew. */
static void expect_fresh_pair(void)
{
    struct actor *second_exporter = actor_start(world, EXPORTER);
    struct actor *second_importer = actor_start(world, IMPORTER);
    TELL_OK(second_exporter, offer, .length = BLOCK, .id = PARTY_ID + 1, ANYBODY);
    TELL_OK(second_importer, join, .node = EXPORTER, .length = BLOCK, .id = PARTY_ID + 1);
    TELL_OK(second_importer, there_and_back, .length = BLOCK, .value = 78);
}

/* ---------------------------------------------------------------- the network */

static void fail_network(const char *command)
{
    begin_putting();
    shell(command);
    expect_error();
    network_as_before();
    expect_new_connection();
}

static void test_own_link_down(void **state)
{
    open_stage(state);
    fail_network("ip link set v2 down");
}

static void test_peers_link_down(void **state)
{
    open_stage(state);
    fail_network("ip link set v1 down");
}

static void test_all_requests_lost(void **state)
{
    open_stage(state);
    fail_network("tc qdisc add dev v2 root netem loss 100%");
}

static void test_all_replies_lost(void **state)
{
    open_stage(state);
    fail_network("tc qdisc add dev v1 root netem loss 100%");
}

/* Packets that the queueing discipline of a device has dropped. */
static unsigned long dropped(const char *device)
{
    char command[LIMIT_BYTES], output[OUTPUT_BYTES];
    snprintf(command, sizeof command, "tc -s qdisc show dev %s | sed -n 's/.*dropped //p'", device);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_non_null(fgets(output, sizeof output, pipe));
    assert_int_equal(pclose(pipe), 0);
    return strtoul(output, NULL, 10);
}

/* Loss in one direction: nothing is lost, torn or reordered for the caller, only late. */
static void lose_some_of(const char *device)
{
    enum { ENOUGH = 5, ROUNDS_MAX = 2000 };
    char command[LIMIT_BYTES];
    snprintf(command, sizeof command, "tc qdisc add dev %s root netem loss 10%%", device);
    shell(command);
    for (unsigned round = 1; dropped(device) < ENOUGH; round++) {
        assert_true(round < ROUNDS_MAX);
        TELL_OK(importer, there_and_back, .length = PARTY_PAGE, .value = round);
    }
}

static void test_some_requests_lost(void **state)
{
    open_stage(state);
    lose_some_of("v2");
}

static void test_some_replies_lost(void **state)
{
    open_stage(state);
    lose_some_of("v1");
}

/* ---------------------------------------------------------------- processes */

static void test_exporter_killed(void **state)
{
    open_stage(state);
    begin_putting();
    actor_kill(exporter);
    expect_error();
    TELL_OK(importer, disconnect);
    expect_fresh_pair();
}

static void test_exporter_frozen(void **state)
{
    open_stage(state);
    pid_t pid = exporter->pid;
    process_freeze(pid);
    TELL_OK(importer, there_and_back, .length = BLOCK, .value = 5);
    process_thaw(pid);
}

static void test_importer_killed(void **state)
{
    open_stage(state);
    begin_putting();
    actor_kill(importer);
    importer = actor_start(world, IMPORTER);
    TELL_OK(importer, join, .node = EXPORTER, .length = BLOCK);
    TELL_OK(importer, there_and_back, .length = BLOCK, .value = 6);
    TELL_OK(exporter, withdraw);
}

/* An importer that stands still in the midst of its puts holds nobody up. */
static void test_importer_frozen(void **state)
{
    open_stage(state);
    begin_putting();
    process_freeze(importer->pid);
    TELL_OK(exporter, unpublish);
    uint64_t sum = ASK(exporter, sum, .length = BLOCK).value;
    process_thaw(importer->pid);
    expect_error();
    assert_true(ASK(exporter, sum, .length = BLOCK).value == sum);
}

/* ---------------------------------------------------------------- daemons */

static void test_exporters_daemon_killed(void **state)
{
    open_stage(state);
    begin_putting();
    kill_daemon(EXPORTER);
    expect_error();
    TELL_OK(importer, disconnect);
    restart_daemon(EXPORTER);
    expect_fresh_pair();
}

static void test_importers_daemon_killed(void **state)
{
    open_stage(state);
    begin_putting();
    kill_daemon(IMPORTER);
    expect_error();
    TELL_OK(importer, disconnect);
    restart_daemon(IMPORTER);
    expect_fresh_pair();
}

static void test_exporters_daemon_frozen(void **state)
{
    open_stage(state);
    begin_putting();
    process_freeze(daemons[EXPORTER - 1]);
    expect_error();
    TELL_OK(importer, disconnect);
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = EXPORTER);
    process_thaw(daemons[EXPORTER - 1]);
    TELL_OK(importer, join, .node = EXPORTER, .length = BLOCK);
    TELL_OK(importer, there_and_back, .length = BLOCK, .value = 7);
}

/* ---------------------------------------------------------------- rights */

/* From the return of unpublish on, no byte of a put that is on its way lands. */
static void test_revoked(void **state)
{
    open_stage(state);
    for (uint64_t rounds = 1; rounds <= 5; rounds++) {
        begin_putting();
        TELL_OK(exporter, await_rounds, .value = rounds);
        TELL_OK(exporter, unpublish);
        uint64_t sum = ASK(exporter, sum, .length = BLOCK).value;
        expect_error();
        TELL_OK(importer, disconnect);
        assert_true(ASK(exporter, sum, .length = BLOCK).value == sum);
        TELL_OK(exporter, publish, .id = PARTY_ID, ANYBODY);
        TELL_OK(importer, join, .node = EXPORTER, .length = BLOCK);
    }
}

static void test_user_refused(void **state)
{
    open_stage(state);
    struct actor *stranger = actor_start_as(world, IMPORTER, UNPRIVILEGED_UID);
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1,
            .acl = {{.ae_node = IMPORTER, .ae_permission = 0600}});
    TELL_GET(stranger, connect, RSMERR_PERM_DENIED, .node = EXPORTER);
    TELL_OK(exporter, republish, .acl_count = 1,
            .acl = {{.ae_node = IMPORTER, .ae_permission = 0604}});
    TELL_GET(stranger, connect, RSMERR_PERM_DENIED, .node = EXPORTER);
    TELL_OK(stranger, join, .node = EXPORTER, .permission = RSM_PERM_READ);
    TELL_GET(stranger, there_and_back, RSMERR_PERM_DENIED, .length = PARTY_PAGE, .value = 1);
}

/* ---------------------------------------------------------------- limits */

/* An ordinary user's limit counts. What does not fit fails with an error that says so and leaves
 * nothing behind: with more it works in the same process. */
static void test_little_locked_memory(void **state)
{
    enum { NEARLY_NONE = 64 * 1024, ENOUGH = 4 * 1024 * 1024, LARGE = 16 * 1024 * 1024 };
    const struct rlimit most = {.rlim_cur = 4 * LARGE, .rlim_max = 4 * LARGE};
    open_stage(state);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &most), 0); /* does not bind this process */
    struct actor *user = actor_start_as(world, IMPORTER, UNPRIVILEGED_UID);
    struct order told = ASK(user, open_short_of_memory, .value = NEARLY_NONE);
    assert_int_equal(told.result, RSMERR_INSUFFICIENT_RESOURCES);
    assert_int_equal(told.flags, 1);
    TELL_OK(user, open_short_of_memory, .value = ENOUGH);
    TELL_OK(user, join, .node = EXPORTER, .length = BLOCK);
    told = ASK(user, register_short_of_memory, .value = ENOUGH, .length = LARGE);
    assert_int_equal(told.result, RSMERR_INSUFFICIENT_RESOURCES);
    assert_int_equal(told.flags, 1);
    TELL_OK(user, register_short_of_memory, .value = most.rlim_cur, .length = LARGE);
    TELL_OK(user, there_and_back, .length = BLOCK, .value = 8);
}

#define FAULT(test) cmocka_unit_test_setup_teardown(test, world_setup, close_stage)

static bool is_known(const struct CMUnitTest *tests, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tests[i].name, name) == 0)
            return true;
    return false;
}

/* [--options=OPTIONS of the transport] [TEST...]; without a name, all tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FAULT(test_own_link_down),
        FAULT(test_peers_link_down),
        FAULT(test_all_requests_lost),
        FAULT(test_all_replies_lost),
        FAULT(test_some_requests_lost),
        FAULT(test_some_replies_lost),
        FAULT(test_exporter_killed),
        FAULT(test_exporter_frozen),
        FAULT(test_importer_killed),
        FAULT(test_importer_frozen),
        FAULT(test_exporters_daemon_killed),
        FAULT(test_importers_daemon_killed),
        FAULT(test_exporters_daemon_frozen),
        FAULT(test_revoked),
        FAULT(test_user_refused),
        FAULT(test_little_locked_memory),
    };
    int failed = 0;
    bool named = false;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--options=", 10) == 0) {
            verbs_options = argv[i] + 10;
            continue;
        }
        if (!is_known(tests, sizeof tests / sizeof *tests, argv[i])) {
            fprintf(stderr, "there is no test %s\n", argv[i]);
            return EXIT_FAILURE;
        }
        named = true;
        cmocka_set_test_filter(argv[i]);
        failed |= cmocka_run_group_tests(tests, NULL, NULL);
    }
    if (!named)
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed != 0;
}
