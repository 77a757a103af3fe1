/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a get of 8 bytes takes on one connection alone, and beside 999 idle ones to the same exporter.
 * Without arguments in a node of this program's own. Between nodes, of which each has its rsmd:
 *
 *     RSM_NODE=1 idle_connections --export        on one of them, until it is killed
 *     RSM_NODE=2 idle_connections 1               on the other
 *
 * Both are measured in turn. Microseconds, medians, and the median of the rounds' ratios. It judges
 * nothing.
 */
#include <rsmapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 1000, ROUNDS = 9, GETS = 4000, ID = 0x4f5247 };

static rsmapi_controller_handle_t controller;
static rsm_memseg_import_handle_t imported[CONNECTIONS];
static rsmapi_barrier_t barrier;

static void need(int result, const char *what)
{
    if (result == RSM_SUCCESS)
        return;
    fprintf(stderr, "idle_connections: %s: error %d\n", what, result);
    exit(EXIT_FAILURE);
}

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

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static void export_segment(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = aligned_alloc(page, page);
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = ID;
    if (memory == NULL)
        exit(EXIT_FAILURE);
    memset(memory, 1, page);
    need(rsm_memseg_export_create(controller, &segment, memory, page, 0), "create");
    need(rsm_memseg_export_publish(segment, &id, NULL, 0), "publish");
}

static double get(void)
{
    static double took[GETS];
    uint64_t word;
    for (unsigned i = 0; i < GETS; i++) {
        double start = now_us();
        need(rsm_memseg_import_get(imported[0], 0, &word, sizeof word), "get");
        took[i] = now_us() - start;
    }
    return median(took, GETS);
}

static void connect_from(unsigned first, rsm_node_id_t node)
{
    for (unsigned i = first; i < CONNECTIONS; i++)
        need(rsm_memseg_import_connect(controller, node, ID, RSM_PERM_RDWR, &imported[i]),
             "connect");
}

static void measure(rsm_node_id_t node)
{
    double alone[ROUNDS], beside[ROUNDS], ratio[ROUNDS];
    need(rsm_memseg_import_connect(controller, node, ID, RSM_PERM_RDWR, &imported[0]), "connect");
    need(rsm_memseg_import_init_barrier(imported[0], RSM_BAR_DEFAULT, &barrier), "barrier");
    for (unsigned i = 0; i < ROUNDS; i++) {
        alone[i] = get();
        connect_from(1, node);
        beside[i] = get();
        ratio[i] = beside[i] / alone[i];
        for (unsigned k = 1; k < CONNECTIONS; k++)
            need(rsm_memseg_import_disconnect(imported[k]), "disconnect");
    }
    printf("get of 8 bytes: alone %.2f us, beside %d idle connections %.2f us, ratio %.2f\n",
           median(alone, ROUNDS), CONNECTIONS - 1, median(beside, ROUNDS), median(ratio, ROUNDS));
}

int main(int argc, char *argv[])
{
    char name[] = "sci0";
    rsm_topology_t *topology;
    rsm_node_id_t node = argc > 1 ? (rsm_node_id_t)strtoul(argv[1], NULL, 0) : 0;
    need(rsm_get_controller(name, &controller), "controller");
    if (node == 0) {
        export_segment();
        need(rsm_get_interconnect_topology(&topology), "topology");
        node = topology->topology_hdr.local_nodeid;
        rsm_free_interconnect_topology(topology);
    }
    if (argc > 1 && strcmp(argv[1], "--export") == 0)
        for (;;)
            pause();
    measure(node);
    need(rsm_release_controller(controller), "release");
    return EXIT_SUCCESS;
}
