/* SPDX-License-Identifier: BSD-3-Clause */
/* The locks that fork(2) takes: in which order, and what a child finds. */
#include "base/fork.h"
#include "cases.h"

#ifdef __SANITIZE_THREAD__
enum { FORKS = 10, CHILD_S = 60 }; /* each takes long */
#else
enum { FORKS = 200, CHILD_S = 30 };
#endif

static char order[4]; /* in a child: who has been through */
static int written;

static void note(char part)
{
    order[written++] = part;
}

static void outer_in_child(void);
static void middle_in_child(void)
{
    note('m');
}
static void inner_in_child(void)
{
    note('i');
}

/* Made known in another order than that of their ranks. */
RSMCORE_FORK_PART(middle, RSMCORE_FORK_POLLFDS, middle_in_child);
RSMCORE_FORK_PART(inner, RSMCORE_FORK_FAULTS, inner_in_child);
RSMCORE_FORK_PART(outer, RSMCORE_FORK_OBJECTS, outer_in_child);

/* The locks of later ranks are free by then. */
static void outer_in_child(void)
{
    rsmcore_fork_lock(&middle);
    rsmcore_fork_lock(&inner);
    rsmcore_fork_unlock(&inner);
    rsmcore_fork_unlock(&middle);
    note('o');
}

/* The status of a child that does this. */
static int in_child(int (*function)(void))
{
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(CHILD_S); /* for hangs */
        (void)signal(SIGABRT, SIG_DFL);
        _exit(function());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int tell_order(void)
{
    return strcmp(order, "imo") == 0 ? 0 : 1;
}

TEST_ALONE(test_child_begins_inside)
{
    assert_true(rsmcore_fork_is_watched());
    assert_int_equal(in_child(tell_order), 0);
    assert_int_equal(written, 0); /* the parent's parts have nothing to do */
    rsmcore_fork_assert_unlocked();
}

/* ---------------------------------------------------------------- other threads */

static atomic_bool stop;
static unsigned changed[3]; /* one by one, under the three locks */

static void change(void)
{
    rsmcore_fork_lock(&outer);
    changed[0]++;
    rsmcore_fork_lock(&middle);
    changed[1]++;
    rsmcore_fork_lock(&inner);
    changed[2]++;
    rsmcore_fork_unlock(&inner);
    rsmcore_fork_unlock(&middle);
    rsmcore_fork_unlock(&outer);
}

static void *change_often(void *unused)
{
    while (!atomic_load(&stop))
        change();
    return unused;
}

static int find_whole(void)
{
    bool whole = changed[0] == changed[1] && changed[1] == changed[2];
    change();
    return whole ? 0 : 1;
}

static void *fork_often(void *unused)
{
    for (unsigned i = 0; i < FORKS; i++)
        assert_int_equal(in_child(find_whole), 0);
    return unused;
}

/* Two threads fork at once, two others change what the locks guard. */
TEST_ALONE(test_child_finds_parts_whole)
{
    pthread_t threads[3];
    atomic_store(&stop, false);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? change_often : fork_often, NULL),
                         0);
    (void)fork_often(NULL);
    assert_int_equal(pthread_join(threads[2], NULL), 0);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* ---------------------------------------------------------------- the thread that holds one */

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool waits, released;
static atomic_bool went_on;

/* Not instrumented: AddressSanitizer takes the stack of a cancelled thread for one still in use. */
__attribute__((no_sanitize_address)) static void *wait_for_release(void *unused)
{
    rsmcore_fork_lock(&middle);
    waits = true;
    while (!released)
        rsmcore_fork_wait(&middle, &condition);
    atomic_store(&went_on, true);
    rsmcore_fork_unlock(&middle);
    pthread_testcancel();
    atomic_store(&stop, true); /* it was cancelled */
    return unused;
}

static bool does_wait(void)
{
    rsmcore_fork_lock(&middle);
    bool seen = waits;
    rsmcore_fork_unlock(&middle);
    return seen;
}

/* It does not leave the lock behind where it is cancelled, and is cancelled when it has released it. A
 * fork does not wait for it. */
TEST_ALONE(test_wait)
{
    pthread_t thread;
    void *result;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_release, NULL), 0);
    while (!does_wait())
        usleep(1000);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(in_child(find_whole), 0);
    rsmcore_fork_lock(&middle);
    released = true;
    pthread_cond_broadcast(&condition);
    rsmcore_fork_unlock(&middle);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(atomic_load(&went_on));
    assert_false(atomic_load(&stop));
}

/* ---------------------------------------------------------------- mistakes */

static int take_in_wrong_order(void)
{
    rsmcore_fork_lock(&inner);
    rsmcore_fork_lock(&middle);
    return 0;
}

static int take_twice(void)
{
    rsmcore_fork_lock(&inner);
    rsmcore_fork_lock(&inner);
    return 0;
}

static int release_what_is_free(void)
{
    rsmcore_fork_unlock(&inner);
    return 0;
}

static int fork_with_lock(void)
{
    rsmcore_fork_lock(&inner);
    return in_child(tell_order);
}

static int request_with_lock(void)
{
    rsmcore_fork_lock(&inner);
    rsmcore_fork_assert_unlocked();
    return 0;
}

TEST_ALONE(test_mistakes_are_found)
{
    int (*const mistakes[])(void) = {take_in_wrong_order, take_twice, release_what_is_free,
                                     fork_with_lock, request_with_lock};
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        int status = in_child(mistakes[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}
