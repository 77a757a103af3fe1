/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of memory that the library makes, and segments that get their memory later. */
#include "protocol/proto.h"
#include "core/export.h"
#include "hosts.h"
#include "verbs.h"

enum { EXPORTER = 1, IMPORTER = 2, LENGTH = 4 * CORE_PAGE };

WORLD_TEST(allocated_memory_is_shared_and_goes_with_its_segment)
{
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH);
    assert_int_equal(VALUE(exporter, load, .offset = LENGTH - 8), 0);
    TELL_OK(exporter, store, .offset = LENGTH - 8, .value = 1);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(importer, get, .offset = LENGTH - 8), 1);
    TELL_OK(importer, put, .offset = 8, .value = 2);
    assert_int_equal(VALUE(exporter, load, .offset = 8), 2);
    TELL_GET(exporter, rebind, RSM_ST_UNSUPPORTED);
    /* Cut off, and then shared with others. */
    TELL_OK(exporter, unpublish);
    TELL_OK(importer, put, .offset = 8, .value = 3);
    assert_int_equal(VALUE(exporter, load, .offset = 8), 2);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(importer, get, .slot = 1, .offset = 8), 2);
    TELL_OK(exporter, store, .offset = 8, .value = 4);
    assert_int_equal(VALUE(importer, get, .slot = 1, .offset = 8), 4);
    assert_int_equal(VALUE(exporter, is_mapped), 1);
    TELL_OK(exporter, destroy);
    assert_int_equal(VALUE(exporter, is_mapped), 0);
    TELL_GET(importer, complete, RSM_ST_ABORTED, .slot = 1);
    TELL_OK(importer, disconnect);
    TELL_OK(importer, disconnect, .slot = 1);
}

WORLD_TEST(allocated_memory_outlives_a_deferred_end)
{
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH);
    TELL_OK(exporter, store, .offset = 8, .value = 5);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(exporter, destroy, .flags = RSMCORE_DESTROY_DEFER);
    assert_int_equal(VALUE(exporter, is_mapped), 0);
    assert_int_equal(VALUE(importer, get, .offset = 8), 5);
    TELL_OK(importer, put, .offset = 8, .value = 6);
    assert_int_equal(VALUE(importer, get, .offset = 8), 6);
    TELL_OK(importer, complete);
    TELL_OK(importer, disconnect);
}

static uint64_t exported_bytes(const struct world *world)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_EXPORTS};
    host_ask(world, EXPORTER, &msg);
    return msg.u.inspect_reply.exported_bytes;
}

WORLD_TEST(nothing_is_left_of_many)
{
    const uint32_t rounds = 100;
    struct actor *exporter = actor_start(world, EXPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH, .slot = 1);
    for (uint32_t i = 0; i < rounds; i++) {
        TELL_OK(exporter, allocate, .length = LENGTH);
        TELL_OK(exporter, destroy, .flags = i % 3);
    }
    assert_int_equal(exported_bytes(world), LENGTH);
    TELL_OK(exporter, allocate, .length = LENGTH + 1);
    assert_int_equal(exported_bytes(world), 2 * LENGTH + CORE_PAGE);
    TELL_OK(exporter, destroy);
    TELL_GET(exporter, allocate, RSM_ST_INVALID, .length = 0);
    TELL_GET(exporter, allocate, RSM_ST_NO_MEMORY, .length = SIZE_MAX / CORE_PAGE * CORE_PAGE);
    assert_int_equal(exported_bytes(world), LENGTH);
    TELL_OK(exporter, destroy, .slot = 1);
    assert_int_equal(exported_bytes(world), 0);
}

WORLD_TEST(memory_can_come_later)
{
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, create_empty, .length = LENGTH);
    TELL_GET(exporter, publish, RSM_ST_FAULT, .id = CORE_ID);
    TELL_GET(exporter, rebind, RSM_ST_UNSUPPORTED);
    assert_int_equal(exported_bytes(world), 0);
    TELL_OK(exporter, attach, .offset = 8, .value = 7);
    TELL_GET(exporter, attach, RSM_ST_BUSY);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(importer, get, .offset = 8), 7);
    TELL_OK(importer, put, .offset = 8, .value = 8);
    assert_int_equal(VALUE(exporter, load, .offset = 8), 8);
    TELL_OK(exporter, destroy);
    assert_int_equal(VALUE(exporter, is_mapped), 1); /* it is the application's */
    assert_int_equal(VALUE(exporter, load, .offset = 8), 8);
    TELL_OK(importer, disconnect);
    /* One that stays empty, larger than all there is below it. */
    TELL_OK(exporter, export, .slot = 1, .length = LENGTH, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(exporter, create_empty, .length = (size_t)1 << 47);
    TELL_OK(exporter, destroy);
    TELL_OK(importer, put, .offset = 8, .value = 9);
    assert_int_equal(VALUE(exporter, load, .slot = 1, .offset = 8), 9);
}

WORLD_TEST(a_segment_claims_its_id_and_can_be_shared)
{
    enum { ADAPTER = 3 };
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    struct actor *partner = actor_start(world, EXPORTER);
    TELL_OK(exporter, allocate, .length = 10, .id = CORE_ID);
    TELL_GET(partner, allocate, RSM_ST_ID_IN_USE, .length = 10, .id = CORE_ID);
    TELL_OK(partner, allocate, .slot = 1, .length = 10, .id = CORE_ID, .flags = CORE_ASSIGN);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_GET(importer, connect, RSM_ST_NOT_FOUND, .node = EXPORTER, .id = CORE_ID);
    TELL_GET(partner, take_part, RSM_ST_DENIED, .id = CORE_ID);
    TELL_OK(exporter, move, .node = ADAPTER, .flags = RSM_STATE_SHARE);
    TELL_OK(partner, take_part, .id = CORE_ID);
    TELL_GET(importer, take_part, RSM_ST_NOT_FOUND, .id = CORE_ID); /* on its own node */
    assert_int_equal(VALUE(partner, move_too, .node = ADAPTER, .id = RSM_SEGMENT_NEW,
                           .offset = RSM_SEGMENT_OPEN),
                     RSM_SEGMENT_NEW);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(importer, size), 10);
    TELL_OK(partner, put, .value = 5);
    assert_int_equal(VALUE(importer, get), 5);
    assert_int_equal(VALUE(exporter, load), 5);
    assert_int_equal(
        VALUE(exporter, move, .node = ADAPTER, .id = RSM_SEGMENT_OPEN, .offset = RSM_SEGMENT_READY),
        RSM_SEGMENT_OPEN);
    TELL_GET(importer, connect, RSM_ST_NOT_FOUND, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, put, .value = 6);
    assert_int_equal(VALUE(exporter, load), 6);
    TELL_OK(exporter, destroy, .flags = RSMCORE_DESTROY_DEFER);
    assert_int_equal(VALUE(partner, get), 6);
    TELL_GET(exporter, allocate, RSM_ST_ID_IN_USE, .length = 10, .id = CORE_ID);
    TELL_OK(partner, disconnect);
    TELL_OK(exporter, allocate, .length = 10, .id = CORE_ID);
}
