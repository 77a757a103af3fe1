/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that become unavailable, or end, while processes of two nodes are connected. */
#include "core/export.h"
#include "verbs.h"

enum { EXPORTER = 1, IMPORTER = 2, LENGTH = 4 * CORE_PAGE };

struct cast {
    struct actor *exporter, *first, *second;
};

/* A segment with two importers, one of its own node and one of another. */
static struct cast begin(struct world *world)
{
    struct cast cast = {actor_start(world, EXPORTER), actor_start(world, EXPORTER),
                        actor_start(world, IMPORTER)};
    TELL_OK(cast.exporter, export, .length = LENGTH, .id = CORE_ID);
    TELL_OK(cast.first, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(cast.second, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(cast.exporter, store, .offset = 8, .value = 1);
    return cast;
}

WORLD_TEST(an_unavailable_segment_keeps_its_connections)
{
    struct cast cast = begin(world);
    TELL_OK(cast.exporter, unpublish, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS);
    TELL_GET(cast.second, connect, RSM_ST_NOT_FOUND, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(cast.first, put, .offset = 8, .value = 2);
    assert_int_equal(VALUE(cast.exporter, load, .offset = 8), 2);
    assert_int_equal(VALUE(cast.second, get, .offset = 8), 2);
    TELL_OK(cast.second, complete);
    /* Available again, for further ones too; and then cut off, whenever they came. */
    TELL_OK(cast.exporter, publish, .id = CORE_ID);
    TELL_OK(cast.second, connect, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(cast.exporter, unpublish, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS);
    TELL_GET(cast.exporter, unpublish, RSM_ST_NOT_PUBLISHED,
             .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS);
    TELL_OK(cast.exporter, unpublish);
    TELL_OK(cast.first, put, .offset = 8, .value = 3);
    assert_int_equal(VALUE(cast.exporter, load, .offset = 8), 2);
    TELL_GET(cast.first, complete, RSM_ST_ABORTED);
    TELL_GET(cast.second, complete, RSM_ST_ABORTED, .slot = 1);
    TELL_OK(cast.exporter, destroy);
}

WORLD_TEST(the_end_can_be_refused)
{
    struct cast cast = begin(world);
    TELL_GET(cast.exporter, destroy, RSM_ST_BUSY, .flags = RSMCORE_DESTROY_UNUSED);
    TELL_OK(cast.first, put, .offset = 8, .value = 4);
    assert_int_equal(VALUE(cast.exporter, load, .offset = 8), 4);
    TELL_OK(cast.first, disconnect);
    TELL_OK(cast.second, disconnect);
    TELL_OK(cast.exporter, destroy, .flags = RSMCORE_DESTROY_UNUSED);
    TELL_OK(cast.exporter, export, .length = LENGTH, .id = CORE_ID);
}

WORLD_TEST(the_end_can_be_deferred)
{
    struct cast cast = begin(world);
    TELL_OK(cast.exporter, destroy, .flags = RSMCORE_DESTROY_DEFER);
    TELL_GET(cast.second, connect, RSM_ST_NOT_FOUND, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    /* The memory is the exporter's alone; the others share what it had. */
    TELL_OK(cast.exporter, store, .offset = 8, .value = 5);
    assert_int_equal(VALUE(cast.first, get, .offset = 8), 1);
    TELL_OK(cast.first, put, .offset = 8, .value = 6);
    assert_int_equal(VALUE(cast.second, get, .offset = 8), 6);
    assert_int_equal(VALUE(cast.exporter, load, .offset = 8), 5);
    TELL_OK(cast.second, complete);
    /* The id is free at once. */
    TELL_OK(cast.exporter, export, .slot = 1, .length = LENGTH, .id = CORE_ID);
    TELL_OK(cast.second, connect, .slot = 1, .node = EXPORTER, .id = CORE_ID);
    assert_int_equal(VALUE(cast.second, get, .slot = 1, .offset = 8), 0);
    TELL_OK(cast.first, disconnect);
    TELL_OK(cast.second, complete);
    /* And the rest goes with the exporter. */
    actor_kill(cast.exporter);
    for (int i = 0; i < 1000 && TELL(cast.second, complete) == RSM_ST_OK; i++)
        usleep(10000);
    TELL_GET(cast.second, complete, RSM_ST_ABORTED);
}
