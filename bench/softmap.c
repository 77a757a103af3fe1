/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the mapping engine costs, over a transport that is nothing but a memory copy, beside put,
 * plain memory and the faults alone. One round of everything after the other, medians; it prints
 * and judges nothing. RSM_MAP_MODE and its kin apply.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/softmap/softmap.h"

enum { ROUNDS = 101, PAGE = 4096, PAGES = 256 };
#define SIZE ((size_t)PAGE * PAGES)

static uint8_t *memory, *plain, *source;
static volatile uint8_t *map;
static struct rsm_conn *conn;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

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

/* ---------------------------------------------------------------- faults without an engine */

static volatile uint8_t *guarded;

static void open_page(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) != 0)
        abort();
}

/* Each page is opened by its first store, and all are closed at once: what any engine needs that
 * gives a page to the program. */
static double bare_faults(void)
{
    double start = now_us();
    for (size_t page = 0; page < PAGES; page++)
        guarded[page * PAGE] = 1;
    if (mprotect((void *)(uintptr_t)guarded, SIZE, PROT_NONE) != 0)
        abort();
    return now_us() - start;
}

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

static void new_source(void)
{
    memset(source, (int)++counter, SIZE);
}

static void copy_to_map(void)
{
    memcpy((void *)(uintptr_t)map, source, SIZE);
    complete();
}

static void put_all(void)
{
    (void)conn->ops->put(conn, 0, source, SIZE);
    complete();
}

static void copy_to_memory(void)
{
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
    {"1 MiB by memcpy and barrier", new_source, copy_to_map},
    {"1 MiB by put and barrier", new_source, put_all},
    {"1 MiB by memcpy to plain memory", new_source, copy_to_memory},
};
enum { MEASURES = sizeof measures / sizeof measures[0] };

static double samples[MEASURES][ROUNDS], faults[ROUNDS]; /* microseconds */

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

static uint8_t *shared_pages(void)
{
    int fd = memfd_create("softmap_cost", MFD_CLOEXEC);
    uint8_t *made = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, SIZE) == 0)
        made = mmap(NULL, SIZE, PROT_NONE, MAP_SHARED, fd, 0);
    if (made == MAP_FAILED) {
        perror("memfd");
        exit(1);
    }
    close(fd);
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

static void show(const char *name, double *sample)
{
    qsort(sample, ROUNDS, sizeof *sample, ascending);
    printf("%-36s %10.2f us (p10 %.2f)\n", name, sample[ROUNDS / 2], sample[ROUNDS / 10]);
}

static void *sleep_on(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* Before the engine has its handler. As there: memory that has a file, and another thread, which
 * makes the kernel careful. */
static void measure_faults(void)
{
    struct sigaction opening = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO}, former;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    pthread_mutex_lock(&lock);
    if (pthread_create(&other, NULL, sleep_on, &lock) != 0)
        exit(1);
    guarded = shared_pages();
    sigaction(SIGSEGV, &opening, &former);
    for (unsigned round = 0; round < ROUNDS; round++)
        faults[round] = bare_faults();
    sigaction(SIGSEGV, &former, NULL);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
}

int main(void)
{
    void *address = NULL;
    memory = pages();
    plain = pages();
    source = pages();
    measure_faults();
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
    for (unsigned i = 0; i < MEASURES; i++)
        show(measures[i].name, samples[i]);
    show("256 faults that open a page, alone", faults);
    (void)conn->ops->unmap(conn, address, SIZE);
    conn->ops->disconnect(conn);
    return 0;
}
