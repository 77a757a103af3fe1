/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What each call costs a process that has 100, 1 000 and 10 000 segments, and as many connections
 * to them. Segments of one page, side by side in one area, in a node of this program's own unless
 * RSM_RUNTIME_DIR says otherwise. Microseconds per call, medians, and the
 * ratio to those at 100: 1.00 is a cost that does not depend on the number. It judges nothing.
 */
#include <rsmapi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 100, ROUNDS = 21, FIRST_ID = 0x400000 };
enum { SIZES = 3, MOST = 10000 };
static const unsigned sizes[SIZES] = {100, 1000, MOST};

static rsmapi_controller_handle_t controller;
static rsm_node_id_t node;
static uint8_t *memory;
static size_t page;
static rsm_memseg_export_handle_t exported[MOST];
static rsm_memseg_import_handle_t imported[MOST];

static void need(int result, const char *what)
{
    if (result == RSM_SUCCESS)
        return;
    fprintf(stderr, "segment_scale: %s: error %d\n", what, result);
    exit(1);
}

/* ---------------------------------------------------------------- the calls */

static void create(unsigned i)
{
    need(rsm_memseg_export_create(controller, &exported[i], memory + i * page, page, 0), "create");
}

static void publish(unsigned i)
{
    rsm_memseg_id_t id = FIRST_ID + i;
    need(rsm_memseg_export_publish(exported[i], &id, NULL, 0), "publish");
}

static void connect_to(unsigned i)
{
    need(rsm_memseg_import_connect(controller, node, FIRST_ID + i, RSM_PERM_RDWR, &imported[i]),
         "connect");
}

static void disconnect(unsigned i)
{
    need(rsm_memseg_import_disconnect(imported[i]), "disconnect");
}

static void unpublish(unsigned i)
{
    need(rsm_memseg_export_unpublish(exported[i]), "unpublish");
}

static void destroy(unsigned i)
{
    need(rsm_memseg_export_destroy(exported[i]), "destroy");
}

/* In this order one round makes a segment and its connection, and ends them. */
static const struct {
    const char *name;
    void (*call)(unsigned i);
} calls[] = {
    {"create", create},         {"publish", publish},     {"connect", connect_to},
    {"disconnect", disconnect}, {"unpublish", unpublish}, {"destroy", destroy},
};
enum { CALLS = sizeof calls / sizeof calls[0], MAKING = 3 };

/* ---------------------------------------------------------------- measuring */

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The segments that a round makes and ends lie spread among the others. */
static bool is_in_batch(unsigned i, unsigned count)
{
    return i % (count / BATCH) == 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* All segments but those of the batch are there; microseconds per call into @p medians. */
static void measure(unsigned count, double medians[CALLS])
{
    static double samples[CALLS][ROUNDS * BATCH];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned k = 0; k < CALLS; k++) {
            double *sample = &samples[k][(size_t)round * BATCH];
            for (unsigned i = 0; i < count; i += count / BATCH) {
                double start = now_us();
                calls[k].call(i);
                *sample++ = now_us() - start;
            }
        }
    }
    for (unsigned k = 0; k < CALLS; k++) {
        qsort(samples[k], ROUNDS * BATCH, sizeof samples[k][0], compare);
        medians[k] = samples[k][ROUNDS * BATCH / 2];
    }
}

static void for_others(unsigned count, unsigned first_call, unsigned end_call)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = first_call; k < end_call && !is_in_batch(i, count); k++)
            calls[k].call(i);
}

static void print(double medians[SIZES][CALLS])
{
    printf("%-11s", "segments");
    for (unsigned s = 0; s < SIZES; s++)
        printf(" %13u        ", sizes[s]);
    printf("\n");
    for (unsigned k = 0; k < CALLS; k++) {
        printf("%-11s", calls[k].name);
        for (unsigned s = 0; s < SIZES; s++)
            printf(" %10.2f us %5.2f   ", medians[s][k], medians[s][k] / medians[0][k]);
        printf("\n");
    }
}

int main(void)
{
    double medians[SIZES][CALLS];
    rsm_topology_t *topology;
    char name[] = "sci0";
    page = (size_t)sysconf(_SC_PAGESIZE);
    need(rsm_get_controller(name, &controller), "rsm_get_controller");
    need(rsm_get_interconnect_topology(&topology), "rsm_get_interconnect_topology");
    node = topology->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(topology);
    memory = mmap(NULL, MOST * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("segment_scale");
        return 1;
    }
    memset(memory, 1, MOST * page);
    for (unsigned s = 0; s < SIZES; s++) {
        for_others(sizes[s], 0, MAKING);
        measure(sizes[s], medians[s]);
        for_others(sizes[s], MAKING, CALLS);
    }
    print(medians);
    return 0;
}
