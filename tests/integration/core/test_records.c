/* SPDX-License-Identifier: BSD-3-Clause */
/* An exporter learns who comes and goes, an importer what becomes of its segment. */
#include "core/export.h"
#include "process.h"
#include "verbs.h"

enum { EXPORTER = 1, IMPORTER = 2, LENGTH = CORE_PAGE, LONG_MS = 20000 };

static struct core_order next_of(struct actor *actor, actor_function verb)
{
    struct core_order order = {.timeout = LONG_MS};
    assert_int_equal(core_tell(actor, verb, &order), RSM_ST_OK);
    return order;
}

/* The next record of the exporter must be this one; which connection it is about. */
static uint32_t expect(struct actor *exporter, enum rsm_record_event event, uint32_t node)
{
    struct core_order order = next_of(exporter, core_wait_record);
    assert_int_equal(order.record.event, event);
    assert_int_equal(order.record.node, node);
    return order.record.connection;
}

static void expect_loss(struct actor *importer, enum rsm_record_event event)
{
    assert_int_equal(next_of(importer, core_wait_loss).record.event, event);
}

static struct actor *start_exporter(struct world *world)
{
    struct actor *exporter = actor_start(world, EXPORTER);
    TELL_OK(exporter, export, .length = LENGTH, .id = CORE_ID);
    TELL_OK(exporter, record_export);
    TELL_GET(exporter, wait_record, RSM_ST_TIMEOUT);
    return exporter;
}

WORLD_TEST(an_exporter_learns_who_comes_and_goes)
{
    struct actor *exporter = start_exporter(world);
    struct actor *first = actor_start(world, EXPORTER), *second = actor_start(world, IMPORTER);
    assert_int_equal(VALUE(exporter, record_readable), 0);
    TELL_OK(second, connect, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(exporter, record_readable, .timeout = LONG_MS), 1);
    TELL_OK(first, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(first, disconnect);
    uint32_t seconds = expect(exporter, RSM_RECORD_CONNECTED, IMPORTER);
    assert_int_equal(VALUE(exporter, record_readable), 1);
    uint32_t firsts = expect(exporter, RSM_RECORD_CONNECTED, EXPORTER);
    assert_int_not_equal(firsts, seconds);
    assert_int_equal(expect(exporter, RSM_RECORD_DISCONNECTED, EXPORTER), firsts);
    assert_int_equal(VALUE(exporter, record_readable), 0);
    TELL_GET(exporter, wait_record, RSM_ST_TIMEOUT, .timeout = 20);
    actor_kill(second);
    assert_int_equal(expect(exporter, RSM_RECORD_LOST, IMPORTER), seconds);
    /* And those whom it cuts off itself. */
    TELL_OK(first, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(exporter, unpublish);
    firsts = expect(exporter, RSM_RECORD_CONNECTED, EXPORTER);
    assert_int_equal(expect(exporter, RSM_RECORD_CUT, EXPORTER), firsts);
    TELL_OK(first, disconnect);
    TELL_GET(exporter, wait_record, RSM_ST_TIMEOUT, .timeout = 20);
    TELL_OK(exporter, forget_records);
    TELL_OK(exporter, destroy);
}

WORLD_TEST(an_importer_learns_what_becomes_of_the_segment)
{
    struct actor *exporter = start_exporter(world), *importer = actor_start(world, IMPORTER);
    for (int i = 0; i < 3; i++) {
        TELL_OK(importer, connect, .slot = i, .node = EXPORTER, .id = CORE_ID);
        TELL_OK(importer, record_import, .slot = i);
    }
    TELL_OK(exporter, unpublish, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS);
    TELL_GET(importer, wait_loss, RSM_ST_TIMEOUT, .timeout = 20);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(exporter, unpublish, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY);
    expect_loss(importer, RSM_RECORD_UNAVAILABLE);
    TELL_OK(importer, put, .offset = 0, .value = 7);
    assert_int_equal(VALUE(exporter, load, .offset = 0), 7);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(exporter, unpublish);
    expect_loss(importer, RSM_RECORD_LOST);
    TELL_GET(importer, wait_loss, RSM_ST_TIMEOUT, .timeout = 20);
    /* Whoever asks when it has happened is told all the same. */
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .slot = 4, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(exporter, unpublish);
    TELL_OK(importer, record_import, .slot = 4);
    TELL_OK(importer, wait_loss, .slot = 4, .timeout = LONG_MS);
    TELL_OK(exporter, forget_records);
    TELL_OK(exporter, destroy);
}

WORLD_TEST(deferred_ends_and_deaths_are_told)
{
    struct actor *exporter = start_exporter(world), *importer = actor_start(world, IMPORTER);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, record_import);
    TELL_OK(exporter, forget_records);
    TELL_OK(exporter, destroy, .flags = RSMCORE_DESTROY_DEFER);
    expect_loss(importer, RSM_RECORD_UNAVAILABLE);
    actor_kill(exporter);
    expect_loss(importer, RSM_RECORD_LOST);
}

WORLD_TEST(the_death_of_a_daemon_is_told)
{
    struct actor *exporter = start_exporter(world), *importer = actor_start(world, IMPORTER);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, record_import);
    world_daemon_kill(world, EXPORTER);
    expect_loss(importer, RSM_RECORD_LOST);
    TELL_GET(importer, wait_loss, RSM_ST_ABORTED, .timeout = LONG_MS);
    /* What the exporter has not fetched died with the daemon. */
    TELL_GET(exporter, wait_record, RSM_ST_STALE, .timeout = LONG_MS);
    TELL_OK(exporter, forget_records);
    TELL_OK(exporter, destroy);
}

WORLD_TEST(many_records_arrive_in_order_and_too_many_are_told_of)
{
    enum { TOO_MANY = 200 };
    struct actor *exporter = start_exporter(world), *importer = actor_start(world, IMPORTER);
    uint64_t order = 0;
    for (int i = 0; i < TOO_MANY; i++) {
        TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
        TELL_OK(importer, disconnect);
    }
    for (int i = 0; i < RSM_MAILBOX_MAX; i++) {
        struct core_order got = next_of(exporter, core_wait_record);
        assert_int_equal(got.record.event,
                         i % 2 == 0 ? RSM_RECORD_CONNECTED : RSM_RECORD_DISCONNECTED);
        assert_true(got.record.order > order);
        order = got.record.order;
    }
    struct core_order overflow = next_of(exporter, core_wait_record);
    assert_int_equal(overflow.record.event, RSM_RECORD_OVERFLOW);
    assert_int_equal(overflow.record.lost, 2 * TOO_MANY - RSM_MAILBOX_MAX);
    TELL_GET(exporter, wait_record, RSM_ST_TIMEOUT);
    /* And then it goes on. What the daemon does not hand out in time comes later. */
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    process_freeze(world_daemon(world, EXPORTER));
    TELL_GET(exporter, wait_record, RSM_ST_TIMEOUT);
    process_thaw(world_daemon(world, EXPORTER));
    (void)expect(exporter, RSM_RECORD_CONNECTED, IMPORTER);
}

WORLD_TEST(waiting_can_be_cancelled)
{
    struct actor *exporter = start_exporter(world);
    TELL_GET(exporter, cancel_records, RSM_ST_STALE);
    TELL_GET(exporter, wait_record, RSM_ST_STALE, .timeout = -1);
    TELL_OK(exporter, forget_records);
}
