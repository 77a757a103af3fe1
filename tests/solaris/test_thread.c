/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"

#include <errno.h>
#include <sys/atomic.h>
#include <sys/lwp.h>
#include <thread.h>

static void *return_argument(void *arg)
{
    return arg;
}

static void *wait_for_sema(void *arg)
{
    while (sema_wait(arg) == EINTR)
        ;
    return arg;
}

static thread_t create(void *(*start)(void *), void *arg, long flags)
{
    thread_t id = 0;
    assert_int_equal(thr_create(NULL, 0, start, arg, flags, &id), 0);
    assert_int_not_equal(id, 0);
    return id;
}

/* --- creation --- */

TEST_ALONE(status_and_id_reach_the_joiner)
{
    int marker;
    void *status = NULL;
    thread_t departed = 0;
    thread_t id = create(return_argument, &marker, THR_BOUND | THR_NEW_LWP);
    assert_int_equal(thr_join(id, &departed, &status), 0);
    assert_int_equal(departed, id);
    assert_ptr_equal(status, &marker);
    assert_int_equal(thr_join(create(return_argument, NULL, 0), NULL, NULL), 0);
    assert_int_equal(thr_create(NULL, 0, return_argument, NULL, THR_DETACHED, NULL), 0);
}

static void *exit_deeply(void *arg)
{
    thr_exit(arg);
}

TEST_ALONE(thr_exit_gives_the_status)
{
    int marker;
    void *status = NULL;
    assert_int_equal(thr_join(create(exit_deeply, &marker, 0), NULL, &status), 0);
    assert_ptr_equal(status, &marker);
}

static thread_t written_id;

static void *compare_own_id(void *arg)
{
    (void)arg;
    return written_id == thr_self() && thr_self() == (thread_t)_lwp_self() && !thr_main()
               ? &written_id
               : NULL;
}

TEST_ALONE(a_thread_finds_its_id_written)
{
    for (int i = 0; i < 20; i++) {
        void *status = NULL;
        thread_t before = written_id;
        assert_int_equal(thr_create(NULL, 0, compare_own_id, NULL, 0, &written_id), 0);
        assert_int_not_equal(written_id, before);
        assert_int_equal(thr_join(written_id, NULL, &status), 0);
        assert_ptr_equal(status, &written_id);
    }
    assert_int_equal(thr_self(), 1);
    assert_int_equal(thr_main(), 1);
}

TEST_ALONE(bad_arguments_create_nothing)
{
    static char stack[4096];
    thread_t id = 77;
    assert_int_equal(thr_create(NULL, 0, NULL, NULL, 0, &id), EINVAL);
    assert_int_equal(thr_create(NULL, 0, return_argument, NULL, 0x4000, &id), EINVAL);
    assert_int_equal(thr_create(NULL, 1, return_argument, NULL, 0, &id), EINVAL);
    assert_int_equal(thr_create(stack, 0, return_argument, NULL, 0, &id), EINVAL);
    assert_int_equal(thr_create(stack, sizeof stack, return_argument, NULL, 0, &id), EINVAL);
    assert_int_equal(thr_create(NULL, (size_t)1 << 60, return_argument, NULL, 0, &id), EAGAIN);
    assert_int_equal(id, 77);
    assert_int_equal(thr_join(0, NULL, NULL), EDEADLK);
}

static void *own_stack(void *arg)
{
    stack_t *stack = arg;
    if (thr_stksegment(stack) != 0)
        return NULL;
    char *end = stack->ss_sp;
    char *here = (char *)__builtin_frame_address(0);
    return here < end && here >= end - stack->ss_size ? arg : NULL;
}

TEST_ALONE(stacks_can_be_brought)
{
    size_t size = 1024 * 1024;
    char *base = shared_memory(size);
    stack_t stack = {0};
    void *status = NULL;
    thread_t id = 0;
    assert_int_equal(thr_create(base, size, own_stack, &stack, 0, &id), 0);
    assert_int_equal(thr_join(id, NULL, &status), 0);
    munmap(base, size);
    assert_ptr_equal(status, &stack);
    assert_true((char *)stack.ss_sp <= base + size && (char *)stack.ss_sp > base);
    assert_true(stack.ss_size <= size);
    assert_int_equal(thr_create(NULL, size, own_stack, &stack, 0, &id), 0);
    assert_int_equal(thr_join(id, NULL, &status), 0);
    assert_ptr_equal(status, &stack);
    assert_int_equal(thr_stksegment(NULL), EFAULT);
}

TEST_ALONE(the_smallest_stack_is_enough_for_nothing)
{
    thread_t id = 0;
    size_t size = SANITIZED ? 64 * THR_MIN_STACK : thr_min_stack();
    assert_int_equal(thr_create(NULL, size, return_argument, NULL, 0, &id), 0);
    assert_int_equal(thr_join(id, NULL, NULL), 0);
}

/* --- joining --- */

TEST_ALONE(wrong_threads_cannot_be_joined)
{
    sema_t go = DEFAULTSEMA;
    void *status = &go;
    thread_t departed = 5;
    assert_int_equal(thr_join(thr_self(), &departed, &status), EDEADLK);
    assert_int_equal(thr_join(99999, &departed, &status), ESRCH);
    thread_t detached = create(wait_for_sema, &go, THR_DETACHED);
    assert_int_equal(thr_join(detached, &departed, &status), ESRCH);
    assert_int_equal(sema_post(&go), 0);
    while (thr_kill(detached, 0) == 0)
        thr_yield();
    assert_int_equal(thr_kill(detached, 0), ESRCH);
    thread_t joined = create(return_argument, NULL, 0);
    assert_int_equal(thr_join(joined, NULL, NULL), 0);
    assert_int_equal(thr_join(joined, &departed, &status), ESRCH);
    assert_int_equal(departed, 5);
    assert_ptr_equal(status, &go);
}

TEST_ALONE(join_any_takes_each_once)
{
    enum { COUNT = 60 };
    static char marks[COUNT];
    thread_t ids[COUNT];
    for (int i = 0; i < COUNT; i++)
        ids[i] = create(return_argument, &marks[i], 0);
    for (int i = 0; i < COUNT; i++) {
        thread_t departed = 0;
        void *status = NULL;
        assert_int_equal(thr_join(0, &departed, &status), 0);
        char *mark = status;
        assert_in_range(mark - marks, 0, COUNT - 1);
        assert_int_equal(ids[mark - marks], departed);
        assert_int_equal((*mark)++, 0);
    }
    assert_int_equal(thr_join(0, NULL, NULL), EDEADLK);
}

static void *join_argument(void *arg)
{
    return (void *)(intptr_t)thr_join(*(thread_t *)arg, NULL, NULL);
}

/* Whichever of the two comes later learns it: all others wait in thr_join(). */
TEST_ALONE(joining_each_other_is_a_deadlock)
{
    static thread_t any = 0;
    void *status = NULL;
    thread_t id = create(join_argument, &any, 0);
    int result = thr_join(0, NULL, &status);
    if (result == EDEADLK)
        result = thr_join(id, NULL, &status);
    assert_int_equal(result, 0);
    assert_int_equal((intptr_t)status, EDEADLK);
}

TEST_ALONE(of_two_joiners_one_gets_it)
{
    sema_t go = DEFAULTSEMA;
    void *first = NULL, *second = NULL;
    thread_t target = create(wait_for_sema, &go, 0);
    thread_t joiner = create(join_argument, &target, 0);
    thread_t other = create(join_argument, &target, 0);
    sema_post(&go);
    assert_int_equal(thr_join(joiner, NULL, &first), 0);
    assert_int_equal(thr_join(other, NULL, &second), 0);
    intptr_t results[2] = {(intptr_t)first, (intptr_t)second};
    assert_true((results[0] == 0 && results[1] == ESRCH) ||
                (results[1] == 0 && results[0] == ESRCH));
}

struct awaited {
    thread_t target;
    volatile uint_t joiner_tid;
};

static void *join_awaited(void *arg)
{
    struct awaited *awaited = arg;
    (void)atomic_swap_uint(&awaited->joiner_tid, (uint_t)gettid());
    return (void *)(intptr_t)thr_join(awaited->target, NULL, NULL);
}

static void join_any_beside_a_joiner(void)
{
    sema_t go = DEFAULTSEMA;
    struct awaited awaited = {.target = create(wait_for_sema, &go, 0)};
    thread_t departed = 0;
    void *status = &go;
    thread_t joiner = create(join_awaited, &awaited, 0);
    /* It says where it is before it joins, and has nothing to sleep for but the join. */
    pid_t tid;
    while ((tid = (pid_t)atomic_add_int_nv(&awaited.joiner_tid, 0)) == 0 ||
           thread_state(getpid(), tid) != 'S')
        thr_yield();
    sema_post(&go);
    assert_int_equal(thr_join(0, &departed, &status), 0);
    assert_int_equal(departed, joiner);
    assert_int_equal((intptr_t)status, 0);
}

/* Often, because both threads may have ended, one, or none when the joiner looks. */
TEST_ALONE(join_any_leaves_threads_that_others_wait_for)
{
    for (int i = 0; i < 50; i++)
        join_any_beside_a_joiner();
}

/* --- suspension --- */

static volatile uint_t ran;

static void *say_ran(void *arg)
{
    atomic_inc_uint(&ran);
    return arg;
}

TEST_ALONE(suspended_threads_start_on_demand)
{
    sema_t go = DEFAULTSEMA;
    ran = 0;
    thread_t id = create(say_ran, NULL, THR_SUSPENDED);
    thread_t other = create(wait_for_sema, &go, 0);
    assert_int_equal(thr_continue(other), 0); /* no effect */
    for (int i = 0; i < 100; i++)
        thr_yield();
    assert_int_equal(atomic_add_int_nv(&ran, 0), 0);
    assert_int_equal(thr_continue(id), 0);
    assert_int_equal(thr_join(id, NULL, NULL), 0);
    assert_int_equal(ran, 1);
    assert_int_equal(thr_continue(id), ESRCH);
    sema_post(&go);
    assert_int_equal(thr_join(other, NULL, NULL), 0);
}

/* --- signals --- */

static volatile thread_t handled_by;
static sema_t handled;

static void note_thread(int sig)
{
    (void)sig;
    handled_by = thr_self();
    sema_post(&handled);
}

static void note_and_pass_on(int sig)
{
    (void)sig;
    _lwp_kill(_lwp_self(), SIGUSR2);
}

TEST_ALONE(signals_reach_one_thread)
{
    sema_t go = DEFAULTSEMA;
    struct sigaction note = {.sa_handler = note_thread};
    struct sigaction pass = {.sa_handler = note_and_pass_on};
    sigaction(SIGUSR2, &note, NULL);
    sigaction(SIGUSR1, &pass, NULL);
    thread_t id = create(wait_for_sema, &go, 0);
    thread_t other = create(wait_for_sema, &go, 0);
    assert_int_equal(thr_kill(id, SIGUSR2), 0);
    while (sema_wait(&handled) == EINTR)
        ;
    assert_int_equal(handled_by, id);
    assert_int_equal(thr_kill(other, SIGUSR1), 0);
    while (sema_wait(&handled) == EINTR)
        ;
    assert_int_equal(handled_by, other);
    assert_int_equal(thr_kill(id, 0), 0);
    errno = 0;
    assert_int_equal(thr_kill(id, 12345), EINVAL);
    assert_int_equal(errno, 0);
    sema_post(&go);
    sema_post(&go);
    assert_int_equal(thr_join(id, NULL, NULL), 0);
    assert_int_equal(thr_join(other, NULL, NULL), 0);
    assert_int_equal(thr_kill(id, 0), ESRCH);
}

static void *tell_mask(void *arg)
{
    return thr_sigsetmask(SIG_BLOCK, NULL, arg) == 0 ? arg : NULL;
}

TEST_ALONE(the_mask_is_inherited)
{
    sigset_t block, before, seen;
    void *status = NULL;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    assert_int_equal(thr_sigsetmask(SIG_BLOCK, &block, &before), 0);
    assert_int_equal(thr_join(create(tell_mask, &seen, 0), NULL, &status), 0);
    assert_int_equal(thr_sigsetmask(SIG_SETMASK, &before, NULL), 0);
    assert_ptr_equal(status, &seen);
    assert_int_equal(sigismember(&seen, SIGUSR1), 1);
    assert_int_equal(sigismember(&seen, SIGUSR2), 0);
}

/* --- attributes --- */

TEST_ALONE(priorities_are_linuxs)
{
    int priority = 17;
    assert_int_equal(thr_getprio(thr_self(), &priority), 0);
    assert_int_equal(priority, 0);
    assert_int_equal(thr_setprio(thr_self(), 0), 0);
    assert_int_equal(thr_setprio(thr_self(), 5), EINVAL);
    assert_int_equal(thr_setprio(99999, 0), ESRCH);
    assert_int_equal(thr_getprio(99999, &priority), ESRCH);
    assert_int_equal(thr_getprio(thr_self(), NULL), EINVAL);
}

TEST_ALONE(concurrency_is_a_number)
{
    assert_int_equal(thr_setconcurrency(4), 0);
    assert_int_equal(thr_getconcurrency(), 4);
    assert_int_equal(thr_setconcurrency(-1), EINVAL);
    assert_int_equal(thr_getconcurrency(), 4);
}

static thread_key_t key;
static volatile uint_t destroyed;

static void count_destroyed(void *value)
{
    atomic_add_int(&destroyed, *(int *)value);
}

static void *use_key(void *arg)
{
    void *value = arg;
    if (thr_getspecific(key, &value) != 0 || value != NULL || thr_setspecific(key, arg) != 0 ||
        thr_getspecific(key, &value) != 0)
        return NULL;
    return value;
}

TEST_ALONE(keys_hold_a_value_per_thread)
{
    int three = 3, four = 4;
    void *status = NULL;
    destroyed = 0;
    assert_int_equal(thr_keycreate(&key, count_destroyed), 0);
    assert_int_equal(thr_setspecific(key, &three), 0);
    assert_int_equal(thr_join(create(use_key, &four, 0), NULL, &status), 0);
    assert_ptr_equal(status, &four);
    assert_int_equal(destroyed, 4);
    assert_int_equal(thr_getspecific(key, &status), 0);
    assert_ptr_equal(status, &three);
    assert_int_equal(thr_setspecific(key, NULL), 0);
    assert_int_equal(thr_setspecific(1000000, &three), EINVAL);
    assert_int_equal(thr_getspecific(1000000, &status), EINVAL);
    assert_int_equal(thr_getspecific(key, NULL), EINVAL);
    assert_int_equal(thr_keycreate(NULL, NULL), EINVAL);
    assert_ptr_equal(status, &three);
}

static thread_key_t once_key = THR_ONCE_KEY;

static void *create_once(void *arg)
{
    return thr_keycreate_once(&once_key, NULL) == 0 ? (void *)(intptr_t)(once_key + 1) : arg;
}

TEST_ALONE(once_keys_are_made_once)
{
    thread_t ids[8];
    for (int i = 0; i < 8; i++)
        ids[i] = create(create_once, NULL, 0);
    for (int i = 0; i < 8; i++) {
        void *status = NULL;
        assert_int_equal(thr_join(ids[i], NULL, &status), 0);
        assert_int_equal((intptr_t)status, once_key + 1);
    }
    assert_int_equal(thr_setspecific(once_key, NULL), 0);
}

/* --- threads of others --- */

static void *posix_thread(void *arg)
{
    *(thread_t *)arg = thr_self();
    return thr_self() > 1 && !thr_main() && thr_kill(thr_self(), 0) == 0 ? arg : NULL;
}

TEST_ALONE(posix_threads_have_ids_too)
{
    thread_t id = 0;
    pthread_t handle;
    void *status = NULL;
    assert_int_equal(pthread_create(&handle, NULL, posix_thread, &id), 0);
    assert_int_equal(pthread_join(handle, &status), 0);
    assert_ptr_equal(status, &id);
    assert_int_equal(thr_kill(id, 0), ESRCH);
    assert_int_equal(thr_join(id, NULL, NULL), ESRCH);
}
