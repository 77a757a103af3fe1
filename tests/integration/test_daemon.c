/* SPDX-License-Identifier: BSD-3-Clause */
/* The node's daemon dies or stops: nobody hangs, everybody learns of it, work goes on. */
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    PEER_TIMEOUT = 3000, /* ms, the default */
    /* What a call on a silent daemon may take at most, on a busy machine. */
    CALL_MAX = PEER_TIMEOUT + 2000,
    FIRST_CALL_MAX = 20000, /* which waits 10 s for a daemon that takes connections */
    AT_ONCE = 3000,
};

static struct actor *exporter, *importer;

/* Where the memory of an export is. */
static int party_address(void *bytes)
{
    struct order *order = bytes;
    order->address = party_export(order->slot)->memory;
    return RSM_SUCCESS;
}

/* Create a segment over memory that is another slot's. */
static int party_create_at(void *bytes)
{
    struct order *order = bytes;
    struct party_export *export_id = party_export(order->slot);
    export_id->length = order->length;
    return rsm_memseg_export_create(party_controller(NULL), &export_id->handle, order->address,
                                    order->length, 0);
}

static void begin(struct world *world)
{
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(exporter, fill, .value = 1);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, open_barrier);
}

/* A verb that must fail, in time. */
#define TELL_FAILS(actor, verb, ...)                                                               \
    do {                                                                                           \
        int64_t start_ = now_ms();                                                                 \
        int error_ = TELL(actor, verb, __VA_ARGS__);                                               \
        assert_true(error_ > RSM_SUCCESS);                                                         \
        assert_true(now_ms() - start_ < CALL_MAX);                                                 \
    } while (0)

/* ---------------------------------------------------------------- killed */

WORLD_TEST(test_exporters_daemon_killed)
{
    begin(world);
    TELL_OK(importer, start_storing, .offset = 0);
    TELL_OK(importer, progress, .value = 1000);
    world_daemon_kill(world, 1);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
    TELL_OK(importer, progress, .value = 1000);
    TELL_OK(importer, stop_storing);
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED);
    TELL_FAILS(importer, post_import);
    TELL_OK(importer, detach);
    TELL_FAILS(exporter, republish);
    TELL_OK(exporter, destroy);
    TELL_OK(exporter, drop);

    /* A new process of that node gets a new daemon, and then the old ones work again. */
    struct actor *successor = actor_start(world, 1);
    TELL_OK(successor, offer, .length = LENGTH);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, poke, .value = 3);
    assert_int_equal(ASK(successor, load).value, 3);
    TELL_OK(exporter, offer, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(importer, attach, .slot = 1, .node = 1, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(importer, detach, .slot = 1);
    assert_true(world_daemon(world, 1) > 0);
}

/* What the calls of an exporter say whose daemon has died; none of them waits for anything. */
WORLD_TEST(test_calls_after_death)
{
    begin(world);
    TELL_OK(exporter, create, .slot = 1, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    TELL_OK(exporter, publish, .slot = 1, .id = PARTY_ID + 1);
    TELL_OK(exporter, fill, .slot = 1, .value = 2);
    TELL_OK(exporter, create, .slot = 2, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    TELL_OK(importer, connect, .slot = 1, .node = 1, .id = PARTY_ID + 1);
    TELL_OK(importer, map, .slot = 1, .length = LENGTH);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    TELL_OK(importer, post_import);
    world_daemon_kill(world, 1);
    int64_t start = now_ms();
    /* What came before is taken first. */
    TELL_OK(exporter, wait_export, .timeout = -1);
    TELL_GET(exporter, wait_export, RSMERR_BAD_SEG_HNDL, .timeout = -1);
    TELL_GET(exporter, wait_export, RSMERR_BAD_SEG_HNDL, .timeout = 0);
    TELL_GET(importer, wait_import, RSMERR_CONN_ABORTED, .timeout = -1);
    TELL_GET(exporter, post_export, RSMERR_REMOTE_NODE_UNREACHABLE);
    TELL_GET(importer, post_import, RSMERR_REMOTE_NODE_UNREACHABLE);
    TELL_GET(exporter, publish, RSMERR_BAD_SEG_HNDL, .id = PARTY_ID);
    TELL_GET(exporter, publish, RSMERR_BAD_SEG_HNDL, .slot = 2, .id = PARTY_ID + 2);
    TELL_GET(exporter, republish, RSMERR_SEG_NOT_PUBLISHED);
    TELL_GET(exporter, rebind, RSMERR_BAD_SEG_HNDL, .slot = 1);
    TELL_GET(exporter, rebind, RSMERR_BAD_SEG_HNDL, .slot = 2);
    TELL_GET(exporter, unpublish, RSMERR_SEG_NOT_PUBLISHED, .slot = 1);
    TELL_GET(exporter, unpublish, RSMERR_SEG_NOT_PUBLISHED, .slot = 2);
    /* The memory is the exporter's alone all the same, with its contents. */
    TELL_OK(importer, poke, .slot = 1, .value = 77);
    TELL_OK(exporter, check, .slot = 1, .value = 2);
    for (int slot = 0; slot < 3; slot++) {
        TELL_OK(exporter, destroy, .slot = slot);
        TELL_OK(exporter, drop, .slot = slot);
    }
    print_message("    %d ms\n", (int)(now_ms() - start));
    assert_true(now_ms() - start < AT_ONCE);
}

/* A new segment over memory that a dead daemon's segment still lies on has nothing to do with what
 * the new daemon calls by the same numbers. */
WORLD_TEST(test_segment_over_a_dead_one)
{
    begin(world);
    struct order exported = ASK(exporter, address);
    world_daemon_kill(world, 1);
    TELL_OK(exporter, create, .slot = 1, .length = LENGTH);
    TELL_OK(exporter, fill, .slot = 1, .value = 2);
    TELL_OK(exporter, create_at, .slot = 2, .length = LENGTH, .address = exported.address);
    TELL_OK(exporter, publish, .slot = 2, .id = PARTY_ID + 2);
    TELL_OK(importer, attach, .slot = 2, .node = 1, .id = PARTY_ID + 2, .length = LENGTH);
    TELL_OK(exporter, check, .value = 1);
    assert_int_equal(ASK(importer, peek, .slot = 2, .offset = 8).value,
                     ASK(exporter, load, .slot = 0, .offset = 8).value);
    TELL_OK(importer, poke, .slot = 2, .offset = 8, .value = 99);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 99);
    TELL_OK(exporter, check, .slot = 1, .value = 2);
    /* The end of the dead one takes nothing from the new one. */
    TELL_OK(exporter, destroy);
    TELL_OK(importer, poke, .slot = 2, .offset = 8, .value = 100);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 100);
    TELL_OK(exporter, destroy, .slot = 2);
}

/* Stores made after the daemon's death must not reach memory that the exporter has taken back. */
WORLD_TEST(test_exporter_leaves_dead_daemon)
{
    begin(world);
    TELL_OK(importer, start_storing, .offset = 0);
    TELL_OK(importer, progress, .value = 1000);
    world_daemon_kill(world, 1);
    TELL_OK(exporter, destroy);
    uint64_t after = ASK(exporter, load).value;
    TELL_OK(importer, progress, .value = 10000);
    assert_int_equal(ASK(exporter, load).value, after);
    TELL_OK(importer, stop_storing);
}

WORLD_TEST(test_importers_daemon_killed)
{
    begin(world);
    world_daemon_kill(world, 2);
    /* The connection is between importer and the exporter's node; its own daemon may go. */
    TELL_OK(importer, poke, .value = 4);
    assert_int_equal(ASK(exporter, load).value, 4);
    TELL_OK(importer, close_barrier);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, wait_export, .timeout = AT_ONCE);
    TELL_OK(importer, detach);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_true(world_daemon(world, 2) > 0);
}

/* Wait for ever with a poll descriptor; answers what it says in .value. */
static int wait_by_pollfd(void *bytes)
{
    struct order *order = bytes;
    void *handle = order->flags != 0 ? (void *)party_import(order->slot)->handle
                                     : (void *)party_export(order->slot)->handle;
    struct pollfd entry;
    int count = 0;
    NEED(rsm_memseg_get_pollfd(handle, &entry) == RSM_SUCCESS);
    int error = rsm_intr_signal_wait_pollfd(&entry, 1, order->timeout, &count);
    order->value = (uint64_t)(unsigned short)entry.revents;
    NEED(error != RSM_SUCCESS || count == 1);
    NEED(rsm_memseg_release_pollfd(handle) == RSM_SUCCESS);
    return error;
}

/* Those who sleep when it happens, without a time-out, are not left asleep. */
WORLD_TEST(test_killed_while_waiting)
{
    begin(world);
    struct actor *second = actor_start(world, 1), *third = actor_start(world, 2);
    TELL_OK(second, offer, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(third, attach, .node = 1, .length = LENGTH);
    struct order by_pollfd = {.timeout = -1}, of_import = {.timeout = -1, .flags = 1};
    BEGIN(exporter, wait_export, .timeout = -1);
    BEGIN(importer, wait_import, .timeout = -1);
    actor_begin(second, wait_by_pollfd, &by_pollfd, sizeof by_pollfd);
    actor_begin(third, wait_by_pollfd, &of_import, sizeof of_import);
    assert_false(actor_ended(third, 330));
    int64_t start = now_ms();
    world_daemon_kill(world, 1);
    assert_int_equal(ANSWER(exporter), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(ANSWER(importer), RSMERR_CONN_ABORTED);
    struct order answers[] = {party_answer(second), party_answer(third)};
    /* They look ten times a second; with room for a busy machine. */
    print_message("    %d ms\n", (int)(now_ms() - start));
    assert_true(now_ms() - start < AT_ONCE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answers[i].result, RSM_SUCCESS);
        assert_int_equal(answers[i].value, POLLHUP);
    }
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
}

/* ---------------------------------------------------------------- stopped */

WORLD_TEST(test_daemon_stopped)
{
    begin(world);
    TELL_OK(exporter, create, .slot = 1, .length = LENGTH);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    /* What needs no daemon goes on. */
    TELL_OK(importer, poke, .value = 6);
    TELL_OK(importer, close_barrier);
    assert_int_equal(ASK(exporter, load).value, 6);
    TELL_OK(importer, put64, .offset = 8, .value = 7);
    /* What needs it ends, all at the same time. */
    int64_t start = now_ms();
    BEGIN(exporter, create, .slot = 2, .length = LENGTH);
    BEGIN(importer, connect, .slot = 1, .node = 1);
    struct actor *newcomer = actor_start(world, 1);
    BEGIN(newcomer, open);
    assert_true(ANSWER(exporter) > RSM_SUCCESS);
    assert_int_equal(ANSWER(importer), RSMERR_REMOTE_NODE_UNREACHABLE);
    assert_true(now_ms() - start < CALL_MAX);
    assert_int_equal(ANSWER(newcomer), RSMERR_CTLR_NOT_PRESENT);
    assert_true(now_ms() - start < FIRST_CALL_MAX);
    TELL_FAILS(exporter, publish, .slot = 1, .id = PARTY_ID + 1);

    process_thaw(daemon);
    TELL_OK(importer, open_barrier);
    TELL_OK(importer, poke, .value = 8);
    TELL_OK(importer, close_barrier);
    assert_int_equal(ASK(exporter, load).value, 8);
    TELL_OK(importer, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, create, .slot = 2);
    TELL_OK(newcomer, open);
    /* The publication that was not answered can be had now, and nobody has it by accident. */
    TELL_OK(exporter, publish, .slot = 1, .id = PARTY_ID + 1, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(importer, connect, .slot = 2, .node = 1, .id = PARTY_ID + 1);
    TELL_OK(exporter, withdraw, .slot = 1);
    TELL_OK(exporter, withdraw);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
}

/* Events that could not be posted, because the daemon had to be asked and did not answer, are not
 * passed off as posted. */
WORLD_TEST(test_post_with_stopped_daemon)
{
    begin(world);
    TELL_OK(exporter, create, .slot = 1, .length = LENGTH);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    TELL_GET(exporter, post_export, RSMERR_REMOTE_NODE_UNREACHABLE);
    TELL_GET(importer, post_import, RSMERR_REMOTE_NODE_UNREACHABLE);
    process_thaw(daemon);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .timeout = 10);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = 10);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, post_import);
    TELL_OK(importer, wait_import, .timeout = AT_ONCE);
    TELL_OK(exporter, wait_export, .timeout = AT_ONCE);
    /* The way to a poll descriptor has to be asked for, too. */
    TELL_OK(exporter, export_pollfd);
    process_freeze(daemon);
    TELL_GET(importer, post_import, RSMERR_REMOTE_NODE_UNREACHABLE);
    TELL_OK(exporter, post_export); /* whose receivers are known, and poll nothing */
    process_thaw(daemon);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = 10);
    TELL_OK(importer, post_import);
    struct order poll_it = {.timeout = AT_ONCE};
    poll_it = party_ask(exporter, wait_by_pollfd, poll_it);
    assert_int_equal(poll_it.result, RSM_SUCCESS);
    assert_int_equal(poll_it.value, POLLRDNORM);
    TELL_OK(importer, wait_import, .timeout = AT_ONCE);
    TELL_OK(exporter, release_export_pollfd);
}

/* An unpublish that the daemon does not answer is not done; one that it answers late is not
 * undone. */
WORLD_TEST(test_unpublish_of_stopped_daemon)
{
    begin(world);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    TELL_FAILS(exporter, unpublish);
    process_thaw(daemon);
    int again = TELL(exporter, unpublish);
    assert_true(again == RSM_SUCCESS || again == RSMERR_SEG_NOT_PUBLISHED);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
    uint64_t before = ASK(exporter, load).value;
    TELL_OK(importer, poke, .value = before + 1);
    assert_int_equal(ASK(exporter, load).value, before);
    TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(importer, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, withdraw);
}

/* Ending a segment must work without the daemon, and the memory must be the program's own then. */
WORLD_TEST(test_destroy_with_stopped_daemon)
{
    begin(world);
    TELL_OK(importer, start_storing, .offset = 0);
    TELL_OK(importer, progress, .value = 1000);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    int64_t start = now_ms();
    TELL_OK(exporter, destroy);
    assert_true(now_ms() - start < CALL_MAX);
    uint64_t after = ASK(exporter, load).value;
    TELL_OK(importer, progress, .value = 10000);
    assert_int_equal(ASK(exporter, load).value, after);
    process_thaw(daemon);
    TELL_OK(importer, stop_storing);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
    struct actor *other = actor_start(world, 1);
    TELL_OK(other, offer, .length = LENGTH);
}

WORLD_TEST(test_importers_daemon_stopped)
{
    begin(world);
    pid_t daemon = world_daemon(world, 2);
    process_freeze(daemon);
    TELL_OK(importer, poke, .value = 9);
    TELL_OK(importer, close_barrier);
    /* Where the exporter's node is need not be asked again. */
    TELL_OK(importer, connect, .slot = 2, .node = 1, .length = LENGTH);
    TELL_OK(importer, disconnect, .slot = 2);
    int64_t start = now_ms();
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = AT_ONCE);
    TELL_OK(exporter, unpublish);
    assert_true(now_ms() - start < AT_ONCE);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_FAILS(importer, connect, .slot = 1, .node = 1);
    process_thaw(daemon);
    TELL_GET(importer, connect, RSMERR_SEG_NOT_PUBLISHED, .slot = 1, .node = 1);
}

/* ---------------------------------------------------------------- asked to end */

WORLD_TEST(test_daemon_terminated)
{
    begin(world);
    world_daemon_end(world_daemon(world, 1));
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
    TELL_OK(importer, detach);
    TELL_OK(exporter, destroy);
    TELL_OK(exporter, drop);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
}
