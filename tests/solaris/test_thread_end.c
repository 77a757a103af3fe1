/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes end with their threads, and what a fork leaves of them. Each case is a process:
 * this program again, with the name of the case. What happened in it is counted in bytes of a pipe.
 */
#include "support.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <thread.h>

/* Descriptor that cases write to. */
#define WITNESS 3

static void testify(void)
{
    CHILD_CHECK(write(WITNESS, "x", 1) == 1);
}

static thread_t create(void *(*start)(void *), void *arg, long flags)
{
    thread_t id = 0;
    CHILD_CHECK(thr_create(NULL, 0, start, arg, flags, &id) == 0);
    return id;
}

static void *wait_for_ever(void *arg)
{
    while (pause() == -1)
        ;
    return arg;
}

/* --- the main thread goes first --- */

static int marker;

static void *join_main(void *arg)
{
    void *status = NULL;
    (void)arg;
    CHILD_CHECK(thr_join(1, NULL, &status) == 0);
    CHILD_CHECK(status == &marker);
    CHILD_CHECK(thr_join(1, NULL, NULL) == ESRCH);
    testify();
    return NULL;
}

static void main_exits_before_its_thread(void)
{
    create(join_main, NULL, 0);
    thr_exit(&marker);
}

/* --- daemons --- */

static void *say_done(void *arg)
{
    testify();
    return arg;
}

static void daemons_alone(void)
{
    create(wait_for_ever, NULL, THR_DAEMON | THR_DETACHED);
    create(wait_for_ever, NULL, THR_DAEMON);
    create(say_done, NULL, THR_DETACHED);
    thr_exit(NULL);
}

static void daemons_and_join(void)
{
    sema_t never = DEFAULTSEMA;
    create(wait_for_ever, NULL, THR_DAEMON);
    CHILD_CHECK(thr_join(0, NULL, NULL) == EDEADLK);
    thread_t daemon = create(say_done, &never, THR_DAEMON);
    CHILD_CHECK(thr_join(daemon, NULL, NULL) == 0); /* by its name it can be joined */
    _exit(0);
}

/* --- destructors know who they are --- */

static thread_key_t key;

static void check_self(void *value)
{
    if (thr_self() == *(thread_t *)value)
        testify();
    free(value);
}

static void *set_own_id(void *arg)
{
    thread_t *id = malloc(sizeof *id);
    (void)arg;
    CHILD_CHECK(id != NULL);
    *id = thr_self();
    CHILD_CHECK(thr_setspecific(key, id) == 0);
    return NULL;
}

static void threads_with_values(void)
{
    CHILD_CHECK(thr_keycreate(&key, check_self) == 0);
    create(set_own_id, NULL, THR_DETACHED);
    CHILD_CHECK(thr_join(create(set_own_id, NULL, 0), NULL, NULL) == 0);
    thr_exit(NULL);
}

/* --- fork --- */

static void *return_argument(void *arg)
{
    return arg;
}

/* In the forked process. */
static void check_fork_child(thread_t forker, thread_t left_behind)
{
    void *status = NULL;
    CHILD_CHECK(thr_self() == forker);
    CHILD_CHECK(thr_main() == 1);
    CHILD_CHECK(thr_kill(left_behind, 0) == ESRCH);
    CHILD_CHECK(thr_kill(forker, 0) == 0);
    CHILD_CHECK(thr_join(0, NULL, NULL) == EDEADLK);
    thread_t id = create(return_argument, &status, 0);
    CHILD_CHECK(thr_join(id, NULL, &status) == 0);
    CHILD_CHECK(status == &status);
    _exit(0);
}

static void *fork_here(void *left_behind)
{
    int status = 0;
    thread_t self = thr_self();
    pid_t child = fork();
    if (child == 0)
        check_fork_child(self, *(thread_t *)left_behind);
    CHILD_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return (void *)(intptr_t)status;
}

static void fork_in_main_and_thread(void)
{
    void *status = NULL;
    thread_t other = create(wait_for_ever, NULL, 0);
    CHILD_CHECK(fork_here(&other) == NULL);
    CHILD_CHECK(thr_join(create(fork_here, &other, 0), NULL, &status) == 0);
    CHILD_CHECK(status == NULL);
    CHILD_CHECK(thr_kill(other, 0) == 0);
    _exit(0);
}

/* In a thread that the kit has not heard of, when the main thread is no more. */
static void *fork_after_main(void *arg)
{
    int status = 0;
    while (thread_state(getpid(), getpid()) != 'Z')
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        CHILD_CHECK(thr_self() == 1);
        CHILD_CHECK(thr_main() == 1);
        CHILD_CHECK(thr_kill(1, 0) == 0);
        CHILD_CHECK(thr_join(0, NULL, NULL) == EDEADLK);
        _exit(0);
    }
    CHILD_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHILD_CHECK(status == 0);
    testify();
    return arg;
}

static void fork_in_unknown_thread(void)
{
    pthread_t thread;
    CHILD_CHECK(pthread_create(&thread, NULL, fork_after_main, NULL) == 0);
    CHILD_CHECK(pthread_detach(thread) == 0);
    thr_exit(NULL);
}

/* --- the cases as tests --- */

static const struct process_case {
    const char *name;
    void (*body)(void);
    size_t testimonies;
    bool for_tsan; /* which knows no end of the main thread, and no new threads after a fork */
} cases[] = {
    {"main exits before its thread", main_exits_before_its_thread, 1, false},
    {"daemons alone", daemons_alone, 1, false},
    {"daemons and join", daemons_and_join, 1, true},
    {"threads with values", threads_with_values, 2, false},
    {"fork in main and thread", fork_in_main_and_thread, 0, false},
    {"fork in unknown thread", fork_in_unknown_thread, 1, false},
};

#define CASES (sizeof(cases) / sizeof(*cases))

static void run_case(void **state)
{
    const struct process_case *this_case = *state;
    char testimonies[16];
    int ends[2], status = 0;
    if (THREAD_SANITIZED && !this_case->for_tsan)
        skip();
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (dup2(ends[1], WITNESS) == WITNESS)
            execl("/proc/self/exe", "test", this_case->name, (char *)NULL);
        _exit(109);
    }
    close(ends[1]);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    ssize_t length = read(ends[0], testimonies, sizeof testimonies);
    close(ends[0]);
    assert_exited(status, 0);
    assert_int_equal(length, this_case->testimonies);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[CASES];
    for (size_t i = 0; i < CASES; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].body();
            return 108;
        }
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name,
            .test_func = run_case,
            .initial_state = (void *)(uintptr_t)&cases[i],
        };
    }
    if (argc > 1)
        return 107;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
