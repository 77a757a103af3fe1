/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps at any byte: which pages a transport is asked for. */
#include "core/map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { PAGES = 4 };

/* A connection whose segment is `memory`, and which remembers what it was asked. */
static struct {
    uint64_t offset;
    size_t length;
    uint32_t rights;
    unsigned maps, unmaps;
    enum rsm_status answer;
} asked;
static uint8_t *memory;
static uint64_t page;

static enum rsm_status map(struct rsm_conn *conn, uint64_t offset, size_t length, uint32_t rights,
                           bool fixed, void **address)
{
    (void)conn;
    assert_false(fixed);
    asked.offset = offset;
    asked.length = length;
    asked.rights = rights;
    asked.maps += asked.answer == RSM_ST_OK;
    *address = memory + offset;
    return asked.answer;
}

static enum rsm_status unmap(struct rsm_conn *conn, void *address, size_t length)
{
    (void)conn;
    assert_int_equal((uintptr_t)address % page, 0);
    assert_int_equal(length % page, 0);
    asked.unmaps += asked.answer == RSM_ST_OK;
    return asked.answer;
}

static enum rsm_status health(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_OK;
}

static const struct rsm_import_ops ops = {.map = map, .unmap = unmap, .health = health};
static struct rsm_conn conn = {.ops = &ops, .caps = RSM_CAP_MAP};
static struct rsm_generation_table table;
static struct rsmcore_import import;

static int begin(void **state)
{
    (void)state;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory = aligned_alloc(page, PAGES * page);
    memset(&asked, 0, sizeof asked);
    memset(&import, 0, sizeof import);
    import.slot = &table.slot[1];
    import.table = &table;
    import.generation = atomic_load(&table.slot[1]);
    import.rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    import.length = PAGES * page;
    atomic_store(&import.conn, &conn);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_int_equal(asked.maps, asked.unmaps);
    free(memory);
    return 0;
}

static void any_bytes_can_be_mapped(void **state)
{
    (void)state;
    const struct {
        uint64_t offset;
        size_t length;
        uint64_t first, pages;
    } cases[] = {{0, 1, 0, 1},
                 {1, 3, 0, 1},
                 {page - 1, 1, 0, 1},
                 {page - 1, 2, 0, 2},
                 {page, page, 1, 1},
                 {page + 7, 2 * page, 1, 3},
                 {0, PAGES * page, 0, PAGES},
                 {PAGES * page - 1, 1, PAGES - 1, 1}};
    struct rsmcore_map *maps[8];
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(rsmcore_map_make(&import, cases[i].offset, cases[i].length, RSM_RIGHT_READ,
                                          NULL, &maps[i]),
                         RSM_ST_OK);
        assert_int_equal(asked.offset, cases[i].first * page);
        assert_int_equal(asked.length, cases[i].pages * page);
        assert_int_equal(asked.rights, RSM_RIGHT_READ);
        assert_ptr_equal(rsmcore_map_address(maps[i]), memory + cases[i].offset);
    }
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(rsmcore_map_end(maps[i ^ 5]), RSM_ST_OK);
}

static void refusals_leave_nothing(void **state)
{
    (void)state;
    struct rsmcore_map *map = NULL;
    const struct {
        uint64_t offset;
        size_t length;
    } wrong[] = {{0, 0},          {PAGES * page, 1}, {PAGES * page - 1, 2}, {1, PAGES * page},
                 {UINT64_MAX, 1}, {1, SIZE_MAX},     {UINT64_MAX, SIZE_MAX}};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(
            rsmcore_map_make(&import, wrong[i].offset, wrong[i].length, RSM_RIGHT_READ, NULL, &map),
            RSM_ST_RANGE);
    import.rights = RSM_RIGHT_READ;
    assert_int_equal(rsmcore_map_make(&import, 1, 1, RSM_RIGHT_WRITE, NULL, &map), RSM_ST_DENIED);
    asked.answer = RSM_ST_NO_RESOURCES;
    assert_int_equal(rsmcore_map_make(&import, 1, 1, RSM_RIGHT_READ, NULL, &map),
                     RSM_ST_NO_RESOURCES);
    asked.answer = RSM_ST_OK;
    atomic_fetch_add(&table.slot[1], 1);
    assert_int_equal(rsmcore_map_make(&import, 1, 1, RSM_RIGHT_READ, NULL, &map), RSM_ST_ABORTED);
    assert_null(map);
}

static void a_map_that_cannot_be_unmapped_stays(void **state)
{
    (void)state;
    struct rsmcore_map *map;
    assert_int_equal(rsmcore_map_make(&import, 1, 1, RSM_RIGHT_READ, NULL, &map), RSM_ST_OK);
    asked.answer = RSM_ST_BUSY;
    assert_int_equal(rsmcore_map_end(map), RSM_ST_BUSY);
    asked.answer = RSM_ST_OK;
    assert_int_equal(rsmcore_map_end(map), RSM_ST_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_bytes_can_be_mapped),
        TEST(refusals_leave_nothing),
        TEST(a_map_that_cannot_be_unmapped_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
