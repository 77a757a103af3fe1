/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Loads of pages that are not there, at random, by 1, 8 and 32 threads: on one mapping, and on a
 * mapping for each thread. Beside them the same threads get the same pages. The transport is
 * nothing but a memory copy. Each figure is of 4096 single loads; the median of each percentile
 * over some rounds. It judges nothing.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mapping.h"
#include "mapping_limits.h"

enum { ROUNDS = 9, PAGES = 4096, THREADS_MAX = 32, PERCENTILES = 3 };
#define SIZE ((size_t)PAGES * BENCH_PAGE)

/* Each thread has its part of the pages, and, of several mappings, its own. */
static struct target {
    struct bench_conn inner;
    struct rsm_conn *conn;
    volatile uint8_t *map;
} targets[THREADS_MAX];
static uint32_t order[PAGES]; /* of each thread's part, shuffled */

struct figures {
    double us[PERCENTILES]; /* the median, and the 99th and 99.9th in a hundred */
    double a_second;
};

static struct run {
    unsigned threads;
    bool several;  /* mappings */
    bool transfer; /* get instead */
    pthread_barrier_t start;
    double us[PAGES];
} run;

/* ---------------------------------------------------------------- mappings */

static bool make(struct target *target, size_t size)
{
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    const struct mapping_settings none = {.given = 0};
    void *address = NULL;
    bench_connect(&target->inner, size);
    if (rsm_mapping_ops_v1.wrap(&target->inner.conn, size, rights, &none, &target->conn) !=
        RSM_ST_OK)
        return false;
    if (target->conn->ops->map(target->conn, 0, size, rights, false, &address) != RSM_ST_OK) {
        fprintf(stderr, "mapping_faults: no mapping\n");
        exit(1);
    }
    target->map = address;
    return true;
}

static void end(struct target *target, size_t size)
{
    (void)target->conn->ops->unmap(target->conn, (void *)(uintptr_t)target->map, size);
    target->conn->ops->disconnect(target->conn);
}

/* ---------------------------------------------------------------- threads */

static void shuffle(unsigned threads)
{
    unsigned part = PAGES / threads;
    for (unsigned i = 0; i < PAGES; i++)
        order[i] = i;
    for (unsigned i = PAGES - 1; i > 0; i--) {
        unsigned first = i / part * part; /* of the thread's part */
        unsigned other = first + (unsigned)rand() % (i - first + 1);
        uint32_t page = order[i];
        order[i] = order[other];
        order[other] = page;
    }
}

static void *work(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument, part = PAGES / run.threads;
    struct target *target = &targets[run.several ? number : 0];
    struct bench_conn own = target->inner; /* what get counts is of this thread alone */
    uint8_t page[BENCH_PAGE];
    pthread_barrier_wait(&run.start);
    for (unsigned i = number * part; i < (number + 1) * part; i++) {
        size_t at = (run.several ? order[i] % part : order[i]) * (size_t)BENCH_PAGE;
        double began = bench_now_us();
        if (run.transfer)
            (void)own.conn.ops->get(&own.conn, at, page, sizeof page);
        else
            (void)target->map[at];
        run.us[i] = bench_now_us() - began;
    }
    return NULL;
}

/* Microseconds of all together. */
static double work_together(void)
{
    pthread_t threads[THREADS_MAX] = {0};
    pthread_barrier_init(&run.start, NULL, run.threads + 1);
    for (uintptr_t i = 0; i < run.threads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            exit(1);
    pthread_barrier_wait(&run.start);
    double began = bench_now_us();
    for (unsigned i = 0; i < run.threads; i++)
        pthread_join(threads[i], NULL);
    double took = bench_now_us() - began;
    pthread_barrier_destroy(&run.start);
    return took;
}

/* ---------------------------------------------------------------- figures */

static struct figures measure(unsigned mappings)
{
    static const double at[PERCENTILES] = {0.5, 0.99, 0.999};
    double samples[PERCENTILES + 1][ROUNDS];
    struct figures figures;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < mappings; i++) {
            memset(targets[i].inner.segment, (int)round, SIZE / mappings);
            rsm_mapping_ops_v1.acquire(targets[i].conn); /* what follows finds nothing */
        }
        samples[PERCENTILES][round] = PAGES / work_together() * 1e6;
        bench_sort(run.us, PAGES);
        for (unsigned i = 0; i < PERCENTILES; i++)
            samples[i][round] = run.us[(unsigned)(at[i] * PAGES)];
    }
    for (unsigned i = 0; i <= PERCENTILES; i++)
        bench_sort(samples[i], ROUNDS);
    for (unsigned i = 0; i < PERCENTILES; i++)
        figures.us[i] = samples[i][ROUNDS / 2];
    figures.a_second = samples[PERCENTILES][ROUNDS / 2];
    return figures;
}

static void show(const char *what, const struct figures *figures)
{
    printf("%-7s %7u %8s %8.1f %8.1f %8.1f %8.1f %10.0f\n", what, run.threads,
           run.several ? "several" : "one", figures->us[0], figures->us[1], figures->us[2],
           figures->us[1] / figures->us[0], figures->a_second);
}

static void measure_with(const char *trap, unsigned threads, bool several)
{
    unsigned mappings = several ? threads : 1;
    size_t size = SIZE / mappings;
    setenv("RSM_MAP_TRAP", trap, 1);
    run.threads = threads;
    run.several = several;
    shuffle(threads);
    for (unsigned i = 0; i < mappings; i++)
        if (!make(&targets[i], size)) {
            printf("%-7s is not possible here\n", trap);
            return;
        }
    struct figures figures = measure(mappings);
    show(trap, &figures);
    run.transfer = true;
    figures = measure(mappings);
    show("get", &figures);
    run.transfer = false;
    for (unsigned i = 0; i < mappings; i++)
        end(&targets[i], size);
}

int main(void)
{
    static const char *const traps[] = {"signal", "thread"};
    static const unsigned threads[] = {1, 8, 32};
    printf("%-7s %7s %8s %8s %8s %8s %8s %10s\n", "trap", "threads", "mappings", "p50 us", "p99",
           "p99.9", "p99/p50", "a second");
    for (unsigned trap = 0; trap < sizeof traps / sizeof traps[0]; trap++)
        for (unsigned i = 0; i < sizeof threads / sizeof threads[0]; i++)
            for (unsigned several = 0; several < 2; several++)
                if (several == 0 || threads[i] > 1)
                    measure_with(traps[trap], threads[i], several != 0);
    return 0;
}
