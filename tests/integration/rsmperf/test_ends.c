/* SPDX-License-Identifier: BSD-3-Clause */
/* Two commands, and what is left when either of them ends, in order or not. */
#include "figures.h"
#include "party.h"
#include "process.h"

enum { SERVER_ID = 0x4f5246, SLOT_WORDS = 8, SLOTS = 63 };

/* A server on node 1, which answers; the next commands are node 2's. */
static struct run start_server(const struct world *world)
{
    be_node(1);
    struct run server = run_begin(world, geteuid(), "--serve", -1);
    run_await(&server, "Serving as node 1, segment 0x4f5246", 1);
    be_node(2);
    return server;
}

static void stop_server(struct run *server)
{
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    struct outcome outcome = run_end(server);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    outcome_free(&outcome);
}

/* What it has written is of no use. */
static void end_by_kill(struct run *run)
{
    int status;
    assert_int_equal(kill(run->pid, SIGKILL), 0);
    assert_int_equal(child_await(run->pid, 0, RUN_MS, &status), run->pid);
    close(run->out);
    close(run->err);
    free(run->seen);
}

RSMPERF_TEST(test_two_commands)
{
    struct run server = start_server(world);
    struct json_value *root = run_json(world, geteuid(), "-n 1 -s 8,64K -t 5", 0);
    check_figures(root, 2 * 6 + 15, false);
    assert_int_equal(get_number(root, "node"), 2);
    assert_int_equal(get_number(root, "server_node"), 1);
    json_free(root);
    root = run_json(world, geteuid(), "-n 1 -i 2 -s 1M -o put,get,post-sleep -t 5", 0);
    check_figures(root, 3, false);
    json_free(root);
    check_fails(world, "-n 1 --limit tcp -s 8", 1, "the server: it runs without --limit tcp");
    be_node(1);
    check_fails(world, "--serve", 1, "RSMERR_SEGID_IN_USE: another 'rsmperf --serve' runs");
    stop_server(&server);
}

/* The server's process for the limit has another one for each importer, and goes with it. */
RSMPERF_TEST(test_two_commands_limit)
{
    be_node(1);
    struct run server = run_begin(world, geteuid(), "--serve --limit tcp:127.0.0.2", -1);
    run_await(&server, "Serving as node 1, segment 0x4f5246", 1);
    be_node(2);
    struct json_value *root =
        run_json(world, geteuid(), "-n 1 --limit tcp -s 8,64K -o get -t 5", 0);
    check_figures(root, 2, true);
    json_free(root);
    stop_server(&server);
    await_left(world, 0);
}

RSMPERF_TEST(test_peer_missing)
{
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, open);
    be_node(2);
    check_fails(world, "-n 1", 1, "RSMERR_SEG_NOT_PUBLISHED: no 'rsmperf --serve' runs");
    check_fails(world, "-n 9 -i 3", 1, "RSMERR_REMOTE_NODE_UNREACHABLE: the node cannot be");
}

/* A segment under the server's id that nobody answers for. */
RSMPERF_TEST(test_not_a_server)
{
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, offer, .id = SERVER_ID, .length = PARTY_PAGE);
    be_node(2);
    check_fails(world, "-n 1 -s 8", 1, "asking the server: the far side does not answer");
}

RSMPERF_TEST(test_server_killed)
{
    struct run server = start_server(world);
    struct run client = run_begin(world, geteuid(), "-n 1 -o put,post-sleep -s 8 -t 60000", -1);
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, open);
    await_exports(world, 3); /* slots, commands, data: it is measuring or about to */
    end_by_kill(&server);
    struct outcome outcome = run_end(&client);
    assert_int_equal(outcome.status, 1);
    if (strstr(outcome.err, "RSMERR_CONN_ABORTED") == NULL &&
        strstr(outcome.err, "does not answer") == NULL &&
        strstr(outcome.err, "RSMERR_SEG_NOT_PUBLISHED") == NULL)
        fail_msg("%s", outcome.err);
    outcome_free(&outcome);
    await_left(world, 0);
    await_exports(world, 0);
}

/* The server notices and goes on. */
RSMPERF_TEST(test_client_killed)
{
    struct run server = start_server(world);
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, open);
    for (int i = 0; i < 2; i++) {
        struct run client = run_begin(world, geteuid(),
                                      i == 0 ? "-n 1 -i 2 -o put -s 64K -t 60000"
                                             : "-n 1 -i 2 -o pingpong -s 64K -t 60000",
                                      -1);
        await_exports(world, 5);
        end_by_kill(&client);
        await_left(world, 1);
        await_exports(world, 1);
    }
    struct json_value *root = run_json(world, geteuid(), "-n 1 -o put -s 8 -t 5", 0);
    check_figures(root, 1, false);
    json_free(root);
    stop_server(&server);
}

RSMPERF_TEST(test_killed)
{
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, open);
    struct run both = run_begin(world, geteuid(), "-i 2 -o put -s 8 -t 60000", -1);
    await_exports(world, 7); /* of the server 1 + 2 * 2, of each importer its answers */
    end_by_kill(&both);
    await_left(world, 0);
    await_exports(world, 0);
}

RSMPERF_TEST(test_interrupted)
{
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, open);
    static const int signals[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct run both = run_begin(world, geteuid(), "-o put -s 8 -t 60000", -1);
        await_exports(world, 4);
        assert_int_equal(kill(both.pid, signals[i]), 0);
        struct outcome outcome = run_end(&both);
        assert_int_equal(outcome.status, 1);
        assert_string_equal(outcome.err, "rsmperf: interrupted\n");
        outcome_free(&outcome);
        await_left(world, 0);
        await_exports(world, 0);
    }
}

/* Requests that can be served take all places until their lanes find no answer page. */
static void await_room(const struct world *world)
{
    int64_t deadline = now_ms() + RUN_MS;
    for (bool served = false; !served;) {
        struct outcome outcome = run(world, "-n 1 -o put -s 8 -t 5");
        served = outcome.status == 0;
        if (!served && (strstr(outcome.err, "no room") == NULL || now_ms() > deadline))
            fail_msg("exit status %d: %s", outcome.status, outcome.err);
        outcome_free(&outcome);
    }
}

/* Requests that make no sense are refused or passed over, and the next one is served. */
RSMPERF_TEST(test_hostile_requests)
{
    static const uint64_t requests[][SLOT_WORDS] = {
        {1, 1, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {2, 2, 1, 1, SERVER_ID, 0},
        {3, 3, 1, 2, 0x400000, 1 << 20},
        {4, 5, 1, 2, 0x400000, 4096},
        {6, 6, 99, 2, 0x400000, 4096},
        {7, 7, 1, 64, 0x7fffffff, 4096},
        {8, 8, 1, 1, SERVER_ID, 4096}, /* the server's own slots as the answer page */
    };
    struct run server = start_server(world);
    struct actor *actor = actor_start(world, 2);
    TELL_OK(actor, connect, .node = 1, .id = SERVER_ID, .length = PARTY_PAGE);
    TELL_OK(actor, init_barrier);
    for (size_t i = 0; i < SLOTS; i++) {
        const uint64_t *words = requests[i % (sizeof requests / sizeof *requests)];
        for (size_t w = SLOT_WORDS; w-- > 0;)
            TELL_OK(actor, put64, .offset = (off_t)(8 * (i * SLOT_WORDS + w)), .value = words[w]);
        TELL_OK(actor, post_import);
    }
    await_room(world);
    struct json_value *root = run_json(world, geteuid(), "-n 1 -o put -s 8 -t 5", 0);
    check_figures(root, 1, false);
    json_free(root);
    TELL_OK(actor, disconnect);
    stop_server(&server);
}
