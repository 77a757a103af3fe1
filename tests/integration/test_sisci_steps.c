/* SPDX-License-Identifier: BSD-3-Clause */
/* SISCI, where a second thread does what ends or changes the same thing, at each step of the first: whenever that one is
 * about to take a lock, or has released one. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sisci_api.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "party.h"

enum {
    ID = PARTY_ID,
    LENGTH = PARTY_PAGE,
    STEPS_MAX = 400,
    PATIENCE_MS = 30, /* for the second thread, where it waits for a lock of the first */
    MARK = 0x5c1,     /* what all handles have ... */
    MARK_SHIFT = 52,
};

/* ---------------------------------------------------------------- steps */

/* The second thread, and at which step of the first it is let go. */
static struct {
    void (*act)(void);
    sem_t may_begin, has_ended;
    pthread_t thread;
    unsigned at;
} second;

static __thread bool counts;   /* this thread is the first */
static __thread unsigned step; /* that it has come to */

static void pass_step(void)
{
    if (!counts || step++ != second.at)
        return;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += PATIENCE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    sem_post(&second.may_begin);
    if (sem_timedwait(&second.has_ended, &end) == 0)
        sem_post(&second.has_ended);
}

/* The libraries call this program's functions instead of those of the C library. */
#define IN_FRONT __attribute__((visibility("default")))

typedef int mutex_function(pthread_mutex_t *mutex);

static mutex_function *libc_function(const char *name)
{
    mutex_function *function;
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&function, &found, sizeof function);
    return function;
}

IN_FRONT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic lock;
    if (lock == NULL)
        lock = libc_function("pthread_mutex_lock");
    pass_step();
    return lock(mutex);
}

IN_FRONT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static mutex_function *_Atomic unlock;
    if (unlock == NULL)
        unlock = libc_function("pthread_mutex_unlock");
    int error = unlock(mutex);
    pass_step();
    return error;
}

static void *run_second(void *unused)
{
    (void)unused;
    while (sem_wait(&second.may_begin) != 0)
        continue;
    second.act();
    sem_post(&second.has_ended);
    return NULL;
}

/* From now on the calling thread is the first; at step `at` the other one does `act`. */
static int begin_steps(unsigned at, void (*act)(void))
{
    second.act = act;
    second.at = at;
    sem_init(&second.may_begin, 0, 0);
    sem_init(&second.has_ended, 0, 0);
    NEED(pthread_create(&second.thread, NULL, run_second, NULL) == 0);
    step = 0;
    counts = true;
    return 0;
}

/* Both have come to their end; whether the first came to the step at all. */
static bool end_steps(void)
{
    bool reached = step > second.at;
    counts = false;
    if (!reached)
        sem_post(&second.may_begin);
    pthread_join(second.thread, NULL);
    sem_destroy(&second.may_begin);
    sem_destroy(&second.has_ended);
    return reached;
}

/* ---------------------------------------------------------------- what both use */

static sci_desc_t desc;
static sci_local_segment_t segment;

static int begin_library(void)
{
    sci_error_t error;
    mallopt(M_PERTURB, 0x5a); /* who reads what has been freed finds no handle there */
    SCIInitialize(0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

static int make_segment(void)
{
    sci_error_t error;
    SCIOpen(&desc, 0, &error);
    NEED(error == SCI_ERR_OK);
    SCICreateSegment(desc, &segment, ID, LENGTH, NULL, NULL, 0, &error);
    NEED(error == SCI_ERR_OK);
    return 0;
}

static bool is_handle(const void *bits)
{
    return (uintptr_t)bits >> MARK_SHIFT == MARK;
}

static void close_desc(void)
{
    sci_error_t error;
    SCIClose(desc, 0, &error);
}

/* ---------------------------------------------------------------- handles */

/* The map, or the error that there may be. */
static int map_once(unsigned at, bool *reached)
{
    sci_error_t error;
    sci_map_t map = NULL;
    NEED(make_segment() == 0);
    NEED(begin_steps(at, close_desc) == 0);
    const void *address = SCIMapLocalSegment(segment, &map, 0, LENGTH, NULL, 0, &error);
    *reached = end_steps();
    NEED(error == SCI_ERR_OK || error == SCI_ERR_ILLEGAL_PARAMETER);
    NEED((error == SCI_ERR_OK) == (address != NULL));
    NEED(error == SCI_ERR_OK ? is_handle(map) : map == NULL);
    return 0;
}

static int map_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    NEED(begin_library() == 0);
    bool reached = true;
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps)
        NEED(map_once(*steps, &reached) == 0);
    SCITerminate();
    return 0;
}

/* A map of a segment whose descriptor is closed at any moment is a map, or an error. */
static void descriptor_is_closed_while_mapping(void **state)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(*state, 1), map_at_each_step, &steps, sizeof steps), 0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

static int open_at_each_step(void *bytes)
{
    unsigned *steps = bytes;
    bool reached = true;
    sci_error_t error;
    for (*steps = 0; reached && *steps < STEPS_MAX; ++*steps) {
        NEED(begin_library() == 0);
        NEED(begin_steps(*steps, SCITerminate) == 0);
        SCIOpen(&desc, 0, &error);
        reached = end_steps();
        NEED(error == SCI_ERR_OK);
        NEED(is_handle(desc));
        SCITerminate();
    }
    return 0;
}

static void library_is_terminated_while_opening(void **state)
{
    unsigned steps = 0;
    assert_int_equal(actor_run(actor_start(*state, 1), open_at_each_step, &steps, sizeof steps), 0);
    assert_in_range(steps, 4, STEPS_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(descriptor_is_closed_while_mapping),
        WORLD_TEST(library_is_terminated_while_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
