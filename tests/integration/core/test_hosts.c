/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core offers beyond RSMAPI, between two hosts. */
#include "protocol/proto.h"
#include "core/export.h"
#include "hosts.h"
#include "verbs.h"

enum { EXPORTER = 1, IMPORTER = 2, LENGTH = 4 * CORE_PAGE, LONG_MS = 20000 };

#define CONFIGURATION "[controller sci0]\ntransport = peek\n[limits]\npeer-timeout-ms = 60000\n"

static pid_t daemons[2];
static struct actor *exporter, *importer;

static int set_up(void **state)
{
    const struct host hosts[] = {{EXPORTER, CONFIGURATION}, {IMPORTER, CONFIGURATION}};
    if (world_setup(state) != 0)
        return -1;
    hosts_split(*state, hosts);
    hosts_start(*state, daemons);
    exporter = actor_start(*state, EXPORTER);
    importer = actor_start(*state, IMPORTER);
    return 0;
}

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

static void expect_record(struct actor *actor, actor_function verb, enum rsm_record_event event,
                          uint32_t node)
{
    struct core_order order = {.timeout = LONG_MS};
    assert_int_equal(core_tell(actor, verb, &order), RSM_ST_OK);
    assert_int_equal(order.record.event, event);
    assert_int_equal(order.record.node, node);
}

#define TEST(name) TEST_BETWEEN(name, set_up, tear_down)

TEST(ends_and_records_cross)
{
    TELL_OK(exporter, allocate, .length = LENGTH);
    TELL_OK(exporter, record_export);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, record_import);
    expect_record(exporter, core_wait_record, RSM_RECORD_CONNECTED, IMPORTER);
    TELL_GET(exporter, destroy, RSM_ST_BUSY, .flags = RSMCORE_DESTROY_UNUSED);
    TELL_OK(exporter, unpublish, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY);
    expect_record(importer, core_wait_loss, RSM_RECORD_UNAVAILABLE, EXPORTER);
    TELL_OK(importer, put, .offset = 8, .value = 1);
    TELL_OK(importer, complete);
    assert_int_equal(VALUE(exporter, load, .offset = 8), 1);
    TELL_OK(importer, disconnect);
    expect_record(exporter, core_wait_record, RSM_RECORD_DISCONNECTED, IMPORTER);
    TELL_OK(exporter, publish, .id = CORE_ID);
    struct actor *mortal = actor_start(*state, IMPORTER);
    TELL_OK(mortal, connect, .node = EXPORTER, .id = CORE_ID);
    expect_record(exporter, core_wait_record, RSM_RECORD_CONNECTED, IMPORTER);
    actor_kill(mortal);
    expect_record(exporter, core_wait_record, RSM_RECORD_LOST, IMPORTER);
    /* A deferred end, over a fabric. */
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, record_import);
    TELL_OK(exporter, forget_records);
    TELL_OK(exporter, destroy, .flags = RSMCORE_DESTROY_DEFER);
    expect_record(importer, core_wait_loss, RSM_RECORD_UNAVAILABLE, EXPORTER);
    TELL_OK(importer, put, .offset = 8, .value = 2);
    TELL_OK(importer, complete);
    assert_int_equal(VALUE(importer, get, .offset = 8), 2);
    actor_kill(exporter);
    expect_record(importer, core_wait_loss, RSM_RECORD_LOST, EXPORTER);
}

TEST(interrupts_cross)
{
    TELL_OK(exporter, interrupt, .flags = RSM_INTERRUPT_DATA, .id = 0);
    TELL_GET(importer, find, RSM_ST_NOT_FOUND, .node = EXPORTER, .flags = RSM_INTERRUPT_DATA,
             .id = 1);
    TELL_OK(importer, find, .node = EXPORTER, .flags = RSM_INTERRUPT_DATA, .id = 0);
    for (uint64_t i = 0; i < 20; i++)
        TELL_OK(importer, trigger, .length = 8, .value = i);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(VALUE(exporter, take, .timeout = LONG_MS), i);
    TELL_GET(exporter, take, RSM_ST_TIMEOUT);
    actor_kill(exporter);
    struct core_order last = {.length = 8};
    while (core_tell(importer, core_trigger, &last) == RSM_ST_OK) /* until its daemon has noticed */
        last.value++;
    TELL_GET(importer, trigger, RSM_ST_NOT_FOUND, .length = 8);
}
