/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that somebody else maps is not cut off from them. */
#include "support.h"

#include <sys/ipc.h>
#include <sys/shm.h>

static size_t page;

static char *shared_anonymous(size_t length)
{
    char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static char *sysv(size_t length)
{
    int id = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);
    char *at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    return at;
}

/* A child that has all the memory of the parent until *go_on is written to. */
static pid_t sharing_child(int *go_on, char *touch)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        close(ends[1]);
        if (touch != NULL)
            *(volatile char *)touch = 1;
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    *go_on = ends[1];
    return child;
}

static void expect_busy(char *at, size_t length)
{
    int fd = test_memfd(length);
    struct rsmcore_origin_run *runs = NULL;
    size_t count = 0;
    assert_int_equal(rsmcore_swap_in((uintptr_t)at, length, RSMCORE_RANGE_ALLOW_SHARED_FILE, fd, 0,
                                     &runs, &count),
                     RSM_ST_BUSY);
    assert_null(runs);
    assert_false(test_is_memfd(at, fd, 0));
    close(fd);
}

static void expect_ok(char *at, size_t length)
{
    int fd = test_memfd(length);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, length, fd, 0, &count);
    test_swap_out(runs, count, fd, 0);
    close(fd);
}

static void with_child(char *(*make)(size_t), char *touch_offset)
{
    size_t length = 3 * page;
    char *at = make(length);
    at[0] = 1;
    expect_ok(at, length);
    int go_on;
    pid_t child = sharing_child(&go_on, touch_offset != NULL ? at + page : NULL);
    expect_busy(at, length);
    expect_busy(at + page, page);
    at[1] = 2; /* still shared */
    close(go_on);
    assert_int_equal(test_wait(child), 0);
    expect_ok(at, length);
    if (shmdt(at) != 0)
        munmap(at, length);
}

TEST_ALONE(child_shares_anonymous)
{
    with_child(shared_anonymous, NULL);
    with_child(shared_anonymous, (char *)&page);
}

TEST_ALONE(child_shares_sysv)
{
    with_child(sysv, NULL);
    with_child(sysv, (char *)&page);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the memory could be swapped while a child, that was there before, took its time from fork
 * to exec. */
static bool exchanged_beside_exec(char *at, size_t length, unsigned delay_us)
{
    size_t count;
    struct rsmcore_origin_run *runs = NULL;
    int fd = test_memfd(length);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(delay_us);
        execlp("sleep", "sleep", "30", (char *)NULL);
        _exit(1);
    }
    enum rsm_status status = rsmcore_swap_in((uintptr_t)at, length, RSMCORE_RANGE_ALLOW_SHARED_FILE,
                                             fd, 0, &runs, &count);
    if (status == RSM_ST_OK)
        test_swap_out(runs, count, fd, 0);
    else
        assert_int_equal(status, RSM_ST_BUSY);
    close(fd);
    kill(child, SIGKILL); /* the new program, which has nothing of ours, lives until here */
    assert_int_equal(waitpid(child, NULL, 0), child);
    return status == RSM_ST_OK;
}

/* The child may get its processor too late on a machine with other work, but not each time. */
TEST_ALONE(child_before_exec_is_waited_for)
{
    char *(*const makers[])(size_t) = {shared_anonymous, sysv};
    for (size_t i = 0; i < 2; i++) {
        char *at = makers[i](2 * page);
        unsigned tries = 1;
        at[0] = 1;
        while (!exchanged_beside_exec(at, 2 * page, 10000) && tries < 50)
            tries++;
        assert_in_range(tries, 1, 49);
        assert_int_equal(at[0], 1);
        if (shmdt(at) != 0)
            munmap(at, 2 * page);
    }
}

/* For other processes the wait ends, and for a second mapping of our own there is none. */
TEST_ALONE(the_wait_for_sharers_is_bounded)
{
    char *at = shared_anonymous(page);
    int go_on;
    pid_t child = sharing_child(&go_on, NULL);
    int64_t before = now_ms();
    expect_busy(at, page);
    int64_t waited = now_ms() - before;
    close(go_on);
    assert_int_equal(test_wait(child), 0);
    print_message("waited for another process: %lld ms\n", (long long)waited);
    assert_in_range(waited, RSMCORE_SHARERS_WAIT_MS, 10000); /* bounded, on a loaded machine too */
    munmap(at, page);

    int fd = test_memfd(page);
    char *twice[] = {test_import(fd, 0, page), test_import(fd, 0, page)};
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        before = now_ms();
        expect_busy(twice[0], page);
        shortest = now_ms() - before < shortest ? now_ms() - before : shortest;
    }
    assert_in_range(shortest, 0, RSMCORE_SHARERS_WAIT_MS / 2);
    munmap(twice[0], page);
    munmap(twice[1], page);
    close(fd);
}

/* Private memory after a fork is nobody else's. */
TEST_ALONE(child_copies_private)
{
    char *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at[0] = 1;
    int go_on;
    pid_t child = sharing_child(&go_on, NULL);
    expect_ok(at, page);
    close(go_on);
    assert_int_equal(test_wait(child), 0);
    munmap(at, page);
}

TEST_ALONE(second_mapping_of_our_own)
{
    int fd = test_memfd(4 * page);
    char *at = test_import(fd, 0, 2 * page);
    char *others = test_import(fd, 2 * page, 2 * page);
    expect_ok(at, 2 * page); /* other pages of the same file do no harm */
    char *again = test_import(fd, page, page);
    expect_busy(at, 2 * page);
    munmap(again, page);
    expect_ok(at, 2 * page);
    munmap(at, 2 * page);
    munmap(others, 2 * page);
    close(fd);
}

/* While one half of a segment is swapped, its alias is a mapping of ours too. */
TEST_ALONE(alias_does_not_count)
{
    char *(*const makers[])(size_t) = {shared_anonymous, sysv};
    for (size_t i = 0; i < 2; i++) {
        char *at = makers[i](4 * page);
        memset(at, 3, 4 * page);
        int fd = test_memfd(2 * page);
        size_t count;
        struct rsmcore_origin_run *runs = test_swap_in(at, 2 * page, fd, 0, &count);
        expect_ok(at + 2 * page, 2 * page);
        test_swap_out(runs, count, fd, 0);
        close(fd);
        if (shmdt(at) != 0)
            munmap(at, 4 * page);
    }
}

/* A child of the time when the memory was swapped does not hold on to the original. */
TEST_ALONE(alias_is_not_inherited)
{
    char *(*const makers[])(size_t) = {shared_anonymous, sysv};
    for (size_t i = 0; i < 2; i++) {
        char *at = makers[i](2 * page);
        memset(at, 3, 2 * page);
        int fd = test_memfd(2 * page);
        size_t count;
        struct rsmcore_origin_run *runs = test_swap_in(at, 2 * page, fd, 0, &count);
        int go_on;
        pid_t child = sharing_child(&go_on, NULL);
        test_swap_out(runs, count, fd, 0);
        expect_ok(at, 2 * page);
        close(go_on);
        assert_int_equal(test_wait(child), 0);
        /* but one that is born now does */
        child = sharing_child(&go_on, NULL);
        expect_busy(at, 2 * page);
        close(go_on);
        assert_int_equal(test_wait(child), 0);
        close(fd);
        if (shmdt(at) != 0)
            munmap(at, 2 * page);
    }
}

int main(int argc, char **argv)
{
    test_choose_method(argc, argv);
    page = test_page_size();
    return cases_run();
}
