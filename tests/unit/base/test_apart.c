/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the library's own mappings go, and what is held for a fixed one. */
#include "cases.h"

#include "base/apart.h"
#include "core/target.h"

enum { THREADS = 4, EACH = 200 };

static size_t page;

static uint8_t *map(size_t length)
{
    void *made = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made, MAP_FAILED);
    return made;
}

static uint8_t *map_apart(size_t length)
{
    void *made =
        rsmcore_mmap_apart(length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made, MAP_FAILED);
    return made;
}

static bool is_mapped(const uint8_t *address)
{
    unsigned char resident;
    return mincore((void *)(uintptr_t)address, 1, &resident) == 0;
}

/* ---------------------------------------------------------------- apart */

/* What the kernel gives next, and anything near it, is not taken. */
TEST_ALONE(far_from_what_the_kernel_gives)
{
    const size_t near = (size_t)8 << 30, lengths[] = {1, page, 64 * page, (size_t)8 << 20};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *ordinary = map(page), *apart = map_apart(lengths[i]);
        size_t distance =
            ordinary > apart ? (size_t)(ordinary - apart) : (size_t)(apart - ordinary);
        assert_int_equal((uintptr_t)apart % page, 0);
        assert_true(distance > near);
        memset(apart, 1, lengths[i]);
        munmap(apart, lengths[i]);
        munmap(ordinary, page);
    }
}

static void *map_many(void *argument)
{
    uint8_t **made = argument;
    for (size_t i = 0; i < EACH; i++) {
        made[i] = rsmcore_mmap_apart((i % 5 + 1) * page, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made[i] != MAP_FAILED)
            memset(made[i], 1, (i % 5 + 1) * page);
    }
    return NULL;
}

TEST_ALONE(threads_get_places_of_their_own)
{
    static uint8_t *made[THREADS][EACH];
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, map_many, made[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        for (size_t j = 0; j < EACH; j++) {
            assert_ptr_not_equal(made[i][j], MAP_FAILED);
            memset(made[i][j], (int)(i * EACH + j), (j % 5 + 1) * page);
        }
    for (size_t i = 0; i < THREADS; i++)
        for (size_t j = 0; j < EACH; j++) {
            assert_int_equal(made[i][j][(j % 5 + 1) * page - 1], (uint8_t)(i * EACH + j));
            munmap(made[i][j], (j % 5 + 1) * page);
        }
}

/* Places go downward: somebody is where the next one would be. */
TEST_ALONE(a_place_that_is_taken_is_left_alone)
{
    uint8_t *first = map_apart(page), *taken = first - 4 * page;
    assert_ptr_equal(mmap(taken, 4 * page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     taken);
    memset(taken, 9, 4 * page);
    uint8_t *second = map_apart(2 * page);
    memset(second, 5, 2 * page);
    assert_true(second + 2 * page <= taken || second >= taken + 4 * page);
    for (size_t i = 0; i < 4 * page; i++)
        assert_int_equal(taken[i], 9);
    munmap(first, page);
    munmap(taken, 4 * page);
    munmap(second, 2 * page);
}

TEST_ALONE(what_cannot_be_fails_as_ever)
{
    assert_ptr_equal(rsmcore_mmap_apart(page, PROT_READ, MAP_SHARED, -1, 0), MAP_FAILED);
    assert_ptr_equal(
        rsmcore_mmap_apart(SIZE_MAX / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        MAP_FAILED);
}

/* ---------------------------------------------------------------- the target */

/* Pages that are there and holes take turns; from the first page to behind the last. */
static uint8_t *fence(size_t count)
{
    uint8_t *all = map(2 * count * page);
    memset(all, 9, 2 * count * page);
    for (size_t i = 0; i < count; i++)
        munmap(all + (2 * i + 1) * page, page);
    return all;
}

TEST_ALONE(no_gap_is_left_and_all_are_given_back)
{
    const size_t count = RSMCORE_TARGET_GAPS;
    struct rsmcore_target target;
    uint8_t *all = fence(count);
    assert_int_equal(rsmcore_target_hold(&target, all, 2 * count * page - 1), RSM_ST_OK);
    assert_int_equal(target.count, count);
    for (size_t i = 0; i < 2 * count; i++)
        assert_true(is_mapped(all + i * page));
    rsmcore_target_release(&target);
    for (size_t i = 0; i < 2 * count; i++) {
        assert_int_equal(is_mapped(all + i * page), i % 2 == 0);
        if (i % 2 == 0)
            assert_int_equal(all[i * page], 9);
    }
    assert_int_equal(rsmcore_target_hold(&target, all + page, page), RSM_ST_OK);
    assert_int_equal(target.count, 1);
    assert_false(is_mapped(all + 3 * page));
    rsmcore_target_release(&target);
    for (size_t i = 0; i < count; i++)
        munmap(all + 2 * i * page, page);
}

TEST_ALONE(more_gaps_than_that_are_refused)
{
    const size_t count = RSMCORE_TARGET_GAPS + 1;
    struct rsmcore_target target;
    uint8_t *all = fence(count);
    assert_int_equal(rsmcore_target_hold(&target, all, 2 * count * page), RSM_ST_MAP_FAILED);
    for (size_t i = 0; i < 2 * count; i++)
        assert_int_equal(is_mapped(all + i * page), i % 2 == 0);
    for (size_t i = 0; i < count; i++)
        munmap(all + 2 * i * page, page);
}

/* The transport says what is wrong with them. */
TEST_ALONE(impossible_targets_hold_nothing)
{
    struct rsmcore_target target;
    void *const bad[] = {
        NULL,
        (void *)(16 * page + 1),
#ifndef __SANITIZE_THREAD__ /* which maps at 0 what it is told to map at an impossible address */
        (void *)(UINTPTR_MAX - page + 1),
        (void *)(UINTPTR_MAX / 2 / page * page),
#endif
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(rsmcore_target_hold(&target, bad[i], 2 * page), RSM_ST_OK);
        assert_int_equal(target.count, 0);
    }
    uint8_t *mine = map(2 * page);
    assert_int_equal(rsmcore_target_hold(&target, mine, SIZE_MAX - page), RSM_ST_OK);
    assert_int_equal(target.count, 0);
    assert_int_equal(rsmcore_target_hold(&target, mine, 2 * page), RSM_ST_OK);
    assert_int_equal(target.count, 0);
    munmap(mine, 2 * page);
}

int main(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    return cases_run();
}
