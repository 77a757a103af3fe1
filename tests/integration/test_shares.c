/* SPDX-License-Identifier: BSD-3-Clause */
/* Users who want all that a node has: what their programs get, and what those of others do. */
#include "client.h"
#include "party.h"
#include "process.h"
#include "shared_node.h"

enum {
    GREEDY_UID = 65530,
    MODEST_UID = 65531,
    SEGMENTS = 40, /* max-segments */
    SHARE = 30,    /* of one user */
    RAW_MAX = 6000,
};

#define CONTROLLER "[controller sci0]\ntransport = shm\n"

static int few_segments(void **state)
{
    char configuration[128];
    snprintf(configuration, sizeof configuration, CONTROLLER "[limits]\nmax-segments = %d\n",
             SEGMENTS);
    return shared_node_setup_with(state, configuration);
}

static int little_memory(void **state)
{
    return shared_node_setup_with(state, CONTROLLER "[limits]\nmax-exported-memory = 1\n");
}

static int usual(void **state)
{
    return shared_node_setup_with(state, CONTROLLER);
}

/* Create segments until there are no more; how many. */
static int create_all(struct actor *actor)
{
    int count = 0, result;
    while ((result = TELL(actor, create, .slot = count, .length = PARTY_PAGE)) == RSM_SUCCESS)
        assert_true(++count < PARTY_SLOTS);
    assert_int_equal(result, RSMERR_INSUFFICIENT_RESOURCES);
    return count;
}

static void offer_one(struct actor *actor, uint32_t id)
{
    TELL_OK(actor, offer, .length = PARTY_PAGE, .id = id, .acl_count = 1, .acl = {{1, 0666}});
}

#define SHARES_TEST(test, setup) TEST_WITH(struct world *world, test, setup, shared_node_teardown)

SHARES_TEST(test_segments, few_segments)
{
    struct actor *greedy = actor_start_as(world, 1, GREEDY_UID);
    struct actor *again = actor_start_as(world, 1, GREEDY_UID);
    struct actor *modest = actor_start_as(world, 1, MODEST_UID);
    struct actor *root = actor_start_as(world, 1, 0);
    assert_int_equal(create_all(greedy), SHARE);
    assert_int_equal(create_all(again), 0);
    /* What he has works, and one for one there is more. */
    TELL_OK(greedy, publish, .id = PARTY_ID);
    TELL_GET(again, connect, RSMERR_INSUFFICIENT_RESOURCES, .node = 1);
    TELL_OK(greedy, destroy, .slot = SHARE - 1);
    TELL_OK(again, connect, .node = 1);
    TELL_GET(greedy, create, RSMERR_INSUFFICIENT_RESOURCES, .slot = SHARE - 1,
             .length = PARTY_PAGE);
    /* The others. */
    offer_one(modest, PARTY_ID + 1);
    TELL_OK(modest, connect, .node = 1, .id = PARTY_ID + 1);
    offer_one(root, PARTY_ID + 2);
    TELL_OK(root, connect, .node = 1, .id = PARTY_ID + 2);
}

/* Nothing is left of a user who was killed with all that he could get. */
SHARES_TEST(test_killed, few_segments)
{
    for (int i = 0; i < 5; i++) {
        struct actor *greedy = actor_start_as(world, 1, GREEDY_UID);
        int count = 0;
        /* rsmd may not have noticed yet what became of the last one. */
        for (int64_t until = now_ms() + CALL_TIMEOUT_MS; count < SHARE;) {
            assert_true(now_ms() < until);
            if (TELL(greedy, create, .slot = count, .length = PARTY_PAGE) == RSM_SUCCESS)
                count++;
        }
        TELL_GET(greedy, create, RSMERR_INSUFFICIENT_RESOURCES, .slot = count,
                 .length = PARTY_PAGE);
        actor_kill(greedy);
    }
}

SHARES_TEST(test_memory, little_memory)
{
    size_t percent = (size_t)sysconf(_SC_PHYS_PAGES) / 100 * PARTY_PAGE;
    size_t most = percent / 10 * 8 / PARTY_PAGE * PARTY_PAGE; /* more than a user's 75 percent */
    if (most > (size_t)1 << 30) {
        print_message("one percent of this machine's memory is too much\n");
        skip();
    }
    struct actor *greedy = actor_start_as(world, 1, GREEDY_UID);
    struct actor *root = actor_start_as(world, 1, 0);
    TELL_GET(greedy, create, RSMERR_INSUFFICIENT_MEM, .length = most);
    TELL_OK(greedy, create, .slot = 1, .length = most / 10 / PARTY_PAGE * PARTY_PAGE);
    TELL_OK(root, create, .length = most);
    TELL_OK(root, destroy);
}

/* ---------------------------------------------------------------- connections */

/* Say HELLO on so many connections as may be; they stay open. Answers .value, how many. */
static int greet_all(void *bytes)
{
    struct order *order = bytes;
    struct rlimit files;
    NEED(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    NEED(setrlimit(RLIMIT_NOFILE, &files) == 0);
    for (order->value = 0; order->value < RAW_MAX; order->value++) {
        int socket = client_connect(1);
        NEED(socket >= 0);
        int status = client_hello(socket, 1, CALL_TIMEOUT_MS / 2);
        if (status == RSM_ST_OK)
            continue;
        NEED(status == RSM_ST_NO_RESOURCES);
        close(socket);
        return 0;
    }
    return 0;
}

static int get_controller(void *unused)
{
    rsmapi_controller_handle_t controller;
    char name[] = "sci0";
    return rsm_get_controller(name, &controller);
}

SHARES_TEST(test_connections, usual)
{
    struct actor *greedy = actor_start_as(world, 1, GREEDY_UID);
    struct actor *again = actor_start_as(world, 1, GREEDY_UID);
    struct actor *modest = actor_start_as(world, 1, MODEST_UID);
    struct actor *root = actor_start_as(world, 1, 0);
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_max < 2 * RAW_MAX) {
        print_message("needs %d descriptors (RLIMIT_NOFILE)\n", 2 * RAW_MAX);
        skip();
    }
    struct order answer = party_ask(greedy, greet_all, (struct order){0});
    assert_int_equal(answer.result, 0);
    assert_int_equal(answer.value, 3072);
    /* A further program of his is told so, at once. */
    int64_t before = now_ms();
    assert_int_equal(actor_run(again, get_controller, NULL, 0), RSMERR_CTLR_NOT_PRESENT);
    assert_true(now_ms() - before < 5000);
    offer_one(modest, PARTY_ID);
    offer_one(root, PARTY_ID + 1);
    actor_kill(greedy);
    for (int64_t until = now_ms() + CALL_TIMEOUT_MS;
         actor_run(again, get_controller, NULL, 0) != 0;)
        assert_true(now_ms() < until);
}
