/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"

#include <errno.h>
#include <limits.h>
#include <sys/atomic.h>
#include <sys/time.h>
#include <thread.h>

static thread_t create(void *(*start)(void *), void *arg)
{
    thread_t id = 0;
    assert_int_equal(thr_create(NULL, 0, start, arg, 0, &id), 0);
    return id;
}

static intptr_t run(void *(*start)(void *), void *arg)
{
    void *status = NULL;
    assert_int_equal(thr_join(create(start, arg), NULL, &status), 0);
    return (intptr_t)status;
}

/* --- mutexes --- */

static void *try_mutex(void *arg)
{
    int result = mutex_trylock(arg);
    if (result == 0)
        mutex_unlock(arg);
    return (void *)(intptr_t)result;
}

static void *unlock_mutex(void *arg)
{
    return (void *)(intptr_t)mutex_unlock(arg);
}

static void check_exclusion(mutex_t *mutex)
{
    assert_int_equal(mutex_lock(mutex), 0);
    assert_int_equal(run(try_mutex, mutex), EBUSY);
    assert_int_equal(mutex_unlock(mutex), 0);
    assert_int_equal(run(try_mutex, mutex), 0);
}

static mutex_t zero_mutex;
static mutex_t default_mutex = DEFAULTMUTEX;

TEST_ALONE(mutexes_exclude)
{
    mutex_t mutex;
    check_exclusion(&zero_mutex);
    check_exclusion(&default_mutex);
    assert_int_equal(mutex_init(&mutex, USYNC_THREAD, NULL), 0);
    check_exclusion(&mutex);
    assert_int_equal(mutex_lock(&mutex), 0);
    assert_int_equal(mutex_trylock(&mutex), EBUSY);
    assert_int_equal(mutex_unlock(&mutex), 0);
    assert_int_equal(mutex_destroy(&mutex), 0);
    assert_int_equal(mutex_init(&mutex, USYNC_THREAD | LOCK_PRIO_INHERIT, NULL), 0);
    check_exclusion(&mutex);
    assert_int_equal(mutex_destroy(&mutex), 0);
}

TEST_ALONE(mutex_types_differ)
{
    mutex_t mutex;
    assert_int_equal(mutex_init(&mutex, LOCK_ERRORCHECK, NULL), 0);
    assert_int_equal(mutex_lock(&mutex), 0);
    assert_int_equal(mutex_lock(&mutex), EDEADLK);
    if (!THREAD_SANITIZED) /* which does not look at the result */
        assert_int_equal(run(unlock_mutex, &mutex), EPERM);
    assert_int_equal(mutex_unlock(&mutex), 0);
    if (!THREAD_SANITIZED)
        assert_int_equal(mutex_unlock(&mutex), EPERM);
    assert_int_equal(mutex_destroy(&mutex), 0);

    assert_int_equal(mutex_init(&mutex, LOCK_RECURSIVE | LOCK_ERRORCHECK, NULL), 0);
    assert_int_equal(mutex_lock(&mutex), 0);
    assert_int_equal(mutex_lock(&mutex), 0);
    assert_int_equal(mutex_unlock(&mutex), 0);
    assert_int_equal(run(try_mutex, &mutex), EBUSY);
    assert_int_equal(mutex_unlock(&mutex), 0);
    assert_int_equal(run(try_mutex, &mutex), 0);
    assert_int_equal(mutex_destroy(&mutex), 0);
}

TEST_ALONE(wrong_mutex_types_are_refused)
{
    mutex_t mutex = DEFAULTMUTEX;
    int far_too_high = 100000;
    assert_int_equal(mutex_init(&mutex, 0x1000, NULL), EINVAL);
    assert_int_equal(mutex_init(&mutex, LOCK_PRIO_INHERIT | LOCK_PRIO_PROTECT, &far_too_high),
                     EINVAL);
    assert_int_equal(mutex_init(&mutex, LOCK_PRIO_PROTECT, &far_too_high), EINVAL);
    assert_int_equal(mutex_init(&mutex, LOCK_PRIO_PROTECT, NULL), EINVAL);
    assert_int_equal(mutex_consistent(&mutex), EINVAL);
    check_exclusion(&mutex);
}

/* --- robust mutexes, between processes --- */

static mutex_t *shared_mutex;

static void die_with_mutex(void)
{
    CHILD_CHECK(mutex_lock(shared_mutex) == 0);
    _exit(0);
}

/* One death, repaired by @p repair. */
static void outlive_an_owner(int (*repair)(mutex_t *))
{
    assert_exited(in_child(die_with_mutex), 0);
    assert_int_equal(mutex_lock(shared_mutex), EOWNERDEAD);
    assert_int_equal(repair(shared_mutex), 0);
    assert_int_equal(mutex_unlock(shared_mutex), 0);
    assert_int_equal(mutex_lock(shared_mutex), 0);
    assert_int_equal(mutex_unlock(shared_mutex), 0);
}

static int init_again(mutex_t *mutex)
{
    return mutex_init(mutex, USYNC_PROCESS_ROBUST, NULL);
}

TEST_ALONE(robust_mutexes_tell_of_death)
{
    shared_mutex = shared_memory(sizeof *shared_mutex);
    assert_int_equal(mutex_init(shared_mutex, USYNC_PROCESS_ROBUST, NULL), 0);
    assert_int_equal(mutex_init(shared_mutex, USYNC_PROCESS_ROBUST, NULL), EBUSY);
    outlive_an_owner(mutex_consistent);
    outlive_an_owner(init_again);
    assert_exited(in_child(die_with_mutex), 0);
    assert_int_equal(mutex_trylock(shared_mutex), EOWNERDEAD);
    assert_int_equal(mutex_unlock(shared_mutex), 0); /* without repair */
    assert_int_equal(mutex_lock(shared_mutex), ENOTRECOVERABLE);
    assert_int_equal(mutex_destroy(shared_mutex), 0);
    assert_int_equal(mutex_init(shared_mutex, USYNC_PROCESS | LOCK_ROBUST, NULL), 0);
    outlive_an_owner(mutex_consistent);
    assert_int_equal(mutex_destroy(shared_mutex), 0);
    munmap(shared_mutex, sizeof *shared_mutex);
}

/* --- objects that processes share --- */

struct shared_objects {
    mutex_t mutex;
    cond_t cond;
    sema_t sema;
    rwlock_t rwlock;
    volatile uint_t about_to_lock;
    int stage;
};

static struct shared_objects *shared;

static void other_process(void)
{
    CHILD_CHECK(sema_wait(&shared->sema) == 0);
    (void)atomic_swap_uint(&shared->about_to_lock, 1);
    CHILD_CHECK(mutex_lock(&shared->mutex) == 0);
    shared->stage = 1;
    CHILD_CHECK(cond_broadcast(&shared->cond) == 0);
    while (shared->stage != 2)
        CHILD_CHECK(cond_wait(&shared->cond, &shared->mutex) == 0);
    CHILD_CHECK(mutex_unlock(&shared->mutex) == 0);
    CHILD_CHECK(rw_trywrlock(&shared->rwlock) == EBUSY);
    CHILD_CHECK(rw_tryrdlock(&shared->rwlock) == 0);
    CHILD_CHECK(rw_unlock(&shared->rwlock) == 0);
    CHILD_CHECK(sema_post(&shared->sema) == 0);
    CHILD_CHECK(rw_wrlock(&shared->rwlock) == 0);
    CHILD_CHECK(rw_unlock(&shared->rwlock) == 0);
    _exit(0);
}

TEST_ALONE(objects_work_between_processes)
{
    shared = shared_memory(sizeof *shared);
    assert_int_equal(mutex_init(&shared->mutex, USYNC_PROCESS, NULL), 0);
    assert_int_equal(cond_init(&shared->cond, USYNC_PROCESS, NULL), 0);
    assert_int_equal(sema_init(&shared->sema, 0, USYNC_PROCESS, NULL), 0);
    assert_int_equal(rwlock_init(&shared->rwlock, USYNC_PROCESS, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        other_process();
    }
    assert_true(child > 0);
    assert_int_equal(mutex_lock(&shared->mutex), 0);
    assert_int_equal(sema_post(&shared->sema), 0);
    while (atomic_add_int_nv(&shared->about_to_lock, 0) == 0 || thread_state(child, child) != 'S')
        thr_yield();
    while (shared->stage != 1)
        assert_int_equal(cond_wait(&shared->cond, &shared->mutex), 0);
    assert_int_equal(rw_rdlock(&shared->rwlock), 0);
    shared->stage = 2;
    assert_int_equal(cond_signal(&shared->cond), 0);
    assert_int_equal(mutex_unlock(&shared->mutex), 0);
    assert_int_equal(sema_wait(&shared->sema), 0);
    while (thread_state(child, child) != 'S') /* it has nothing to sleep for but the lock */
        thr_yield();
    assert_int_equal(rw_unlock(&shared->rwlock), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_exited(status, 0);
    assert_int_equal(rwlock_destroy(&shared->rwlock), 0);
    assert_int_equal(sema_destroy(&shared->sema), 0);
    assert_int_equal(cond_destroy(&shared->cond), 0);
    assert_int_equal(mutex_destroy(&shared->mutex), 0);
    munmap(shared, sizeof *shared);
}

/* --- condition variables --- */

static struct {
    mutex_t mutex;
    cond_t cond;
    int turn;
} table; /* of static storage, all zero */

static void *take_turns(void *arg)
{
    (void)arg;
    mutex_lock(&table.mutex);
    for (int round = 0; round < 100; round++) {
        while (table.turn != 1)
            cond_wait(&table.cond, &table.mutex);
        table.turn = 0;
        cond_broadcast(&table.cond);
    }
    mutex_unlock(&table.mutex);
    return NULL;
}

TEST_ALONE(conditions_wake)
{
    cond_t other = DEFAULTCV;
    timestruc_t long_time = {.tv_sec = 60, .tv_nsec = 0};
    thread_t id = create(take_turns, NULL);
    assert_int_equal(mutex_lock(&table.mutex), 0);
    for (int round = 0; round < 100; round++) {
        table.turn = 1;
        assert_int_equal(cond_signal(&table.cond), 0);
        while (table.turn != 0)
            assert_int_equal(cond_reltimedwait(&table.cond, &table.mutex, &long_time), 0);
    }
    assert_int_equal(mutex_unlock(&table.mutex), 0);
    assert_int_equal(thr_join(id, NULL, NULL), 0);
    assert_int_equal(cond_destroy(&other), 0);
}

TEST_ALONE(waiting_for_conditions_ends)
{
    cond_t cond = DEFAULTCV;
    mutex_t mutex = DEFAULTMUTEX;
    timestruc_t moment = {.tv_sec = 0, .tv_nsec = 20000000};
    timestruc_t wrong = {.tv_sec = 0, .tv_nsec = 1000000000};
    timestruc_t until;
    assert_int_equal(mutex_lock(&mutex), 0);
    hrtime_t start = gethrtime();
    assert_int_equal(cond_reltimedwait(&cond, &mutex, &moment), ETIME);
    assert_true(gethrtime() - start >= 20000000);
    clock_gettime(CLOCK_REALTIME, &until);
    assert_int_equal(cond_timedwait(&cond, &mutex, &until), ETIME);
    assert_int_equal(cond_timedwait(&cond, &mutex, &wrong), EINVAL);
    assert_int_equal(cond_reltimedwait(&cond, &mutex, &wrong), EINVAL);
    assert_int_equal(cond_timedwait(&cond, &mutex, NULL), EINVAL);
    assert_int_equal(mutex_unlock(&mutex), 0); /* held all the time */
    assert_int_equal(cond_init(&cond, LOCK_RECURSIVE, NULL), EINVAL);
    assert_int_equal(cond_init(&cond, USYNC_THREAD, NULL), 0);
    assert_int_equal(cond_destroy(&cond), 0);
}

/* --- semaphores --- */

static sema_t zero_sema;
static int handed_over;

static void *wait_and_look(void *arg)
{
    timestruc_t no_end = {.tv_sec = (time_t)LONG_MAX, .tv_nsec = 0};
    int result = sema_reltimedwait(arg, &no_end);
    return (void *)(intptr_t)(result == 0 ? handed_over : -result);
}

TEST_ALONE(semaphores_count)
{
    sema_t sema;
    errno = 0;
    assert_int_equal(sema_init(&sema, 2, USYNC_THREAD, NULL), 0);
    assert_int_equal(sema_wait(&sema), 0);
    assert_int_equal(sema_trywait(&sema), 0);
    assert_int_equal(sema_trywait(&sema), EBUSY);
    assert_int_equal(sema_post(&sema), 0);
    assert_int_equal(sema_trywait(&sema), 0);
    assert_int_equal(sema_destroy(&sema), 0);
    assert_int_equal(sema_init(&sema, UINT_MAX, USYNC_THREAD, NULL), EINVAL);
    assert_int_equal(sema_init(&sema, 0, USYNC_PROCESS_ROBUST, NULL), EINVAL);
    assert_int_equal(sema_init(&sema, SEM_VALUE_MAX, USYNC_THREAD, NULL), 0);
    assert_int_equal(sema_post(&sema), EOVERFLOW);
    assert_int_equal(sema_destroy(&sema), 0);
    assert_int_equal(errno, 0);
    thread_t id = create(wait_and_look, &zero_sema);
    void *status = NULL;
    handed_over = 17;
    assert_int_equal(sema_post(&zero_sema), 0);
    assert_int_equal(thr_join(id, NULL, &status), 0);
    assert_int_equal((intptr_t)status, 17);
}

TEST_ALONE(waiting_for_semaphores_ends)
{
    sema_t sema = DEFAULTSEMA;
    timestruc_t moment = {.tv_sec = 0, .tv_nsec = 20000000};
    timestruc_t wrong = {.tv_sec = 0, .tv_nsec = -1};
    timestruc_t until;
    hrtime_t start = gethrtime();
    assert_int_equal(sema_reltimedwait(&sema, &moment), ETIME);
    assert_true(gethrtime() - start >= 20000000);
    clock_gettime(CLOCK_REALTIME, &until);
    assert_int_equal(sema_timedwait(&sema, &until), ETIME);
    assert_int_equal(sema_timedwait(&sema, &wrong), EINVAL);
    assert_int_equal(sema_reltimedwait(&sema, &wrong), EINVAL);
    assert_int_equal(sema_post(&sema), 0);
    assert_int_equal(sema_timedwait(&sema, &until), 0);
}

static void nothing(int sig)
{
    (void)sig;
}

static void *interrupt_until_told(void *arg)
{
    while (atomic_add_int_nv(arg, 0) == 0) {
        thr_kill(1, SIGUSR1);
        thr_yield();
    }
    return NULL;
}

TEST_ALONE(signals_interrupt_semaphores)
{
    static volatile uint_t interrupted;
    sema_t sema = DEFAULTSEMA;
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(thr_self(), 1);
    thread_t id = create(interrupt_until_told, (void *)&interrupted);
    assert_int_equal(sema_wait(&sema), EINTR);
    atomic_inc_uint(&interrupted);
    assert_int_equal(thr_join(id, NULL, NULL), 0);
}

/* --- reader-writer locks --- */

static void *try_read(void *arg)
{
    int result = rw_tryrdlock(arg);
    if (result == 0)
        rw_unlock(arg);
    return (void *)(intptr_t)result;
}

static void *try_write(void *arg)
{
    int result = rw_trywrlock(arg);
    if (result == 0)
        rw_unlock(arg);
    return (void *)(intptr_t)result;
}

static rwlock_t zero_rwlock;
static rwlock_t default_rwlock = DEFAULTRWLOCK;

static void check_rwlock(rwlock_t *lock)
{
    assert_int_equal(rw_rdlock(lock), 0);
    assert_int_equal(run(try_read, lock), 0);
    assert_int_equal(run(try_write, lock), EBUSY);
    assert_int_equal(rw_unlock(lock), 0);
    assert_int_equal(rw_wrlock(lock), 0);
    assert_int_equal(run(try_read, lock), EBUSY);
    assert_int_equal(run(try_write, lock), EBUSY);
    assert_int_equal(rw_unlock(lock), 0);
    assert_int_equal(run(try_write, lock), 0);
}

TEST_ALONE(readers_share_and_writers_do_not)
{
    rwlock_t lock;
    check_rwlock(&zero_rwlock);
    check_rwlock(&default_rwlock);
    assert_int_equal(rwlock_init(&lock, USYNC_THREAD, NULL), 0);
    check_rwlock(&lock);
    assert_int_equal(rwlock_destroy(&lock), 0);
    assert_int_equal(rwlock_init(&lock, 99, NULL), EINVAL);
}
