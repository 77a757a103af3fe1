/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals of an importer to the exporter's node over the window, without its own node. */
#include <endian.h>

#include "two_hosts.h"

static bool can_post(void)
{
    return (segment.conn->caps & RSM_CAP_REMOTE_SIGNAL) != 0;
}

static void post(unsigned times, bool coalesce)
{
    while (times-- > 0)
        assert_int_equal(import_ops->signals->post(segment.conn, coalesce), RSM_ST_OK);
}

static const struct ntb_offer *offer(void)
{
    return RSM_CONTAINER_OF(segment.made, struct ntb_offer, base);
}

/* The counters of node 1, which comes first. */
static uint64_t *counters(void)
{
    return (uint64_t *)(void *)(shared + NTB_POSTS_AT);
}

static uint64_t *counter(void)
{
    assert_in_range(offer()->connection, 0, NTB_CONNECTIONS - 1);
    return counters() + offer()->connection;
}

static struct rsm_signals collected(void)
{
    struct rsm_signals posted;
    node_ops->signals->collect(host[1].port, segment.made, &posted);
    return posted;
}

static void let_go(void)
{
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
}

/* ------------------------------------------------------------------ posts */

static void posts_arrive(void **state)
{
    import_it();
    assert_true(can_post());
    look(1);
    assert_int_equal(host[1].posts + host[1].coalesced, 0);
    post(3, false);
    look(1); /* and nobody looks for node 2 */
    assert_int_equal(host[1].posts, 3);
    assert_ptr_equal(host[1].last, segment.made);
    post(5, true);
    look(1);
    assert_int_equal(host[1].posts, 3);
    assert_int_equal(host[1].coalesced, 1);
    post(2, false);
    post(2, true);
    look(1);
    assert_int_equal(host[1].posts, 5);
    assert_int_equal(host[1].coalesced, 1); /* behind posts that nobody has taken */
    look(1);
    assert_int_equal(host[1].posts, 5);
}

/* With hearts that hardly beat only the bell can tell; and it is silent when nothing has come. */
static void the_bell_wakes(void **state)
{
    import_it();
    struct pollfd readable = {.fd = node_ops->event_fd(host[1].port), .events = POLLIN};
    for (unsigned i = 0; i < 3; i++) {
        AWAIT(poll(&readable, 1, 0) == 0);
        assert_int_equal(poll(&readable, 1, 50), 0);
        post(1, i == 1);
        assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
        look(1);
        assert_int_equal(host[1].posts + host[1].coalesced, i + 1);
    }
}

static void a_child_posts_by_the_same_counter(void **state)
{
    int status;
    import_it();
    post(1, false);
    pid_t child = fork();
    if (child == 0)
        _exit(import_ops->signals->post(segment.conn, false) == RSM_ST_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    post(1, false);
    look(1);
    assert_int_equal(host[1].posts, 3);
}

/* ------------------------------------------------------------------ who does without */

static void nobody_posts(void **state)
{
    import_it();
    assert_false(can_post());
    assert_int_not_equal(import_ops->signals->post(segment.conn, false), RSM_ST_OK);
    assert_int_equal(put_word(5), RSM_ST_OK); /* all else is as ever */
    look(1);
    assert_int_equal(host[1].posts + host[1].coalesced, 0);
}

/* A host that knows nothing of counters gets grants as it knows them. */
static void grants_are_as_before(void **state)
{
    struct ntb_grant grant;
    nobody_posts(state);
    assert_int_equal(offer()->connection, NTB_NO_CONNECTION);
    assert_true(
        ntb_grant_decode(segment.grant.blob, segment.grant.blob_len, LENGTH, MEMORY / 2, &grant));
    assert_int_equal(segment.grant.blob[0], NTB_GRANT_MAGIC & 0xff);
    assert_int_equal(segment.grant.blob[4], 1); /* version */
    assert_int_equal(segment.grant.blob_len, 7 * 4 + 16);
}

/* Whoever may only read has no descriptor that writes. */
static void readers_do_not(void **state)
{
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(RSM_RIGHT_READ), RSM_ST_OK);
    connect_it(RSM_RIGHT_READ);
    assert_false(can_post());
}

/* All counters are in use: the next connection does without, and memory is there for it. */
static void more_connections_than_counters(void **state)
{
    static struct rsm_node_offer *made[NTB_CONNECTIONS];
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++) {
        assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
        assert_int_equal(offer()->connection, i);
        made[i] = segment.made;
    }
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    connect_it(READ_WRITE);
    assert_false(can_post());
    look(1);
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++) {
        node_ops->revoke(host[1].port, made[i]);
        node_ops->imports->released(host[1].port, made[i]);
    }
    assert_int_equal(ntb_window_of(host[1].port)->connections_end, 0);
    let_go();
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    connect_it(READ_WRITE);
    assert_true(can_post());
}

/* ------------------------------------------------------------------ ends */

/* A counter is another connection's when the importer's node has let go of it, and begins anew. */
static void counters_are_not_inherited(void **state)
{
    import_it();
    post(4, false);
    post(1, true);
    look(1);
    uint32_t connection = offer()->connection;
    struct rsm_node_offer *first = segment.made;
    post(2, false); /* seen by nobody */
    node_ops->revoke(host[1].port, first);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    assert_int_not_equal(offer()->connection, connection); /* the former importer may still post */
    node_ops->revoke(host[1].port, segment.made);
    node_ops->imports->released(host[1].port, segment.made);
    let_go();
    node_ops->imports->released(host[1].port, first);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    assert_int_equal(offer()->connection, connection);
    connect_it(READ_WRITE);
    uint64_t before = host[1].posts;
    look(1);
    assert_int_equal(host[1].posts, before);
    post(1, false);
    look(1);
    assert_int_equal(host[1].posts, before + 1);
}

static void the_last_posts_are_collected(void **state)
{
    import_it();
    post(1, true);
    post(2, false);
    disconnect_it();
    struct rsm_signals posted = collected();
    assert_int_equal(posted.count, 2);
    assert_true(posted.coalesced);
    assert_int_equal(collected().count, 0);
    look(1);
    assert_int_equal(host[1].posts, 0); /* once is enough */
    *counter() = htole64(100);
    node_ops->revoke(host[1].port, segment.made);
    assert_int_equal(collected().count, 0);
    look(1);
    assert_int_equal(host[1].posts, 0);
}

static void posts_end_with_the_session(void **state)
{
    import_it();
    post(1, false);
    close_host(2);
    AWAIT(host[1].peer == 0);
    node_ops->revoke(host[1].port, segment.made);
    uint64_t before = host[1].posts;
    post(5, false); /* the process has not been told */
    look(1);
    assert_int_equal(host[1].posts, before);
    disconnect_it();
    free(RSM_CONTAINER_OF(segment.entry, struct ntb_import, base)); /* its daemon ended */
    segment.entry = NULL;
    open_host(2);
    await_session();
    node_ops->imports->released(host[1].port, segment.made);
    import_it();
    look(1);
    assert_int_equal(host[1].posts, before);
    post(1, false);
    look(1);
    assert_int_equal(host[1].posts, before + 1);
}

static void another_exporters_daemon_counts_anew(void **state)
{
    import_it();
    post(7, false);
    let_go();
    close_host(1);
    AWAIT(host[2].peer == 0);
    open_host(1);
    await_session();
    import_it();
    look(1);
    assert_int_equal(host[1].posts, 0);
    post(1, false);
    look(1);
    assert_int_equal(host[1].posts, 1);
}

/* ------------------------------------------------------------------ hostile hosts */

static void counters_that_lie(void **state)
{
    import_it();
    post(10, false);
    look(1);
    assert_int_equal(host[1].posts, 10);
    *counter() = htole64(3); /* backwards */
    look(1);
    *counter() = htole64(UINT64_C(0xfffffffe));
    look(1);
    assert_int_equal(host[1].posts + host[1].coalesced, 10);
    post(3, false); /* it counts on, and goes round */
    look(1);
    assert_int_equal(host[1].posts, 13);
    *counter() = htole64(le64toh(*counter()) + RSM_SIGNALS_MAX);
    look(1);
    assert_int_equal(host[1].posts, 13 + (uint64_t)RSM_SIGNALS_MAX);
    assert_int_equal(host[1].largest, RSM_SIGNALS_MAX);
}

/* Counters of nobody do not concern anybody; that of a connection is no more than that. */
static void a_flood(void **state)
{
    import_it();
    srandom(9);
    for (unsigned round = 0; round < 1000; round++) {
        for (unsigned i = 0; i < NTB_CONNECTIONS; i++)
            counters()[i] ^= (uint64_t)random() << 33 ^ (uint64_t)random();
        uint64_t posts = host[1].posts, coalesced = host[1].coalesced;
        look(1);
        assert_true(host[1].posts - posts <= RSM_SIGNALS_MAX);
        assert_true(host[1].coalesced - coalesced <= 1);
    }
    assert_ptr_equal(host[1].last, segment.made);
    uint64_t before = host[1].posts;
    post(2, false); /* from wherever it is now */
    look(1);
    assert_int_equal(host[1].posts, before + 2);
    assert_int_equal(put_word(8), RSM_ST_OK);
}

int main(void)
{
    static struct settings plain_exporter = {.plain = 1}, plain_importer = {.plain = 2},
                           few_vectors = {.vectors = 2},
                           slow = {.timing = "timeout=600000,heartbeat=500000,wait=2000"};
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define TEST_GIVEN(name, settings)                                                                 \
    cmocka_unit_test_prestate_setup_teardown(name, begin, end, &(settings))
    const struct CMUnitTest tests[] = {
        TEST(posts_arrive),
        TEST_GIVEN(the_bell_wakes, slow),
        TEST(a_child_posts_by_the_same_counter),
        TEST_GIVEN(grants_are_as_before, plain_exporter),
        TEST_GIVEN(grants_are_as_before, plain_importer),
        TEST_GIVEN(nobody_posts, few_vectors),
        TEST(readers_do_not),
        TEST(more_connections_than_counters),
        TEST(counters_are_not_inherited),
        TEST(the_last_posts_are_collected),
        TEST(posts_end_with_the_session),
        TEST(another_exporters_daemon_counts_anew),
        TEST(counters_that_lie),
        TEST_GIVEN(a_flood, slow), /* nobody looks for node 2 */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
