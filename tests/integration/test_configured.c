/* SPDX-License-Identifier: BSD-3-Clause */
/* A node whose daemon was configured: however that ends, nobody takes its place, and clients wait
 * for it. */
#include "protocol/runtime.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = 2 * PARTY_PAGE,
    WAITS = 600,      /* ms after which a call is said to wait */
    MOST = 10000,     /* ms that a daemon is waited for */
    FOUND_MAX = 2000, /* ms until waiting clients have found it; they look every 5 */
};

static pid_t kill_daemon(pid_t daemon)
{
    int status;
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(child_await(daemon, 0, CALL_TIMEOUT_MS, &status), daemon);
    return daemon;
}

/* While there is no daemon a new client waits; when there is one again it goes on at once. The only
 * other daemon is that of node 2. */
static pid_t restart_under(struct world *world, struct actor *client)
{
    BEGIN(client, open);
    assert_false(actor_ended(client, WAITS));
    assert_int_equal(world_daemon_count(world), 1);
    pid_t daemon = world_daemon_start(world, 1);
    int64_t start = now_ms();
    assert_int_equal(ANSWER(client), RSM_SUCCESS);
    int64_t took = now_ms() - start;
    print_message("    found %d ms after it listened\n", (int)took);
    assert_true(took < FOUND_MAX);
    assert_int_equal(world_daemon_count(world), 2);
    assert_int_equal(world_daemon(world, 1), daemon);
    return daemon;
}

WORLD_TEST(test_restarts)
{
    struct actor *early = actor_start(world, 1), *other = actor_start(world, 2);
    pid_t daemon = world_daemon_start(world, 1);
    TELL_OK(other, open); /* its node is an embedded one */
    TELL_OK(early, offer, .length = LENGTH, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(other, attach, .node = 1, .length = LENGTH);

    kill_daemon(daemon); /* its socket stays behind */
    daemon = restart_under(world, actor_start(world, 1));
    TELL_GET(other, await_abort, RSMERR_CONN_ABORTED, .timeout = FOUND_MAX);
    TELL_OK(other, detach);
    TELL_OK(early, destroy);
    TELL_OK(early, drop);
    TELL_OK(early, offer, .length = LENGTH, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(other, attach, .node = 1, .length = LENGTH);

    world_daemon_end(daemon); /* with its socket */
    daemon = restart_under(world, actor_start(world, 1));
    TELL_OK(other, detach);
    actor_stop(other);
    actor_stop(early);
    for (unsigned i = 0; i < world->actor_count; i++)
        if (world->actors[i].pid != 0)
            actor_stop(&world->actors[i]);
    world_daemon_end(daemon);
}

static int need_root(void **state)
{
    program_needs_root();
    return world_setup(state);
}

/* Ten seconds, and no more. What is to be done then is in the log. */
TEST_WITH(struct world *world, test_never_restarted, need_root, world_teardown)
{
    char lock[WORLD_PATH_BYTES + 32];
    struct stat status;
    world_daemon_end(world_daemon_start(world, 1));
    snprintf(lock, sizeof lock, "%s/node-1.lock", world->directory);
    assert_int_equal(stat(lock, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600); /* who can open it can lock it */
    struct actor *client = actor_start(world, 1), *second = actor_start_as(world, 1, 65533);
    int64_t start = now_ms();
    BEGIN(client, open);
    BEGIN(second, open); /* who cannot read the lock file */
    assert_int_equal(ANSWER(client), RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(ANSWER(second), RSMERR_CTLR_NOT_PRESENT);
    assert_true(now_ms() - start >= MOST);
    assert_true(now_ms() - start < 2 * MOST);
    assert_int_equal(world_daemon_count(world), 0);
    /* Once nobody is to run there, the library may again. */
    assert_int_equal(unlink(lock), 0);
    TELL_OK(client, open);
    assert_int_equal(world_daemon_count(world), 1);
}
