/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What librsm's operations cost beside bare loads and stores through the same window, for
 * scripts/ntb_perf.sh and bench/ntb_host.sh:
 *
 *   ntb_bench export FILE   export and publish a segment; says so, and ends when FILE is there
 *   ntb_bench NODE [NAME]   measure against that node's export, and print a table; NAME: only that operation
 *
 * Both sides of a line are measured in turns, so that what disturbs the machine disturbs both;
 * the ratio is the median of the turns'. With an emulated processor the ratios are what counts.
 */
#include <rsmapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH = 1 << 20, PAGE = 4096, ID = 0x400100, WITHIN = 6000, TICK_US = 10000, TURNS = 15 };

static rsm_memseg_import_handle_t import;
static rsmapi_barrier_t barrier;
static uint8_t *window;
static uint8_t block[LENGTH] __attribute__((aligned(64)));
static volatile uint64_t sink;

static void check(const char *what, int error)
{
    if (error == RSM_SUCCESS)
        return;
    fprintf(stderr, "ntb_bench: %s: %d\n", what, error);
    exit(1);
}

static void store_fence(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    __sync_synchronize();
#endif
}

static rsmapi_controller_handle_t controller(void)
{
    rsmapi_controller_handle_t handle;
    char name[] = "sci0";
    check("rsm_get_controller", rsm_get_controller(name, &handle));
    return handle;
}

static int export_until(const char *file)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = ID;
    rsmapi_access_entry_t acl[] = {{.ae_node = 1, .ae_permission = 0666},
                                   {.ae_node = 2, .ae_permission = 0666}};
    void *memory = aligned_alloc(PAGE, LENGTH);
    memset(memory, 0, LENGTH);
    check("create", rsm_memseg_export_create(controller(), &segment, memory, LENGTH, 0));
    check("publish", rsm_memseg_export_publish(segment, &id, acl, 2));
    puts("exporting");
    fflush(stdout);
    while (access(file, F_OK) < 0)
        usleep(TICK_US);
    return 0;
}

/* ------------------------------------------------------------------ what is measured */

static void put(size_t size)
{
    check("put", rsm_memseg_import_put(import, 0, block, size));
}

static void copy_out(size_t size)
{
    memcpy(window, block, size);
    store_fence();
}

/* By words: an emulator carries out the string instructions of memcpy() at once. */
static void words_out(size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t))
        *(volatile uint64_t *)(void *)(window + i) = *(const uint64_t *)(const void *)(block + i);
    store_fence();
}

static void words_in(size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t))
        *(uint64_t *)(void *)(block + i) = *(const volatile uint64_t *)(const void *)(window + i);
}

static void store_word(size_t size)
{
    *(volatile uint64_t *)window = 5;
    store_fence();
}

static void get(size_t size)
{
    check("get", rsm_memseg_import_get(import, 0, block, size));
}

static void copy_in(size_t size)
{
    memcpy(block, window, size);
}

static void close_barrier(size_t size)
{
    check("close_barrier", rsm_memseg_import_close_barrier(&barrier));
    check("open_barrier", rsm_memseg_import_open_barrier(&barrier));
}

static void load_word(size_t size)
{
    store_fence();
    sink = *(volatile uint64_t *)window;
}

static const struct line {
    const char *name, *beside;
    void (*run)(size_t size), (*bare)(size_t size);
    size_t size;
    unsigned times; /* in a turn */
} lines[] = {
    {"put 8", "store, sfence", put, store_word, 8, 2000},
    {"put 64K", "memcpy, sfence", put, copy_out, 64 << 10, 40},
    {"put 1M", "memcpy, sfence", put, copy_out, 1 << 20, 3},
    {"put 1M", "words, sfence", put, words_out, 1 << 20, 3},
    {"get 64K", "memcpy", get, copy_in, 64 << 10, 40},
    {"get 1M", "memcpy", get, copy_in, 1 << 20, 3},
    {"get 1M", "words", get, words_in, 1 << 20, 3},
    {"get 1M", "put 1M (as the exporter would)", get, put, 1 << 20, 3},
    {"barrier", "sfence, load", close_barrier, load_word, 0, 2000},
};

/* ------------------------------------------------------------------ measuring */

static double seconds(void (*run)(size_t size), size_t size, unsigned times)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; i < times; i++)
        run(size);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9) / times;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const struct line *line)
{
    double ours[TURNS], bare[TURNS], ratio[TURNS];
    (void)seconds(line->run, line->size, line->times);
    (void)seconds(line->bare, line->size, line->times);
    for (unsigned i = 0; i < TURNS; i++) {
        ours[i] = seconds(line->run, line->size, line->times);
        bare[i] = seconds(line->bare, line->size, line->times);
        ratio[i] = ours[i] / bare[i];
    }
    qsort(ours, TURNS, sizeof ours[0], by_value);
    qsort(bare, TURNS, sizeof bare[0], by_value);
    qsort(ratio, TURNS, sizeof ratio[0], by_value);
    printf("result: %-8s %10.3f us; %-31s %10.3f us; ratio %5.2f", line->name,
           ours[TURNS / 2] * 1e6, line->beside, bare[TURNS / 2] * 1e6, ratio[TURNS / 2]);
    if (line->size >= 4096)
        printf("; %.0f MB/s", (double)line->size / ours[TURNS / 2] / 1e6);
    puts("");
}

static void connect_to(unsigned node)
{
    rsmapi_controller_handle_t through = controller();
    void *address = NULL;
    int error = RSMERR_INTERNAL_ERROR;
    for (unsigned i = 0; error != RSM_SUCCESS && i < WITHIN; i++) {
        error = rsm_memseg_import_connect(through, node, ID, RSM_PERM_RDWR, &import);
        if (error != RSM_SUCCESS)
            usleep(TICK_US);
    }
    check("connect", error);
    check("init_barrier", rsm_memseg_import_init_barrier(import, RSM_BARRIER_SEGMENT, &barrier));
    check("map", rsm_memseg_import_map(import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH));
    window = address;
    check("set_mode", rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT));
    check("open_barrier", rsm_memseg_import_open_barrier(&barrier));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "export") == 0)
        return export_until(argv[2]);
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "Usage: ntb_bench export FILE | NODE [NAME]\n");
        return 2;
    }
    connect_to((unsigned)strtoul(argv[1], NULL, 10));
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (argc == 2 || strcmp(argv[2], lines[i].name) == 0)
            measure(&lines[i]);
    check("close_barrier", rsm_memseg_import_close_barrier(&barrier));
    check("unmap", rsm_memseg_import_unmap(import));
    check("disconnect", rsm_memseg_import_disconnect(import));
    return 0;
}
