/* SPDX-License-Identifier: BSD-3-Clause */
/* fork() while memory is being swapped: the child finds ordinary memory and its parent's handlers.
 */
#include "support.h"

#define PAGES 64
#define FORKS 300

static size_t page;
static char *memory;
static int stop;
static struct sigaction before; /* anything was swapped */

static void *swap_on(void *argument)
{
    size_t count, length = PAGES * page;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        int fd = test_memfd(length);
        struct rsmcore_origin_run *runs = test_swap_in(memory, length, fd, 0, &count);
        test_swap_out(runs, count, fd, 0);
        close(fd);
    }
    return argument;
}

/* The child stores into each page, by itself and by a system call. */
static int use_memory(void)
{
    int ends[2];
    struct sigaction action;
    if (sigaction(SIGSEGV, NULL, &action) != 0 || pipe(ends) != 0)
        return 2;
    if (action.sa_handler != before.sa_handler)
        return 3;
    for (size_t i = 0; i < PAGES; i++) {
        volatile char *at = memory + i * page;
        if (*at != (char)i)
            return 4;
        at[8] = (char)(i + 1);
        if (write(ends[1], memory + i * page + 8, 1) != 1 ||
            read(ends[0], memory + i * page + 9, 1) != 1)
            return 5;
        if (at[8] != (char)(i + 1) || at[9] != (char)(i + 1))
            return 6;
    }
    return 0;
}

TEST_ALONE(during_swaps)
{
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = (char)i;
    pthread_t thread;
    sigaction(SIGSEGV, NULL, &before);
    assert_int_equal(pthread_create(&thread, NULL, swap_on, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(use_memory());
        int status = test_wait(child);
        if (status != 0)
            fail_msg("child %d ended with status %#x", i, (unsigned)status);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    munmap(memory, PAGES * page);
}

int main(int argc, char **argv)
{
    test_choose_method(argc, argv);
    page = test_page_size();
    return cases_run();
}
