/* SPDX-License-Identifier: BSD-3-Clause */
/* Swapping out after the application has changed its mappings, and moving. */
#include "support.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include "base/second_mapping.h"
#include "pageswap/vma.h"

static size_t page;

static char *map(size_t pages, int flags)
{
    char *at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    for (size_t i = 0; i < pages * page; i++)
        at[i] = (char)(i * 13 + i / page);
    return at;
}

static void expect_contents(const char *at, size_t pages, size_t first)
{
    for (size_t i = 0; i < pages * page; i++)
        if (at[i] != (char)((i + first * page) * 13 + i / page + first))
            fail_msg("byte %zu is wrong", i);
}

static bool is_mapped(const char *at)
{
    struct rsmcore_vma vma;
    return rsmcore_vma_from((uintptr_t)at, &vma) && vma.start <= (uintptr_t)at;
}

static int protection_of(const char *at)
{
    struct rsmcore_vma vma;
    assert_true(rsmcore_vma_from((uintptr_t)at, &vma));
    return vma.protection;
}

/* Ten pages: 1 unmapped, 3 mapped over, 5 the memfd at another offset, 7 read-only, 8 moved away.*/
static void changed_meanwhile(void **state)
{
    int flags = *(const int *)*state;
    char *at = map(10, flags), *elsewhere = map(1, MAP_PRIVATE);
    int fd = test_memfd(10 * page);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, 10 * page, fd, 0, &count);
    munmap(at + page, page);
    assert_ptr_equal(mmap(at + 3 * page, page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     at + 3 * page);
    at[3 * page] = 99;
    assert_ptr_equal(
        mmap(at + 5 * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
        at + 5 * page);
    assert_int_equal(mprotect(at + 7 * page, page, PROT_READ), 0);
    char *away = mremap(at + 8 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
    assert_ptr_not_equal(away, MAP_FAILED);
    test_swap_out(runs, count, fd, 0);

    assert_false(is_mapped(at + page));
    assert_int_equal(at[3 * page], 99);
    assert_true(test_is_memfd(at + 5 * page, fd, 0));
    assert_int_equal(protection_of(at + 7 * page), PROT_READ);
    assert_false(is_mapped(at + 8 * page));
    assert_true(test_is_memfd(away, fd, 8 * page));
    static const size_t out[] = {0, 2, 4, 6, 7, 9};
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
        assert_false(test_is_memfd(at + out[i] * page, fd, out[i] * page));
        expect_contents(at + out[i] * page, 1, out[i]);
    }
    munmap(away, page);
    munmap(at, 10 * page);
    close(fd);
}

/* Bytes mapped in all. */
static size_t mapped_bytes(void)
{
    struct rsmcore_vma_reader reader;
    struct rsmcore_vma vma;
    size_t total = 0;
    assert_true(rsmcore_vma_open(&reader, 0, 0));
    while (rsmcore_vma_next(&reader, &vma))
        total += vma.end - vma.start;
    rsmcore_vma_close(&reader);
    return total;
}

static void nothing_left_behind(void **state)
{
    int flags = *(const int *)*state;
    char *at = map(700, flags);
    int fd = test_memfd(700 * page);
    size_t before = 0;
    int next_fd = dup(fd);
    close(next_fd);
    for (int round = 0; round < 3; round++) {
        size_t count;
        struct rsmcore_origin_run *runs = test_swap_in(at, 700 * page, fd, 0, &count), *none;
        assert_int_equal(rsmcore_swap_move(runs, count, (uintptr_t)at, fd, page, &none, &count),
                         RSM_ST_RANGE);
        test_swap_out(runs, 1, fd, 0);
        expect_contents(at, 700, 0);
        size_t now = mapped_bytes();
        if (round > 0) /* the first round may have grown the heap */
            assert_int_equal(now, before);
        before = now;
    }
    int same_fd = dup(fd);
    assert_int_equal(same_fd, next_fd);
    close(same_fd);
    munmap(at, 700 * page);
    close(fd);
}

/* A region may be divided after it was swapped in, and a run may be swapped out twice. */
static void in_pieces(void **state)
{
    int flags = *(const int *)*state;
    char *at = map(6, flags);
    int fd = test_memfd(6 * page);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, 6 * page, fd, 0, &count);
    struct rsmcore_swap_file file;
    assert_true(rsmcore_swap_file_of(fd, &file));
    if (rsm_second_mapping_works())
        file.fd = -1;
    for (size_t i = 0; i < 3; i++) {
        struct rsmcore_origin_run piece = runs[0];
        piece.start += 2 * i * page;
        piece.origin.alias += 2 * i * page;
        piece.length = 2 * page;
        assert_int_equal(rsmcore_swap_out(&piece, &file, 2 * i * page), RSM_ST_OK);
        assert_false(test_is_memfd(at + 2 * i * page, fd, 2 * i * page));
        if (i < 2)
            assert_true(test_is_memfd(at + (2 * i + 2) * page, fd, (2 * i + 2) * page));
    }
    expect_contents(at, 6, 0);
    free(runs);
    munmap(at, 6 * page);
    close(fd);
}

static void moved(void **state)
{
    int flags = *(const int *)*state;
    char *from = map(4, flags), *to = map(6, flags);
    int fd = test_memfd(5 * page);
    char *import = test_import(fd, page, 4 * page);
    size_t count, new_count;
    struct rsmcore_origin_run *runs = test_swap_in(from, 4 * page, fd, page, &count), *new_runs;
    memset(from, 1, 4 * page);
    assert_int_equal(
        rsmcore_swap_move(runs, count, (uintptr_t)to + page, fd, page, &new_runs, &new_count),
        RSM_ST_OK);
    free(runs);
    expect_contents(to, 6, 0);
    expect_contents(import, 4, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_true(test_is_memfd(to + (1 + i) * page, fd, (1 + i) * page));
        assert_false(test_is_memfd(from + i * page, fd, (1 + i) * page));
        for (size_t k = 0; k < page; k++)
            assert_int_equal(from[i * page + k], 1);
    }
    import[3] = 55;
    assert_int_equal(to[page + 3], 55);
    from[3] = 66;
    assert_int_equal(import[3], 55);
    test_swap_out(new_runs, new_count, fd, page);
    assert_int_equal(to[page + 3], 55);
    munmap(import, 4 * page);
    munmap(from, 4 * page);
    munmap(to, 6 * page);
    close(fd);
}

/* To a range that overlaps the present one. */
static void moved_a_little(void **state)
{
    char *at = map(6, MAP_PRIVATE);
    int fd = test_memfd(4 * page);
    char *import = test_import(fd, 0, 4 * page);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, 4 * page, fd, 0, &count), *new_runs;
    assert_int_equal(
        rsmcore_swap_move(runs, count, (uintptr_t)at + 2 * page, fd, 0, &new_runs, &count),
        RSM_ST_OK);
    free(runs);
    expect_contents(at, 6, 0);
    expect_contents(import, 4, 2);
    assert_false(test_is_memfd(at, fd, 0));
    assert_true(test_is_memfd(at + 2 * page, fd, 0));
    test_swap_out(new_runs, count, fd, 0);
    expect_contents(at, 6, 0);
    munmap(import, 4 * page);
    munmap(at, 6 * page);
    close(fd);
}

static void move_refused(void **state)
{
    int flags = *(const int *)*state;
    char *from = map(4, flags), *to = map(4, MAP_PRIVATE);
    int fd = test_memfd(4 * page);
    size_t count, unused;
    struct rsmcore_origin_run *runs = test_swap_in(from, 4 * page, fd, 0, &count), *none;
    mprotect(to + 2 * page, page, PROT_READ);
    assert_int_equal(rsmcore_swap_move(runs, count, (uintptr_t)to, fd, 0, &none, &unused),
                     RSM_ST_DENIED);
    munmap(to + 2 * page, page);
    assert_int_equal(rsmcore_swap_move(runs, count, (uintptr_t)to, fd, 0, &none, &unused),
                     RSM_ST_FAULT);
    for (size_t i = 0; i < 4; i++)
        assert_true(test_is_memfd(from + i * page, fd, i * page));
    test_swap_out(runs, count, fd, 0);
    expect_contents(from, 4, 0);
    munmap(from, 4 * page);
    munmap(to, 4 * page);
    close(fd);
}

/* The second half fails (behind the end of a file): the first half is undone, and can be done. */
static void move_undone(void **state)
{
    int flags = *(const int *)*state;
    char *from = map(4, flags);
    char path[] = "/var/tmp/rsm-pageswap-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    char *to = map(4, MAP_PRIVATE);
    assert_ptr_equal(
        mmap(to + 2 * page, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0),
        to + 2 * page);
    int fd = test_memfd(4 * page);
    char *import = test_import(fd, 0, 4 * page);
    size_t count, unused;
    struct rsmcore_origin_run *runs = test_swap_in(from, 4 * page, fd, 0, &count), *none;
    mprotect(from + page, page, PROT_READ);
    assert_int_equal(rsmcore_swap_move(runs, count, (uintptr_t)to, fd, 0, &none, &unused),
                     RSM_ST_FAULT);
    for (size_t i = 0; i < 4; i++)
        assert_true(test_is_memfd(from + i * page, fd, i * page));
    assert_int_equal(protection_of(from + page), PROT_READ);
    expect_contents(from, 4, 0);
    expect_contents(import, 4, 0);
    expect_contents(to, 2, 0);
    test_swap_out(runs, count, fd, 0);
    expect_contents(from, 4, 0);
    assert_false(test_is_memfd(from, fd, 0));
    munmap(from, 4 * page);
    munmap(to, 4 * page);
    munmap(import, 4 * page);
    close(file);
    close(fd);
}

#define BOTH(test)                                                                                 \
    {#test " private", test, NULL, NULL, &private_flags},                                          \
    {                                                                                              \
#test " shared", test, NULL, NULL, &shared_flags                                           \
    }

int main(int argc, char **argv)
{
    static int private_flags = MAP_PRIVATE, shared_flags = MAP_SHARED;
    test_choose_method(argc, argv);
    page = test_page_size();
    const struct CMUnitTest tests[] = {
        BOTH(changed_meanwhile),          BOTH(in_pieces),    BOTH(moved),
        BOTH(nothing_left_behind),        BOTH(move_refused), BOTH(move_undone),
        cmocka_unit_test(moved_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
