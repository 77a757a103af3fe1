/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a program pays that goes through a mapping in order, backward, in strides or at random, with
 * each trap of the mapping engine, beside get and put of the same bytes in the same rounds. The
 * transport is nothing but a memory copy. Medians; it judges nothing. The third figure of loads is
 * how many bytes the engine read for each byte of the pages that the program loaded from.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mapping.h"
#include "mapping_limits.h"

enum { ROUNDS = 15, PAGES = 4096, LINE = 64, STRIDE = 4, RANDOM = 512, ELEMENT = 8 };
#define SIZE ((size_t)PAGES * BENCH_PAGE)

static uint8_t *local;
static uint64_t counter;
static uint32_t at_random[RANDOM]; /* pages, none twice */

/* Mappings to load from, and others to store to: a page that both sides write is another matter. */
static struct way {
    const char *trap;
    struct bench_conn inner;
    struct rsm_conn *conn; /* NULL: this trap is not possible here */
    volatile uint8_t *map;
} ways[] = {{.trap = "signal"}, {.trap = "thread"}},
  to_store[] = {{.trap = "signal"}, {.trap = "thread"}};
enum { WAYS = sizeof ways / sizeof ways[0] };
static struct bench_conn plain; /* that of put and get */

static void make(struct way *way)
{
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    const struct mapping_settings none = {.given = 0};
    void *address = NULL;
    setenv("RSM_MAP_TRAP", way->trap, 1);
    bench_connect(&way->inner, SIZE);
    if (rsm_mapping_ops_v1.wrap(&way->inner.conn, SIZE, rights, &none, &way->conn) != RSM_ST_OK) {
        way->conn = NULL;
        return;
    }
    if (way->conn->ops->map(way->conn, 0, SIZE, rights, false, &address) != RSM_ST_OK) {
        fprintf(stderr, "mapping_streams: no mapping\n");
        exit(1);
    }
    way->map = address;
}

static void end(struct way *way)
{
    if (way->conn == NULL)
        return;
    (void)way->conn->ops->unmap(way->conn, (void *)(uintptr_t)way->map, SIZE);
    way->conn->ops->disconnect(way->conn);
}

static void choose_at_random(void)
{
    uint32_t dice = 1;
    for (unsigned i = 0; i < RANDOM; i++) {
        dice = dice * 1664525u + 1013904223u;
        at_random[i] = i * (PAGES / RANDOM) + (dice >> 16) % (PAGES / RANDOM);
    }
    for (unsigned i = RANDOM - 1; i > 0; i--) {
        dice = dice * 1664525u + 1013904223u;
        unsigned other = (dice >> 16) % (i + 1);
        uint32_t page = at_random[i];
        at_random[i] = at_random[other];
        at_random[other] = page;
    }
}

/* ---------------------------------------------------------------- by the mapping */

static volatile uint64_t *word(const struct way *way, size_t offset)
{
    return (volatile uint64_t *)(volatile void *)(way->map + offset);
}

static void copy_out(const struct way *way)
{
    memcpy(local, (const void *)(uintptr_t)way->map, SIZE);
}

static void load_lines(const struct way *way)
{
    for (size_t at = 0; at < SIZE; at += LINE)
        (void)*word(way, at);
}

static void load_backward(const struct way *way)
{
    for (size_t at = SIZE; at > 0; at -= LINE)
        (void)*word(way, at - LINE);
}

static void load_strided(const struct way *way)
{
    for (size_t page = 0; page < PAGES; page += STRIDE)
        (void)*word(way, page * BENCH_PAGE);
}

static void load_at_random(const struct way *way)
{
    for (unsigned i = 0; i < RANDOM; i++)
        (void)*word(way, at_random[i] * (size_t)BENCH_PAGE);
}

static void copy_in(const struct way *way)
{
    memcpy((void *)(uintptr_t)way->map, local, SIZE);
    (void)way->conn->ops->complete(way->conn);
}

static void store_words(const struct way *way)
{
    counter += UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < SIZE; at += ELEMENT)
        *word(way, at) = counter + at * UINT64_C(0x9e3779b97f4a7c15);
    (void)way->conn->ops->complete(way->conn);
}

/* ---------------------------------------------------------------- by put and get */

static void get_all(void)
{
    (void)plain.conn.ops->get(&plain.conn, 0, local, SIZE);
}

static void get_strided(void)
{
    for (size_t page = 0; page < PAGES; page += STRIDE)
        (void)plain.conn.ops->get(&plain.conn, page * BENCH_PAGE, local, BENCH_PAGE);
}

static void get_at_random(void)
{
    for (unsigned i = 0; i < RANDOM; i++)
        (void)plain.conn.ops->get(&plain.conn, at_random[i] * (size_t)BENCH_PAGE, local,
                                  BENCH_PAGE);
}

static void put_all(void)
{
    (void)plain.conn.ops->put(&plain.conn, 0, local, SIZE);
    (void)plain.conn.ops->complete(&plain.conn);
}

/* ---------------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*mapped)(const struct way *way);
    void (*transfer)(void);
    unsigned pages; /* that it loads from; 0: it stores */
    bool same;      /* the segment is what it was when they were last loaded */
} rows[] = {
    {"memcpy from the mapping", copy_out, get_all, PAGES, .same = false},
    {"the same, nothing has changed", copy_out, get_all, PAGES, .same = true},
    {"a load in each line", load_lines, get_all, PAGES, .same = false},
    {"the same, backward", load_backward, get_all, PAGES, .same = false},
    {"a load in each fourth page", load_strided, get_strided, PAGES / STRIDE, .same = false},
    {"a load in each of 512 pages, random", load_at_random, get_at_random, RANDOM, .same = false},
    {"memcpy to the mapping, barrier", copy_in, put_all, .same = true},
    {"8-byte stores, barrier", store_words, put_all, .same = true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static double samples[ROWS][WAYS + 1][ROUNDS]; /* microseconds; the last: by put and get */
static double bytes_read[ROWS][WAYS][ROUNDS];

static void sample(unsigned row, unsigned round)
{
    for (unsigned i = 0; i < WAYS; i++) {
        struct way *way = rows[row].pages > 0 ? &ways[i] : &to_store[i];
        if (way->conn == NULL)
            continue;
        memset(local, (int)++counter, SIZE);
        if (!rows[row].same)
            memset(way->inner.segment, (int)++counter, SIZE);
        rsm_mapping_ops_v1.acquire(way->conn); /* what follows finds nothing */
        uint64_t before = way->inner.bytes_read;
        double start = bench_now_us();
        rows[row].mapped(way);
        samples[row][i][round] = bench_now_us() - start;
        bytes_read[row][i][round] = (double)(way->inner.bytes_read - before);
        (void)way->conn->ops->complete(way->conn);
        rsm_mapping_ops_v1.acquire(way->conn);
    }
    double start = bench_now_us();
    rows[row].transfer();
    samples[row][WAYS][round] = bench_now_us() - start;
}

static double median(double *sample_of)
{
    bench_sort(sample_of, ROUNDS);
    return sample_of[ROUNDS / 2];
}

static void show(unsigned row)
{
    double limit = median(samples[row][WAYS]);
    printf("%-36s", rows[row].name);
    for (unsigned i = 0; i < WAYS; i++) {
        if (ways[i].conn == NULL) {
            printf(" %10s %6s %5s", "-", "-", "-");
            continue;
        }
        double us = median(samples[row][i]);
        printf(" %10.0f %6.1f", us, us / limit);
        if (rows[row].pages > 0)
            printf(" %5.2f", median(bytes_read[row][i]) / ((double)rows[row].pages * BENCH_PAGE));
        else
            printf(" %5s", "");
    }
    printf(" %10.0f\n", limit);
}

int main(void)
{
    local = bench_memory(SIZE);
    bench_connect(&plain, SIZE);
    choose_at_random();
    for (unsigned way = 0; way < WAYS; way++) {
        make(&ways[way]);
        make(&to_store[way]);
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned row = 0; row < ROWS; row++)
            sample(row, round);
    printf("%-36s", "16 MiB");
    for (unsigned i = 0; i < WAYS; i++)
        printf(" %7s us %6s %5s", ways[i].trap, "ratio", "read");
    printf(" %10s\n", "put/get us");
    for (unsigned row = 0; row < ROWS; row++)
        show(row);
    for (unsigned way = 0; way < WAYS; way++) {
        end(&ways[way]);
        end(&to_store[way]);
    }
    return 0;
}
