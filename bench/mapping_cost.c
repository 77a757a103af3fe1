/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the mapping engine costs, over a transport that is nothing but a memory copy. Beside each
 * figure: the same with plain memory, as where the fabric itself maps, and by put and get. Rounds
 * of everything after the other, medians; it judges nothing. RSM_MAP_MODE and its kin apply.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mapping.h"
#include "mapping_limits.h"

enum { ROUNDS = 101, WORDS_OF_A_PAGE = 70, MANY = 1000, ELEMENT = 8 };

static uint8_t *plain, *source, *scratch;
static volatile uint8_t *map;
static struct bench_conn inner, other; /* the engine's; that of put and get */
static struct rsm_conn *conn;          /* what the engine makes of inner */
static uint64_t counter;

static volatile uint64_t *word(volatile uint8_t *of, size_t offset)
{
    return (volatile uint64_t *)(volatile void *)(of + offset);
}

static void put(uint64_t offset, const void *from, size_t length)
{
    (void)other.conn.ops->put(&other.conn, offset, from, length);
}

static void get(uint64_t offset, void *to, size_t length)
{
    (void)other.conn.ops->get(&other.conn, offset, to, length);
}

static void close_mapped(void)
{
    (void)conn->ops->complete(conn);
}

static void close_direct(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

static void close_put(void)
{
    (void)other.conn.ops->complete(&other.conn);
}

/* The next accesses to the mapping find nothing. */
static void forget(void)
{
    rsm_mapping_ops_v1.acquire(conn);
}

/* ---------------------------------------------------------------- single accesses */

static void store_mapped(void)
{
    *word(map, 0) = ++counter;
}

static void store_direct(void)
{
    for (unsigned i = 0; i < MANY; i++)
        *word(plain, 0) = ++counter;
}

static void store_put(void)
{
    for (unsigned i = 0; i < MANY; i++) {
        counter++;
        put(0, &counter, ELEMENT);
    }
}

static void load_mapped(void)
{
    (void)*word(map, BENCH_PAGE);
}

static void reload_mapped(void)
{
    for (unsigned i = 0; i < MANY; i++)
        (void)*word(map, BENCH_PAGE);
}

static void load_direct(void)
{
    for (unsigned i = 0; i < MANY; i++)
        (void)*word(plain, BENCH_PAGE);
}

static void load_get(void)
{
    for (unsigned i = 0; i < MANY; i++)
        get(BENCH_PAGE, scratch, ELEMENT);
}

static void page_get(void)
{
    for (unsigned i = 0; i < MANY; i++)
        get(BENCH_PAGE, scratch, BENCH_PAGE);
}

/* No decoder takes it: the page gets its twin. */
static void add_to(volatile uint8_t *of)
{
    (void)atomic_fetch_add((volatile _Atomic uint64_t *)word(of, 0), 1);
}

static void twin_mapped(void)
{
    add_to(map);
}

static void twin_direct(void)
{
    for (unsigned i = 0; i < MANY; i++)
        add_to(plain);
}

static void again_mapped(void)
{
    for (unsigned i = 0; i < MANY; i++)
        *word(map, ELEMENT) = ++counter;
}

/* ---------------------------------------------------------------- barriers */

/* Enough stores for twins. */
static void dirty(volatile uint8_t *of, unsigned pages)
{
    counter++;
    for (size_t page = 0; page < pages; page++)
        for (size_t i = 0; i < WORDS_OF_A_PAGE; i++)
            *word(of, page * BENCH_PAGE + i * ELEMENT) = counter;
}

static void dirty_1(void)
{
    dirty(map, 1);
}

static void dirty_16(void)
{
    dirty(map, 16);
}

static void dirty_256(void)
{
    dirty(map, 256);
}

static void put_pages(unsigned pages)
{
    for (size_t page = 0; page < pages; page++)
        put(page * BENCH_PAGE, source, (size_t)WORDS_OF_A_PAGE * ELEMENT);
    close_put();
}

static void put_1(void)
{
    put_pages(1);
}

static void put_16(void)
{
    put_pages(16);
}

static void put_256(void)
{
    put_pages(256);
}

static void load_all(void)
{
    for (size_t page = 0; page < BENCH_PAGES; page++)
        (void)*word(map, page * BENCH_PAGE);
}

/* ---------------------------------------------------------------- bulk */

static void new_source(void)
{
    memset(source, (int)++counter, BENCH_SIZE);
}

static void loop_over(volatile uint8_t *of)
{
    counter += UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < BENCH_SIZE; at += ELEMENT)
        *word(of, at) = counter + at * UINT64_C(0x9e3779b97f4a7c15);
}

static void loop_mapped(void)
{
    loop_over(map);
    close_mapped();
}

static void loop_direct(void)
{
    loop_over(plain);
    close_direct();
}

static void loop_put(void)
{
    for (size_t at = 0; at < BENCH_SIZE; at += ELEMENT)
        put(at, source + at, ELEMENT);
    close_put();
}

static void copy_mapped(void)
{
    memcpy((void *)(uintptr_t)map, source, BENCH_SIZE);
    close_mapped();
}

static void copy_direct(void)
{
    memcpy(plain, source, BENCH_SIZE);
    close_direct();
}

static void copy_put(void)
{
    put(0, source, BENCH_SIZE);
    close_put();
}

/* ---------------------------------------------------------------- staleness */

/* The peer stores; how long until a loop of loads without any call sees it. In a page of its own:
 * one that the peer writes to is treated otherwise. */
static void show_page(void)
{
    (void)*word(map, BENCH_SIZE);
}

static void poll_mapped(void)
{
    *word(inner.segment, BENCH_SIZE) = ++counter;
    while (*word(map, BENCH_SIZE) != counter)
        continue;
}

static void poll_direct(void)
{
    *word(plain, BENCH_SIZE) = ++counter;
    while (*word(plain, BENCH_SIZE) != counter)
        continue;
}

static void poll_get(void)
{
    *word(other.segment, BENCH_SIZE) = ++counter;
    do
        get(BENCH_SIZE, scratch, ELEMENT);
    while (*word(scratch, 0) != counter);
}

/* ---------------------------------------------------------------- rounds */

struct way {
    void (*prepare)(void); /* not measured */
    void (*act)(void);
    unsigned times; /* that it is done by one act() */
};

enum { MAPPED, DIRECT, TRANSFER, WAYS };
#define BARRIER_256 "barrier, 256 pages"
#define COPY        "1 MiB by memcpy and barrier"

#define ONCE(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__, 1                                                                             \
    }
#define MANY_TIMES(...)                                                                            \
    {                                                                                              \
        __VA_ARGS__, MANY                                                                          \
    }
#define NO_WAY                                                                                     \
    {                                                                                              \
        NULL, NULL, 0                                                                              \
    }

static const struct row {
    const char *name;
    struct way way[WAYS];
} rows[] = {
    {"store, first to a page",
     {ONCE(NULL, store_mapped), MANY_TIMES(NULL, store_direct), MANY_TIMES(NULL, store_put)}},
    {"store that makes a twin", {ONCE(NULL, twin_mapped), MANY_TIMES(NULL, twin_direct), NO_WAY}},
    {"store to a page with a twin",
     {MANY_TIMES(twin_mapped, again_mapped), MANY_TIMES(NULL, store_direct),
      MANY_TIMES(NULL, store_put)}},
    {"load, first of a page",
     {ONCE(NULL, load_mapped), MANY_TIMES(NULL, load_direct), MANY_TIMES(NULL, page_get)}},
    {"load again",
     {MANY_TIMES(load_mapped, reload_mapped), MANY_TIMES(NULL, load_direct),
      MANY_TIMES(NULL, load_get)}},
    {"until polling sees a change",
     {ONCE(show_page, poll_mapped), ONCE(NULL, poll_direct), ONCE(NULL, poll_get)}},
    {"barrier, nothing to send",
     {ONCE(NULL, close_mapped), ONCE(NULL, close_direct), ONCE(NULL, close_put)}},
    {"barrier, 1 page", {ONCE(dirty_1, close_mapped), ONCE(NULL, close_direct), ONCE(NULL, put_1)}},
    {"barrier, 16 pages",
     {ONCE(dirty_16, close_mapped), ONCE(NULL, close_direct), ONCE(NULL, put_16)}},
    {BARRIER_256, {ONCE(dirty_256, close_mapped), ONCE(NULL, close_direct), ONCE(NULL, put_256)}},
    {"opening a barrier, 256 pages read",
     {ONCE(load_all, forget), ONCE(NULL, close_direct), NO_WAY}},
    {"1 MiB by 8-byte loop and barrier",
     {ONCE(NULL, loop_mapped), ONCE(NULL, loop_direct), ONCE(NULL, loop_put)}},
    {COPY,
     {ONCE(new_source, copy_mapped), ONCE(new_source, copy_direct), ONCE(new_source, copy_put)}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static double samples[ROWS][WAYS][ROUNDS]; /* microseconds */

static double sample(const struct way *way)
{
    forget();
    if (way->prepare != NULL)
        way->prepare();
    double start = bench_now_us();
    way->act();
    double us = bench_now_us() - start;
    close_mapped();
    return us / way->times;
}

static void measure(void)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned row = 0; row < ROWS; row++)
            for (unsigned way = 0; way < WAYS; way++)
                if (rows[row].way[way].act != NULL)
                    samples[row][way][round] = sample(&rows[row].way[way]);
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned way = 0; way < WAYS; way++)
            bench_sort(samples[row][way], ROUNDS);
}

static double median(unsigned row, unsigned way)
{
    return samples[row][way][ROUNDS / 2];
}

static unsigned row_named(const char *name)
{
    unsigned row = 0;
    while (strcmp(rows[row].name, name) != 0)
        row++;
    return row;
}

static void show(double faults_us)
{
    printf("%-34s %11s %11s %11s %11s  (us)\n", "", "mapped", "p10", "plain", "put, get");
    for (unsigned row = 0; row < ROWS; row++) {
        printf("%-34s %11.4f %11.4f %11.4f ", rows[row].name, median(row, MAPPED),
               samples[row][MAPPED][ROUNDS / 10], median(row, DIRECT));
        if (rows[row].way[TRANSFER].act != NULL)
            printf("%11.4f\n", median(row, TRANSFER));
        else
            printf("%11s\n", "-");
    }
    unsigned barrier = row_named(BARRIER_256), copy = row_named(COPY);
    double limit = median(copy, TRANSFER) + faults_us;
    printf("%-34s %11.4f  aim: 0.5\n", "barrier, each of 256 pages",
           median(barrier, MAPPED) / BENCH_PAGES);
    printf("%-34s %11.4f\n", "256 faults that open a page, alone", faults_us);
    printf("%-34s %11.2f  aim: 1.50\n", "memcpy by one put and the faults",
           median(copy, MAPPED) / limit);
}

int main(void)
{
    void *address = NULL;
    double faults_us = bench_faults_us();
    bench_connect(&inner, BENCH_SIZE + BENCH_PAGE);
    bench_connect(&other, BENCH_SIZE + BENCH_PAGE);
    plain = bench_memory(BENCH_SIZE + BENCH_PAGE);
    source = bench_memory(BENCH_SIZE + BENCH_PAGE);
    scratch = bench_memory(BENCH_SIZE + BENCH_PAGE);
    /* A page is not to be flushed before the barrier that is measured. */
    setenv("RSM_MAP_FLUSH_US", "1000000", 0);
    if (rsm_mapping_ops_v1.wrap(&inner.conn, BENCH_SIZE + BENCH_PAGE,
                                RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                &(struct mapping_settings){.given = 0}, &conn) != RSM_ST_OK ||
        conn->ops->map(conn, 0, BENCH_SIZE + BENCH_PAGE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, false,
                       &address) != RSM_ST_OK) {
        fprintf(stderr, "mapping_cost: no mapping\n");
        return 1;
    }
    map = address;
    measure();
    show(faults_us);
    (void)conn->ops->unmap(conn, address, BENCH_SIZE + BENCH_PAGE);
    conn->ops->disconnect(conn);
    return 0;
}
