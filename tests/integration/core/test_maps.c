/* SPDX-License-Identifier: BSD-3-Clause */
/* Several maps of one connection, at any byte. */
#include "core/export.h"
#include "verbs.h"

enum { EXPORTER = 1, IMPORTER = 2, LENGTH = 4 * CORE_PAGE };

WORLD_TEST(maps_at_any_byte_show_the_same_memory)
{
    static const uint64_t offsets[] = {0, 1, 7, 4095, 4096, 4097, 8191, 12288};
    enum { COUNT = sizeof offsets / sizeof offsets[0] };
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    for (int i = 0; i < COUNT; i++) {
        TELL_OK(importer, map, .slot = i, .offset = offsets[i],
                .length = (size_t)(LENGTH - offsets[i]));
        assert_int_equal(VALUE(importer, map_address, .slot = i), offsets[i] % CORE_PAGE);
    }
    /* The exporter's byte is seen in all of them, and what one stores in the others. */
    TELL_OK(exporter, store, .offset = LENGTH - 8, .value = UINT64_C(0x1122334455667788));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(VALUE(importer, peek, .slot = i, .offset = LENGTH - 1 - offsets[i]), 0x11);
    for (int i = 0; i < COUNT; i++) {
        TELL_OK(importer, poke, .slot = i, .offset = LENGTH - 1 - offsets[i], .value = (uint64_t)i);
        assert_int_equal(VALUE(exporter, load, .offset = LENGTH - 8) >> 56, i);
    }
    /* In any order, and the rest stays. */
    for (int i = 0; i < COUNT; i++) {
        int slot = i ^ 5;
        assert_int_equal(VALUE(importer, peek, .slot = slot, .offset = LENGTH - 1 - offsets[slot]),
                         COUNT - 1);
        TELL_OK(importer, unmap, .slot = slot);
    }
    TELL_GET(importer, map, RSM_ST_RANGE, .offset = 1, .length = LENGTH);
    TELL_GET(importer, map, RSM_ST_RANGE, .offset = LENGTH, .length = 1);
    TELL_OK(importer, disconnect);
}

WORLD_TEST(a_map_outlives_the_segment)
{
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    TELL_OK(importer, map, .offset = 4095, .length = 2);
    TELL_OK(exporter, destroy);
    TELL_OK(importer, poke, .offset = 1, .value = 3);
    assert_int_equal(VALUE(importer, peek, .offset = 1), 3);
    TELL_GET(importer, map, RSM_ST_ABORTED, .slot = 1, .length = 1);
    TELL_OK(importer, unmap);
    TELL_OK(importer, disconnect);
}

WORLD_TEST(a_map_takes_a_free_place_that_is_asked_for)
{
    struct actor *exporter = actor_start(world, EXPORTER), *importer = actor_start(world, IMPORTER);
    TELL_OK(exporter, allocate, .length = LENGTH);
    TELL_OK(exporter, publish, .id = CORE_ID);
    TELL_OK(exporter, store, .offset = 4096, .value = 7);
    TELL_OK(importer, connect, .node = EXPORTER, .id = CORE_ID);
    /* 16 pages with the two used in the middle: what is mapped meanwhile goes elsewhere. */
    uint64_t place = VALUE(importer, free_place, .length = 16 * CORE_PAGE) + 8 * CORE_PAGE;
    TELL_OK(importer, map, .offset = 4097, .length = 5, .value = place + 1);
    TELL_OK(importer, map, .slot = 1, .offset = 4096, .length = 8, .value = place + CORE_PAGE);
    assert_int_equal(VALUE(importer, peek, .slot = 1), 7);
    TELL_OK(importer, poke, .slot = 1, .offset = 1, .value = 9);
    assert_int_equal(VALUE(importer, peek), 9);
    TELL_GET(importer, map, RSM_ST_MAP_FAILED, .slot = 2, .length = 8, .value = place);
    TELL_GET(importer, map, RSM_ST_ALIGNMENT, .slot = 2, .length = 8, .value = place + 8);
    TELL_OK(importer, unmap);
    TELL_OK(importer, map, .length = 8, .value = place);
    assert_int_equal(VALUE(importer, peek), 0);
}
