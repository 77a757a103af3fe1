/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping_limits.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 101 };

double bench_now_us(void)
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

void bench_sort(double *sample, unsigned count)
{
    qsort(sample, count, sizeof *sample, ascending);
}

static uint8_t *mapped(size_t size, int protection, int flags, int fd)
{
    void *made = mmap(NULL, size, protection, flags, fd, 0);
    if (made == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return made;
}

uint8_t *bench_memory(size_t size)
{
    return mapped(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
}

/* ---------------------------------------------------------------- the transport */

static uint8_t *segment_of(struct rsm_conn *conn)
{
    return ((struct bench_conn *)conn)->segment;
}

static enum rsm_status put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    memcpy(segment_of(conn) + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    memcpy(dst, segment_of(conn) + offset, length);
    ((struct bench_conn *)conn)->bytes_read += length;
    return RSM_ST_OK;
}

static enum rsm_status put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count)
{
    return put(conn, offset, src, width * count);
}

static enum rsm_status putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
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

static const struct rsm_import_ops copy_ops = {.put = put,
                                               .get = get,
                                               .put_elems = put_elems,
                                               .putv = putv,
                                               .order = nothing,
                                               .complete = nothing,
                                               .health = nothing,
                                               .disconnect = disconnect};

void bench_connect(struct bench_conn *conn, size_t size)
{
    conn->conn = (struct rsm_conn){.ops = &copy_ops, .caps = RSM_CAP_FAULT_SAFE};
    conn->segment = bench_memory(size);
}

/* ---------------------------------------------------------------- faults alone */

static void open_page(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(BENCH_PAGE - 1);
    if (mprotect((void *)page, BENCH_PAGE, PROT_READ | PROT_WRITE) != 0)
        abort();
}

static double open_all(uint8_t *guarded)
{
    volatile uint8_t *stored = guarded;
    double start = bench_now_us();
    for (size_t page = 0; page < BENCH_PAGES; page++)
        stored[page * BENCH_PAGE] = 1;
    if (mprotect(guarded, BENCH_SIZE, PROT_NONE) != 0)
        abort();
    return bench_now_us() - start;
}

static void *sleep_on(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* As in the engine: memory that has a file, and another thread, which makes the kernel careful. */
double bench_faults_us(void)
{
    double sample[ROUNDS];
    struct sigaction opening = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO}, former;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    int fd = memfd_create("mapping_cost", MFD_CLOEXEC);
    pthread_mutex_lock(&lock);
    if (fd < 0 || ftruncate(fd, BENCH_SIZE) != 0 ||
        pthread_create(&other, NULL, sleep_on, &lock) != 0) {
        perror("mapping_cost");
        exit(1);
    }
    uint8_t *guarded = mapped(BENCH_SIZE, PROT_NONE, MAP_SHARED, fd);
    sigaction(SIGSEGV, &opening, &former);
    for (unsigned round = 0; round < ROUNDS; round++)
        sample[round] = open_all(guarded);
    sigaction(SIGSEGV, &former, NULL);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    munmap(guarded, BENCH_SIZE);
    close(fd);
    bench_sort(sample, ROUNDS);
    return sample[ROUNDS / 2];
}
