/* SPDX-License-Identifier: BSD-3-Clause */
/* What the end of a daemon relies on: draining waits for jobs, and for those that their ends
 * submit. And what its users rely on: jobs that never return keep nobody's thread but those of their
 * owner. */
#include "common/worker.h"

#include <event2/event.h>

#include "cases.h"

enum { LONG_MS = 30000, CHAIN = 4 };

static const struct rsmd_worker_limits limits = {.threads = 4, .per_owner = 2};
static struct event_base *base;
static struct rsmd_worker *worker;

struct link {
    struct rsmd_job job;
    int left; /* that follow */
    int *done;
};

static void run(struct rsmd_job *job)
{
    usleep(2000);
}

static void submit(int left, int *done);

static void done(struct rsmd_job *job)
{
    const struct link *link = (struct link *)job;
    ++*link->done;
    if (link->left > 0)
        submit(link->left - 1, link->done);
}

static void free_link(struct rsmd_job *job)
{
    free(job);
}

static void submit(int left, int *counter)
{
    struct link *link = calloc(1, sizeof *link);
    assert_non_null(link);
    *link = (struct link){
        .job = {.run = run, .done = done, .free = free_link}, .left = left, .done = counter};
    assert_true(rsmd_worker_submit(worker, &link->job));
}

static int set_up(void **state)
{
    base = event_base_new();
    assert_non_null(base);
    worker = rsmd_worker_new(base, &limits);
    assert_non_null(worker);
    return 0;
}

static int tear_down(void **state)
{
    rsmd_worker_end(worker);
    event_base_free(base);
    return 0;
}

#define WORKER_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

WORKER_TEST(an_idle_one_is_drained_at_once)
{
    assert_true(rsmd_worker_drain(worker, LONG_MS));
}

WORKER_TEST(drained_with_what_the_ends_submit)
{
    int ends = 0;
    submit(CHAIN - 1, &ends);
    assert_true(rsmd_worker_drain(worker, LONG_MS));
    assert_int_equal(ends, CHAIN);
}

/* ------------------------------------------------------------------ one that does not end */

static int pipe_ends[2];
static atomic_uint hanging;

static void run_until_told(struct rsmd_job *job)
{
    char byte;
    atomic_fetch_add(&hanging, 1);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
}

WORKER_TEST(not_longer_than_allowed)
{
    int ends = 0;
    struct link *link = calloc(1, sizeof *link);
    assert_non_null(link);
    assert_int_equal(pipe(pipe_ends), 0);
    *link = (struct link){.job = {.run = run_until_told, .done = done, .free = free_link},
                          .done = &ends};
    assert_true(rsmd_worker_submit(worker, &link->job));
    assert_false(rsmd_worker_drain(worker, 20));
    assert_int_equal(ends, 0);
    assert_int_equal(write(pipe_ends[1], "", 1), 1);
    assert_true(rsmd_worker_drain(worker, LONG_MS));
    assert_int_equal(ends, 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void submit_of(uint32_t owner, void (*run_it)(struct rsmd_job *job), int *counter)
{
    struct link *link = calloc(1, sizeof *link);
    assert_non_null(link);
    *link = (struct link){.job = {.run = run_it, .done = done, .free = free_link, .owner = owner},
                          .done = counter};
    assert_true(rsmd_worker_submit(worker, &link->job));
}

/* One owner's never return; each other one has as many jobs as threads, submitted after them. */
WORKER_TEST(others_jobs_do_not_wait_for_one_that_hangs)
{
    enum { HANGING = 50, OTHERS = 20 };
    const unsigned others_jobs = OTHERS * limits.threads;
    int ends = 0, others_ends = 0;
    assert_int_equal(pipe(pipe_ends), 0);
    atomic_store(&hanging, 0);
    for (int i = 0; i < HANGING; i++)
        submit_of(1000, run_until_told, &ends);
    for (unsigned i = 0; i < others_jobs; i++)
        submit_of(2000 + i % OTHERS, run, &others_ends);
    submit_of(0, run, &others_ends);
    while (others_ends <= (int)others_jobs) /* the test's time limit ends it otherwise */
        event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(atomic_load(&hanging), limits.per_owner);
    assert_int_equal(ends, 0);
    char go_on[HANGING] = {0};
    assert_int_equal(write(pipe_ends[1], go_on, sizeof go_on), sizeof go_on);
    assert_true(rsmd_worker_drain(worker, LONG_MS));
    assert_int_equal(ends, HANGING);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}
