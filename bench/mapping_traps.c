/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What each way of the mapping engine to learn of refused accesses costs (rsm_map(7), "Traps"), for
 * one fault and for 1 MiB, over a transport that is nothing but a memory copy. Rounds of everything
 * one after the other, medians; it judges nothing.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mapping.h"
#include "mapping_limits.h"

enum { ROUNDS = 101, ELEMENT = 8 };

static uint8_t *source;
static uint64_t counter;

/* A mapping by one trap. */
static struct way {
    const char *trap, *mode;
    struct bench_conn inner;
    struct rsm_conn *conn; /* NULL: this trap is not possible here */
    volatile uint8_t *map;
} ways[] = {
    {.trap = "signal", .mode = "auto"},
    {.trap = "signal", .mode = "twin"},
    {.trap = "thread", .mode = "auto"},
    {.trap = "thread", .mode = "twin"},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void make(struct way *way)
{
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    const struct mapping_settings none = {.given = 0};
    void *address = NULL;
    setenv("RSM_MAP_TRAP", way->trap, 1);
    setenv("RSM_MAP_MODE", way->mode, 1);
    bench_connect(&way->inner, BENCH_SIZE);
    if (rsm_mapping_ops_v1.wrap(&way->inner.conn, BENCH_SIZE, rights, &none, &way->conn) !=
        RSM_ST_OK) {
        way->conn = NULL;
        return;
    }
    if (way->conn->ops->map(way->conn, 0, BENCH_SIZE, rights, false, &address) != RSM_ST_OK) {
        fprintf(stderr, "mapping_traps: no mapping\n");
        exit(1);
    }
    way->map = address;
}

static void end(struct way *way)
{
    if (way->conn == NULL)
        return;
    (void)way->conn->ops->unmap(way->conn, (void *)(uintptr_t)way->map, BENCH_SIZE);
    way->conn->ops->disconnect(way->conn);
}

static volatile uint64_t *word(const struct way *way, size_t offset)
{
    return (volatile uint64_t *)(volatile void *)(way->map + offset);
}

static void close_barrier(const struct way *way)
{
    (void)way->conn->ops->complete(way->conn);
}

/* ---------------------------------------------------------------- what is measured */

static void load_one(const struct way *way)
{
    (void)*word(way, BENCH_PAGE);
}

static void load_all(const struct way *way)
{
    for (size_t page = 0; page < BENCH_PAGES; page++)
        (void)*word(way, page * BENCH_PAGE);
}

static void store_one(const struct way *way)
{
    *word(way, BENCH_PAGE) = ++counter;
}

/* No decoder takes it. */
static void add_to_all(const struct way *way)
{
    for (size_t page = 0; page < BENCH_PAGES; page++)
        (void)atomic_fetch_add((volatile _Atomic uint64_t *)word(way, page * BENCH_PAGE), 1);
}

static void loop(const struct way *way)
{
    counter += UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < BENCH_SIZE; at += ELEMENT)
        *word(way, at) = counter + at * UINT64_C(0x9e3779b97f4a7c15);
    close_barrier(way);
}

static void new_source(const struct way *way)
{
    (void)way;
    memset(source, (int)++counter, BENCH_SIZE);
}

static void copy_in(const struct way *way)
{
    memcpy((void *)(uintptr_t)way->map, source, BENCH_SIZE);
    close_barrier(way);
}

static void copy_out(const struct way *way)
{
    memcpy(source, (const void *)(uintptr_t)way->map, BENCH_SIZE);
}

static const struct row {
    const char *name;
    void (*prepare)(const struct way *way); /* not measured */
    void (*act)(const struct way *way);
    unsigned faults; /* that one act() takes, each of which is what counts; else 1 */
} rows[] = {
    {"load, first of a page, alone", NULL, load_one, 1},
    {"load, first of a page, of 256", NULL, load_all, BENCH_PAGES},
    {"store, first to a page, alone", NULL, store_one, 1},
    {"store to a page that was read, of 256", load_all, add_to_all, BENCH_PAGES},
    {"store that makes a twin, of 256", NULL, add_to_all, BENCH_PAGES},
    {"1 MiB by 8-byte loop and barrier", NULL, loop, 1},
    {"1 MiB by memcpy and barrier", new_source, copy_in, 1},
    {"1 MiB read by memcpy", NULL, copy_out, 1},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static double samples[ROWS][WAYS][ROUNDS]; /* microseconds */

static double sample(const struct row *row, const struct way *way)
{
    rsm_mapping_ops_v1.acquire(way->conn); /* what follows finds nothing */
    if (row->prepare != NULL)
        row->prepare(way);
    double start = bench_now_us();
    row->act(way);
    double us = bench_now_us() - start;
    close_barrier(way);
    return us / row->faults;
}

int main(void)
{
    source = bench_memory(BENCH_SIZE);
    /* A page is not to be flushed before the barrier that is measured. */
    setenv("RSM_MAP_FLUSH_US", "1000000", 0);
    for (unsigned way = 0; way < WAYS; way++)
        make(&ways[way]);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned row = 0; row < ROWS; row++)
            for (unsigned way = 0; way < WAYS; way++)
                if (ways[way].conn != NULL)
                    samples[row][way][round] = sample(&rows[row], &ways[way]);
    printf("%-38s", "");
    for (unsigned way = 0; way < WAYS; way++)
        printf("   %6s/%s", ways[way].trap, ways[way].mode);
    printf("  (us, median; - not possible here)\n");
    for (unsigned row = 0; row < ROWS; row++) {
        printf("%-38s", rows[row].name);
        for (unsigned way = 0; way < WAYS; way++) {
            bench_sort(samples[row][way], ROUNDS);
            if (ways[way].conn != NULL)
                printf(" %13.2f", samples[row][way][ROUNDS / 2]);
            else
                printf(" %13s", "-");
        }
        printf("\n");
    }
    for (unsigned way = 0; way < WAYS; way++)
        end(&ways[way]);
    return 0;
}
