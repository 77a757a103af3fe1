/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one-sided MPI takes between two processes. rsmperf has this file in itself, compiles it with
 * the host's mpicc and runs it with mpirun: it is of C99, POSIX and MPI 3 alone, for any
 * implementation.
 *
 * put_get OPERATION BYTES TIME_MS WINDOW: OPERATION is put or get, WINDOW of which are under way
 * together, or pingpong. Writes "rsmperf-mpi BYTES COUNT MEDIAN", ns for one operation.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLES = 20000,
    SAMPLES_MIN = 3,
    SAMPLE_NS = 4000, /* shorter ones are timed together */
    BATCH_MAX = 4096,
    POLLS = 1000, /* of memory, between looks at what MPI itself has to do */
    LAST = -1,    /* the word that ends a game */
};

struct window {
    MPI_Win handle;
    int peer;
    volatile long long *word; /* the beginning of our part */
    char *buffer;
};

static double samples[SAMPLES];

static double now_ns(void)
{
    static struct timespec first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (first.tv_sec == 0)
        first = now;
    return (double)(now.tv_sec - first.tv_sec) * 1e9 + (double)(now.tv_nsec - first.tv_nsec);
}

static void transfer(const struct window *window, int put, int bytes, int count)
{
    for (int i = 0; i < count; i++)
        if (put)
            MPI_Put(window->buffer, bytes, MPI_BYTE, window->peer, 0, bytes, MPI_BYTE,
                    window->handle);
        else
            MPI_Get(window->buffer, bytes, MPI_BYTE, window->peer, 0, bytes, MPI_BYTE,
                    window->handle);
    MPI_Win_flush(window->peer, window->handle);
}

static void put_word(const struct window *window, long long word)
{
    MPI_Put(&word, (int)sizeof word, MPI_BYTE, window->peer, 0, (int)sizeof word, MPI_BYTE,
            window->handle);
    MPI_Win_flush(window->peer, window->handle);
}

/* An implementation may store nothing here until this process calls it. */
static long long await_other_than(const struct window *window, long long old)
{
    int polls = 0, found;
    for (MPI_Win_sync(window->handle); *window->word == old; MPI_Win_sync(window->handle))
        if (++polls % POLLS == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    return *window->word;
}

static void answer(const struct window *window)
{
    for (long long word = 0; (word = await_other_than(window, word)) != LAST;)
        put_word(window, word);
}

static void serve(const struct window *window)
{
    static long long word;
    put_word(window, ++word);
    await_other_than(window, word - 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each sample is of `batch` steps. */
static double take(const struct window *window, const char *operation, int bytes, int many,
                   int batch)
{
    double start = now_ns();
    for (int i = 0; i < batch; i++)
        if (strcmp(operation, "pingpong") == 0)
            serve(window);
        else
            transfer(window, strcmp(operation, "put") == 0, bytes, many);
    return (now_ns() - start) / batch;
}

static void measure(const struct window *window, const char *operation, int bytes, double time_ns,
                    int many)
{
    int count = 0, batch = 1, each = strcmp(operation, "pingpong") == 0 ? 2 : many;
    while (take(window, operation, bytes, many, batch) * batch < SAMPLE_NS && batch < BATCH_MAX)
        batch *= 2;
    double end = now_ns() + time_ns;
    while (count < SAMPLES && (count < SAMPLES_MIN || now_ns() < end))
        samples[count++] = take(window, operation, bytes, many, batch);
    qsort(samples, (size_t)count, sizeof *samples, by_value);
    printf("rsmperf-mpi %d %.0f %.3f\n", bytes, (double)count * batch * many,
           samples[count / 2] / each);
}

int main(int argc, char *argv[])
{
    struct window window = {.peer = 1};
    void *memory;
    int rank, size, room;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5 || size != 2) {
        fprintf(stderr, "two processes: put_get OPERATION BYTES TIME_MS WINDOW\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int bytes = atoi(argv[2]);
    room = bytes > (int)sizeof(long long) ? bytes : (int)sizeof(long long);
    window.peer = 1 - rank;
    window.buffer = malloc((size_t)room);
    MPI_Win_allocate(room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window.handle);
    if (window.buffer == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(window.buffer, 1, (size_t)room);
    memset(memory, 0, (size_t)room);
    window.word = memory;
    MPI_Win_lock_all(0, window.handle);
    MPI_Win_sync(window.handle);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        measure(&window, argv[1], bytes, atof(argv[3]) * 1e6, atoi(argv[4]));
    if (strcmp(argv[1], "pingpong") == 0) {
        if (rank == 0)
            put_word(&window, LAST);
        else
            answer(&window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window.handle);
    MPI_Win_free(&window.handle);
    free(window.buffer);
    MPI_Finalize();
    return 0;
}
