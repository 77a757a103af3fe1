/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the mapping engine costs, over a transport that is nothing but a memory copy, beside put and
 * plain memory. One round of everything after the other, medians; it prints and judges nothing.
 * RSM_MAP_MODE and its kin apply.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/softmap/softmap.h"

enum { ROUNDS = 101, PAGE = 4096, PAGES = 256 };
#define SIZE ((size_t)PAGE * PAGES)

static uint8_t *memory, *plain, *source;
static volatile uint8_t *map;
static struct rsm_conn *conn;

/* ---------------------------------------------------------------- the transport */

static enum rsm_status put(struct rsm_conn *unused, uint64_t offset, const void *src, size_t length)
{
    (void)unused;
    memcpy(memory + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status get(struct rsm_conn *unused, uint64_t offset, void *dst, size_t length)
{
    (void)unused;
    memcpy(dst, memory + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status put_elems(struct rsm_conn *unused, uint64_t offset, const void *src,
                                 unsigned width, size_t count)
{
    return put(unused, offset, src, width * count);
}

static enum rsm_status putv(struct rsm_conn *unused, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)put(unused, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

static enum rsm_status nothing(struct rsm_conn *unused)
{
    (void)unused;
    return RSM_ST_OK;
}

static void disconnect(struct rsm_conn *unused)
{
    (void)unused;
}

static const struct rsm_import_ops copy_ops = {.caps = RSM_CAP_FAULT_SAFE,
                                               .put = put,
                                               .get = get,
                                               .put_elems = put_elems,
                                               .putv = putv,
                                               .order = nothing,
                                               .complete = nothing,
                                               .health = nothing,
                                               .disconnect = disconnect};
static struct rsm_conn inner = {.ops = &copy_ops};

/* ---------------------------------------------------------------- what is measured */

static void complete(void)
{
    (void)conn->ops->complete(conn);
}

/* The next accesses find nothing. */
static void forget(void)
{
    rsm_softmap_ops_v1.acquire(conn);
}

static volatile uint64_t *word(size_t offset)
{
    return (volatile uint64_t *)(volatile void *)(map + offset);
}

static uint64_t counter;

static void trapped_store(void)
{
    *word(0) = ++counter;
}

static void first_load(void)
{
    (void)*word(PAGE);
}

/* Enough of them for a twin. */
static void dirty(unsigned pages)
{
    counter++;
    for (size_t page = 0; page < pages; page++)
        for (size_t i = 0; i < 70; i++)
            *word(page * PAGE + i * 8) = counter;
}

static void dirty_1(void)
{
    dirty(1);
}

static void dirty_16(void)
{
    dirty(16);
}

static void dirty_256(void)
{
    dirty(256);
}

static void loop_over_map(void)
{
    counter += UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < SIZE; at += 8)
        *word(at) = counter + at * UINT64_C(0x9e3779b97f4a7c15);
    complete();
}

static void copy_to_map(void)
{
    memset(source, (int)++counter, SIZE);
    memcpy((void *)(uintptr_t)map, source, SIZE);
    complete();
}

static void put_all(void)
{
    memset(source, (int)++counter, SIZE);
    (void)conn->ops->put(conn, 0, source, SIZE);
    complete();
}

static void copy_to_memory(void)
{
    memset(source, (int)++counter, SIZE);
    memcpy(plain, source, SIZE);
}

static const struct measure {
    const char *name;
    void (*prepare)(void); /* not measured, after forgetting everything */
    void (*act)(void);
} measures[] = {
    {"trapped store", NULL, trapped_store},
    {"first load of a page", NULL, first_load},
    {"barrier, nothing to send", NULL, complete},
    {"barrier, 1 page", dirty_1, complete},
    {"barrier, 16 pages", dirty_16, complete},
    {"barrier, 256 pages", dirty_256, complete},
    {"1 MiB by 8-byte loop and barrier", NULL, loop_over_map},
    {"1 MiB by memcpy and barrier", NULL, copy_to_map},
    {"1 MiB by put and barrier", NULL, put_all},
    {"1 MiB by memcpy to plain memory", NULL, copy_to_memory},
};
enum { MEASURES = sizeof measures / sizeof measures[0] };

static double samples[MEASURES][ROUNDS]; /* microseconds */

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint8_t *pages(void)
{
    uint8_t *made =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return made;
}

static void run(const struct measure *measure, double *sample)
{
    forget();
    if (measure->prepare != NULL)
        measure->prepare();
    double start = now_us();
    measure->act();
    *sample = now_us() - start;
    complete();
}

int main(void)
{
    void *address = NULL;
    memory = pages();
    plain = pages();
    source = pages();
    /* A page is not to be flushed before the barrier that is measured. */
    setenv("RSM_MAP_MODE", "auto", 0);
    setenv("RSM_MAP_FLUSH_US", "1000000", 0);
    if (rsm_softmap_ops_v1.wrap(&inner, SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                &(struct softmap_settings){.given = 0}, &conn) != RSM_ST_OK ||
        conn->ops->map(conn, 0, SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, false, &address) !=
            RSM_ST_OK) {
        fprintf(stderr, "softmap: no mapping\n");
        return 1;
    }
    map = address;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < MEASURES; i++)
            run(&measures[i], &samples[i][round]);
    for (unsigned i = 0; i < MEASURES; i++) {
        qsort(samples[i], ROUNDS, sizeof samples[i][0], ascending);
        printf("%-36s %10.2f us (p10 %.2f)\n", measures[i].name, samples[i][ROUNDS / 2],
               samples[i][ROUNDS / 10]);
    }
    (void)conn->ops->unmap(conn, address, SIZE);
    conn->ops->disconnect(conn);
    return 0;
}
