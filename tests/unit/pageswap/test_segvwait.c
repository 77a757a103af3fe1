/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that are not the page swap's, while its handler is in place. */
#include "support.h"

#include <setjmp.h>

#include "fault/faultchain.h"
#include "pageswap/segvwait.h"

static size_t page;
static char *read_only;
static sigjmp_buf back;
static volatile sig_atomic_t faults;
static void *volatile fault_address;
static volatile int fault_code, fault_mask_has_usr1, fault_on_own_stack;
static struct sigaction older;

static void jump_back(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    fault_mask_has_usr1 = sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGUSR2);
    stack_t stack;
    sigaltstack(NULL, &stack);
    fault_on_own_stack = !(stack.ss_flags & SS_ONSTACK);
    faults++;
    fault_address = info->si_addr;
    fault_code = info->si_code;
    siglongjmp(back, 1);
}

static void make_writable(int signal)
{
    faults++;
    mprotect(read_only, page, PROT_READ | PROT_WRITE);
}

/* The application's handler that gives what it does not know to the one before it. */
static void hand_on(int signal, siginfo_t *info, void *context)
{
    faults++;
    if (older.sa_flags & SA_SIGINFO)
        older.sa_sigaction(signal, info, context);
    else if (older.sa_handler != SIG_DFL && older.sa_handler != SIG_IGN)
        older.sa_handler(signal);
    else
        _exit(42);
}

static void set_handler(struct sigaction *action)
{
    assert_int_equal(sigaction(SIGSEGV, action, &older), 0);
    faults = 0;
    fault_address = NULL;
}

static void fault(void)
{
    *(volatile char *)(read_only + 5) = 1;
}

TEST_ALONE(to_the_applications_handler)
{
    struct sigaction action = {.sa_sigaction = jump_back, .sa_flags = SA_SIGINFO};
    volatile char *volatile nowhere = (volatile char *)16;
    sigaddset(&action.sa_mask, SIGUSR1);
    set_handler(&action);
    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            fault();
    assert_int_equal(faults, 3);
    assert_ptr_equal(fault_address, read_only + 5);
    assert_int_equal(fault_code, SEGV_ACCERR);
    assert_true(fault_mask_has_usr1);
    assert_true(fault_on_own_stack);
    if (sigsetjmp(back, 1) == 0)
        *nowhere = 1;
    assert_int_equal(fault_code, SEGV_MAPERR);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGSEGV);
    assert_int_equal(fault_code, SI_TKILL);
    rsmcore_segvwait_end();
    struct sigaction present;
    sigaction(SIGSEGV, NULL, &present);
    assert_ptr_equal(present.sa_sigaction, jump_back);
    assert_true(sigismember(&present.sa_mask, SIGUSR1));
    sigaction(SIGSEGV, &older, NULL);
}

TEST_ALONE(handler_that_returns)
{
    struct sigaction action = {.sa_handler = make_writable};
    set_handler(&action);
    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    fault();
    assert_int_equal(faults, 1);
    rsmcore_segvwait_end();
    assert_int_equal(mprotect(read_only, page, PROT_READ), 0);
    sigaction(SIGSEGV, &older, NULL);
}

/* The application installs its handler while ours is there: it stays, and both hand on. */
TEST_ALONE(handler_installed_meanwhile)
{
    struct sigaction first = {.sa_sigaction = jump_back, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGSEGV, &first, &before);
    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    struct sigaction second = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO};
    set_handler(&second); /* over ours, which is in `older` now */
    rsmcore_segvwait_end();
    struct sigaction present;
    sigaction(SIGSEGV, NULL, &present);
    assert_ptr_equal(present.sa_sigaction, hand_on);

    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    for (int i = 0; i < 3; i++) {
        faults = 0;
        if (sigsetjmp(back, 1) == 0)
            fault();
        assert_int_equal(faults, 2); /* each handler once */
    }
    rsmcore_segvwait_end();
    sigaction(SIGSEGV, NULL, &present);
    assert_ptr_equal(present.sa_sigaction, hand_on);
    sigaction(SIGSEGV, &before, NULL);
}

/* How a child ends that does this while the handler is in place. */
static int end_of_child(const struct sigaction *action, void (*what)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        sigaction(SIGSEGV, action, NULL);
        if (rsmcore_segvwait_begin() != RSM_ST_OK)
            _exit(2);
        what();
        _exit(0);
    }
    return test_wait(child);
}

static void send_to_self(void)
{
    kill(getpid(), SIGSEGV);
}

TEST_ALONE(default_and_ignore)
{
    const struct sigaction dfl = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
    int status = end_of_child(&dfl, fault);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = end_of_child(&dfl, send_to_self);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = end_of_child(&ignore, fault);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = end_of_child(&ignore, send_to_self);
    assert_int_equal(status, 0);
}

struct storing {
    char *at;
    int started;
};

static void *store(void *argument)
{
    struct storing *storing = argument;
    __atomic_store_n(&storing->started, 1, __ATOMIC_RELEASE);
    __atomic_store_n(storing->at, 7, __ATOMIC_RELAXED);
    return NULL;
}

/* A storing thread waits while the range is frozen and then stores. */
TEST_ALONE(store_waits)
{
    struct storing storing = {
        .at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    pthread_t thread;
    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    assert_int_equal(rsmcore_segvwait_freeze((uintptr_t)storing.at, page, PROT_READ | PROT_WRITE),
                     RSM_ST_OK);
    assert_int_equal(pthread_create(&thread, NULL, store, &storing), 0);
    while (!__atomic_load_n(&storing.started, __ATOMIC_ACQUIRE))
        sched_yield();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(__atomic_load_n(storing.at, __ATOMIC_RELAXED), 0);
        sched_yield();
    }
    assert_int_equal(mprotect(storing.at, page, PROT_READ | PROT_WRITE), 0);
    rsmcore_segvwait_thaw();
    pthread_join(thread, NULL);
    assert_int_equal(*storing.at, 7);
    rsmcore_segvwait_end();
    munmap(storing.at, page);
}

struct storing_on {
    char *at;
    int stop;
};

static void *store_on(void *argument)
{
    struct storing_on *storing = argument;
    while (!__atomic_load_n(&storing->stop, __ATOMIC_ACQUIRE))
        __atomic_fetch_add((uint64_t *)(void *)storing->at, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* One window after the other, so that a fault of one is often looked at in the next. */
TEST_ALONE(short_windows)
{
    const int protection = PROT_READ | PROT_WRITE;
    char *at = mmap(NULL, 2 * page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct storing_on storing[2] = {{.at = at}, {.at = at + page}};
    pthread_t threads[2];
    assert_int_equal(rsmcore_segvwait_begin(), RSM_ST_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, store_on, &storing[i]), 0);
    for (int i = 0; i < 20000; i++) {
        uintptr_t address = (uintptr_t)at + (i % 3 == 2 ? page : 0);
        size_t length = i % 3 == 1 ? 2 * page : page;
        assert_int_equal(rsmcore_segvwait_freeze(address, length, protection), RSM_ST_OK);
        assert_int_equal(mprotect((void *)address, length, protection), 0);
        rsmcore_segvwait_thaw();
    }
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&storing[i].stop, 1, __ATOMIC_RELEASE);
        pthread_join(threads[i], NULL);
    }
    rsmcore_segvwait_end();
    munmap(at, 2 * page);
}

TEST_ALONE(nothing_left_behind)
{
    struct sigaction before, after;
    sigaction(SIGSEGV, NULL, &before);
    char *at = valloc(4 * page);
    memset(at, 1, 4 * page);
    int fd = test_memfd(4 * page);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, 4 * page, fd, 0, &count);
    test_swap_out(runs, count, fd, 0);
    sigaction(SIGSEGV, NULL, &after);
    assert_ptr_equal(before.sa_sigaction, after.sa_sigaction);
    close(fd);
    free(at);
}

int main(void)
{
    test_choose_method(2, (char *[]){(char *)(uintptr_t) "", (char *)(uintptr_t) "mprotect", NULL});
    page = test_page_size();
    read_only = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return cases_run();
}
