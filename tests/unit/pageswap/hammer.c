/* SPDX-License-Identifier: BSD-3-Clause */
#include "hammer.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include "support.h"

#define WRITERS 2

/* However long they take on a busy machine. */
#define SWAPS_MIN 4

/* What each page is used for; every word or area has one storing thread. */
#define WORD_OF_WRITER(n) ((n)*8) /* words, so in different cache lines */
#define WORD_OF_SWAPPER   32
#define WORD_OF_NOISE     40
#define IO_AREA           2048 /* bytes, to the end of the page */
#define IO_LENGTH         1024

struct work {
    char *memory;
    size_t pages, page;
    int fd;                     /* the memfd */
    char *import;               /* another mapping of it */
    uint64_t *written[WRITERS]; /* what each writer has stored, by page */
    int stop;                   /* atomic, like all that threads share here */
    unsigned at_work;           /* threads that have been through all pages, or a transfer */
    struct hammer_result *result;
};

struct thread {
    struct work *work;
    unsigned number;
    pthread_t id;
};

static uint64_t *word(char *memory, size_t page_size, size_t page, size_t number)
{
    return (uint64_t *)(void *)(memory + page * page_size) + number;
}

static uint64_t get(const uint64_t *place)
{
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static void put(uint64_t *place, uint64_t value)
{
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

static int stopping(const struct work *work)
{
    return __atomic_load_n(&work->stop, __ATOMIC_ACQUIRE);
}

/* Called by each thread after each of its rounds; the swaps go on until all had one. */
static void finish_round(struct work *work, bool *first)
{
    if (*first)
        __atomic_fetch_add(&work->at_work, 1, __ATOMIC_RELAXED);
    *first = false;
}

static void count(unsigned long *counter, unsigned long number)
{
    __atomic_fetch_add(counter, number, __ATOMIC_RELAXED);
}

static void *write_on(void *argument)
{
    struct thread *thread = argument;
    struct work *work = thread->work;
    uint64_t *written = work->written[thread->number];
    unsigned long stores = 0, vanished = 0;
    bool first = true;
    while (!stopping(work)) {
        for (size_t page = 0; page < work->pages; page++) {
            uint64_t *place = word(work->memory, work->page, page, WORD_OF_WRITER(thread->number));
            put(place, ++written[page]);
            vanished += get(place) != written[page];
        }
        stores += work->pages;
        finish_round(work, &first);
    }
    count(&work->result->stores, stores);
    count(&work->result->vanished, vanished);
    return NULL;
}

/* Values only ever grow; looked at through the application's mapping or the importer's. */
static void watch(struct work *work, char *memory, int noise)
{
    uint64_t *seen = calloc(work->pages * WRITERS, sizeof *seen);
    unsigned long loads = 0, backwards = 0;
    bool first = true;
    while (!stopping(work)) {
        for (size_t i = 0; i < work->pages * WRITERS; i++) {
            uint64_t value =
                get(word(memory, work->page, i / WRITERS, WORD_OF_WRITER(i % WRITERS)));
            backwards += value < seen[i];
            seen[i] = value;
            if (noise)
                put(word(memory, work->page, i / WRITERS, WORD_OF_NOISE), value);
        }
        loads += work->pages * WRITERS;
        finish_round(work, &first);
    }
    count(&work->result->loads, loads);
    count(&work->result->backwards, backwards);
    free(seen);
}

static void *read_on(void *argument)
{
    struct thread *thread = argument;
    watch(thread->work, thread->work->memory, 0);
    return NULL;
}

static void *import_on(void *argument)
{
    struct thread *thread = argument;
    watch(thread->work, thread->work->import, 1);
    return NULL;
}

/* One transfer; EFAULT is counted and tried again. */
static void transfer(struct work *work, int into, int file, char *at)
{
    for (;;) {
        ssize_t moved =
            into ? pread(file, at, IO_LENGTH, 0) : pwrite(file, at, IO_LENGTH, IO_LENGTH);
        count(&work->result->io_calls, 1);
        if (moved == IO_LENGTH)
            return;
        if (!into || (moved < 0 && errno != EFAULT)) {
            count(&work->result->io_wrong, 1);
            return;
        }
        count(&work->result->io_faults, 1);
    }
}

/* Read from a file into the memory, and write from the memory into the file. */
static void *transfer_on(void *argument)
{
    struct thread *thread = argument;
    struct work *work = thread->work;
    int file = memfd_create("rsm-test-file", MFD_CLOEXEC);
    char pattern[IO_LENGTH], back[IO_LENGTH];
    bool first = true;
    for (unsigned round = 0; !stopping(work); round++) {
        char *at = work->memory + round % work->pages * work->page + IO_AREA;
        memset(pattern, (int)round, sizeof pattern);
        memcpy(pattern, &round, sizeof round);
        if (pwrite(file, pattern, IO_LENGTH, 0) != IO_LENGTH)
            abort();
        transfer(work, 1, file, at);
        transfer(work, 0, file, at);
        if (pread(file, back, IO_LENGTH, IO_LENGTH) != IO_LENGTH)
            abort();
        if (memcmp(pattern, back, IO_LENGTH) != 0)
            count(&work->result->io_wrong, 1);
        finish_round(work, &first);
    }
    close(file);
    return NULL;
}

/* While the memfd is in place, both mappings show the same stores; later the last one is there. */
static void swap_once(struct work *work, uint64_t turn)
{
    size_t runs_count, length = work->pages * work->page;
    struct rsmcore_origin_run *runs = test_swap_in(work->memory, length, work->fd, 0, &runs_count);
    for (size_t page = 0; page < work->pages; page++) {
        uint64_t *here = word(work->memory, work->page, page, WORD_OF_SWAPPER);
        uint64_t *there = word(work->import, work->page, page, WORD_OF_SWAPPER);
        work->result->import_wrong += get(here) != 2 * turn || get(there) != 2 * turn;
        put(here, 2 * turn + 1);
        work->result->import_wrong += get(there) != 2 * turn + 1;
        put(there, 2 * turn + 2);
        work->result->import_wrong += get(here) != 2 * turn + 2;
    }
    test_swap_out(runs, runs_count, work->fd, 0);
    work->result->swaps++;
}

static uint64_t milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static char *map_memory(enum hammer_memory kind, size_t length)
{
    const int protection = PROT_READ | PROT_WRITE;
    void *at = MAP_FAILED;
    if (kind == HAMMER_SYSV) {
        int id = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);
        at = shmat(id, NULL, 0);
        shmctl(id, IPC_RMID, NULL);
    } else if (kind == HAMMER_FILE) {
        char path[] = "/var/tmp/rsm-pageswap-XXXXXX";
        int fd = mkstemp(path);
        unlink(path);
        if (ftruncate(fd, (off_t)length) == 0)
            at = mmap(NULL, length, protection, MAP_PRIVATE, fd, 0);
        close(fd);
    } else {
        int flags = kind == HAMMER_PRIVATE ? MAP_PRIVATE : MAP_SHARED;
        at = mmap(NULL, length, protection, flags | MAP_ANONYMOUS, -1, 0);
    }
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static void run_threads(struct work *work, unsigned milliseconds)
{
    void *(*const bodies[])(void *) = {write_on, write_on, read_on, import_on, transfer_on};
    enum { THREADS = sizeof bodies / sizeof bodies[0] };
    struct thread threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.work = work, .number = i};
        assert_int_equal(pthread_create(&threads[i].id, NULL, bodies[i], &threads[i]), 0);
    }
    uint64_t end = milliseconds_now() + milliseconds;
    for (uint64_t turn = 0; turn < SWAPS_MIN || milliseconds_now() < end ||
                            __atomic_load_n(&work->at_work, __ATOMIC_RELAXED) < THREADS;
         turn++)
        swap_once(work, turn);
    __atomic_store_n(&work->stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
}

void hammer(enum hammer_memory kind, size_t pages, unsigned milliseconds,
            struct hammer_result *result)
{
    *result = (struct hammer_result){0};
    struct work work = {.pages = pages, .page = test_page_size(), .result = result};
    size_t length = pages * work.page;
    work.memory = map_memory(kind, length);
    work.fd = test_memfd(length);
    work.import = test_import(work.fd, 0, length);
    for (unsigned i = 0; i < WRITERS; i++)
        work.written[i] = calloc(pages, sizeof *work.written[i]);
    run_threads(&work, milliseconds);
    for (unsigned i = 0; i < WRITERS; i++) {
        for (size_t page = 0; page < pages; page++)
            result->lost +=
                get(word(work.memory, work.page, page, WORD_OF_WRITER(i))) != work.written[i][page];
        free(work.written[i]);
    }
    munmap(work.import, length);
    close(work.fd);
    munmap(work.memory, length);
}

int hammer_found_errors(const struct hammer_result *result)
{
    return result->lost + result->vanished + result->backwards + result->io_wrong +
               result->import_wrong >
           0;
}

void hammer_print(const char *name, size_t pages, const struct hammer_result *result)
{
    printf("%-8s %4zu pages: %lu swaps, %lu stores, %lu loads, %lu transfers (%lu EFAULT); lost "
           "%lu, vanished %lu, backwards %lu, wrong transfers %lu, wrong imports %lu\n",
           name, pages, result->swaps, result->stores, result->loads, result->io_calls,
           result->io_faults, result->lost, result->vanished, result->backwards, result->io_wrong,
           result->import_wrong);
}
