/* SPDX-License-Identifier: BSD-3-Clause */
/* What connections have in common: the pool of extents, the process that forks, threads. */
#include "test_sharing.h"

#include "cases.h"
#include "pair.h"

enum { PAGE = 4096, MIB = 1024 * 1024 };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

/* ------------------------------------------------------------------ pool */

static void pool_runs_dry(void **state)
{
    enum { EXTENTS = 24 };
    struct remote remotes[EXTENTS];
    uint32_t made;
    uint64_t word = 5;
    struct pair *pair = pair_open("pool=8M", "");
    node_settle(pair);
    struct node_report before = node_report(pair);
    assert_true(before.pool.pages > 0);
    for (int i = 0; i < EXTENTS; i++)
        remotes[i] = remote_make(pair, 256 * 1024);
    struct node_report after = node_report(pair);
    assert_int_equal(after.pool.served + after.pool.missed, EXTENTS);
    assert_true(after.pool.missed > 0);
    for (int i = 0; i < EXTENTS; i++) {
        struct rsm_conn *conn = pair_connect(pair, &remotes[i], both, &made);
        assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
        pair->ops->disconnect(conn);
        assert_int_equal(remotes[i].bytes[0], 5); /* disconnect lets puts arrive */
        node_revoke(pair, made);
    }
    node_settle(pair); /* it has followed the demand */
    struct remote ready = remote_make(pair, 256 * 1024);
    assert_int_equal(node_report(pair).pool.missed, after.pool.missed);
    assert_int_equal(ready.bytes[0], 0); /* and never hands out what was used */
    assert_true(node_report(pair).pool.pages <= 8 * MIB / PAGE);
    remote_free(pair, &ready);
    for (int i = 0; i < EXTENTS; i++)
        remote_free(pair, &remotes[i]);
    pair_close(pair);
}

/* ------------------------------------------------------------------ processes and threads */

static void fork_keeps_to_itself(void **state)
{
    uint32_t made;
    uint64_t word = 1;
    int status;
    struct pair *pair = pair_open("", "");
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    const struct rsm_import_ops *guarded = pair_guard(pair, conn);
    pid_t child = fork();
    if (child == 0) {
        bool refused = guarded->put(conn, 0, &word, 8) == RSM_ST_STALE &&
                       guarded->get(conn, 0, &word, 8) == RSM_ST_STALE &&
                       guarded->complete(conn) == RSM_ST_STALE &&
                       guarded->health(conn) != RSM_ST_OK;
        guarded->disconnect(conn);
        _exit(refused ? 0 : 1);
    }
    for (word = 1; word < 200; word++) {
        assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
        assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
        assert_int_equal(remote.bytes[0], word);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pair_unguard(conn);
    assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    pair->ops->disconnect(conn);
    remote_free(pair, &remote);
    pair_close(pair);
}

struct worker {
    struct pair *pair;
    struct rsm_conn *conn;
    uint64_t base;
    uint32_t seed;
    bool failed;
};

static void *work(void *argument)
{
    enum { MOST = 200000 };
    static const size_t lengths[] = {8, 300, 5000, 70000, MOST};
    struct worker *w = argument;
    uint8_t *buffer = malloc(MOST);
    for (unsigned i = 0; i < 40 && buffer != NULL && !w->failed; i++) {
        size_t length = lengths[i % 5];
        pattern_fill(buffer, length, w->seed + i);
        w->failed = w->pair->ops->put(w->conn, w->base, buffer, length) != RSM_ST_OK;
        memset(buffer, 0, length);
        w->failed = w->failed || w->pair->ops->get(w->conn, w->base, buffer, length) != RSM_ST_OK ||
                    !pattern_is(buffer, length, w->seed + i) ||
                    w->pair->ops->complete(w->conn) != RSM_ST_OK;
    }
    free(buffer);
    return NULL;
}

static void threads_share(void **state)
{
    enum { THREADS = 4 };
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint32_t made;
    struct pair *pair = pair_open("", "");
    struct remote remote = remote_make(pair, MIB);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.pair = pair,
                                     .conn = conn,
                                     .base = (uint64_t)i * (MIB / THREADS),
                                     .seed = (uint32_t)i * 50};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].failed);
    }
    pair->ops->disconnect(conn);
    remote_free(pair, &remote);
    pair_close(pair);
}

int sharing_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_runs_dry),
        cmocka_unit_test(fork_keeps_to_itself),
        cmocka_unit_test(threads_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
