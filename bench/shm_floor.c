/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How far the shm transport is from the memory copy that it is made of.
 *
 * Ours and the floor alternate in one run, a sample each, so that whatever else the machine does
 * hits both; the figures are medians. It prints and judges nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "transport/instance.h"
#include "transport/registry.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

enum { SAMPLES_MAX = 2001 };

struct bench {
    struct rsm_port *port;
    struct rsm_node_port *node_port;
    const struct rsm_node_ops *node;
    const struct rsm_import_ops *import;
    struct rsm_extent *extent;
    struct rsm_conn *conn;
    uint8_t *floor;  /* another mapping of the same memory */
    uint8_t *buffer; /* private */
    size_t size;
};

/* One thing to measure; called `batch` times for one sample. */
typedef void (*operation)(struct bench *bench, size_t length);

/* The compiler must neither see through the pointer nor keep the copy to itself. */
static void *volatile opaque;

static void floor_put(struct bench *bench, size_t length)
{
    opaque = bench->floor;
    memcpy(opaque, bench->buffer, length);
    __asm__ volatile("" ::: "memory");
}

static void floor_get(struct bench *bench, size_t length)
{
    opaque = bench->buffer;
    memcpy(opaque, bench->floor, length);
    __asm__ volatile("" ::: "memory");
}

static void our_put(struct bench *bench, size_t length)
{
    bench->conn->ops->put(bench->conn, 0, bench->buffer, length);
}

static void our_get(struct bench *bench, size_t length)
{
    bench->conn->ops->get(bench->conn, 0, bench->buffer, length);
}

static void our_put_element(struct bench *bench, size_t length)
{
    bench->conn->ops->put_elems(bench->conn, 0, bench->buffer, 8, length / 8);
}

static void our_order(struct bench *bench, size_t length)
{
    (void)length;
    bench->conn->ops->order(bench->conn);
}

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double sample(struct bench *bench, operation run, size_t length, unsigned batch)
{
    double start = nanoseconds();
    for (unsigned i = 0; i < batch; i++)
        run(bench, length);
    return (nanoseconds() - start) / batch;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, unsigned count)
{
    qsort(samples, count, sizeof *samples, ascending);
    return samples[count / 2];
}

static void compare(struct bench *bench, const char *name, operation ours, operation base,
                    size_t length)
{
    static double our_samples[SAMPLES_MAX], base_samples[SAMPLES_MAX];
    unsigned batch = length <= 4096 ? 1000 : length <= 65536 ? 50 : 1;
    unsigned count = length <= 65536 ? SAMPLES_MAX : length <= (1u << 20) ? 1001 : 41;
    sample(bench, ours, length, batch);
    sample(bench, base, length, batch);
    for (unsigned i = 0; i < count; i++) {
        our_samples[i] = sample(bench, ours, length, batch);
        base_samples[i] = sample(bench, base, length, batch);
    }
    double our_time = median(our_samples, count), base_time = median(base_samples, count);
    printf("%-12s %10zu B  ours %12.1f ns  memcpy %12.1f ns  ratio %5.2f  %7.1f GB/s\n", name,
           length, our_time, base_time, our_time / base_time, (double)length / our_time);
}

/* Open both halves, make one extent and connect to all of it. */
static enum rsm_status start(struct bench *bench)
{
    const struct rsm_controller_info info = {.name = "sci0", .device = "", .options = ""};
    const struct rsm_importer importer = {.node = 1};
    struct rsm_node_offer *made;
    struct rsm_offer offer;
    enum rsm_status status = rsmcore_node_port_open(bench->node, &info, &bench->node_port);
    if (status == RSM_ST_OK)
        status = rsmcore_port_open(bench->import, &info, &bench->port);
    if (status == RSM_ST_OK)
        status = bench->node->extent_make(bench->node_port, bench->size, &bench->extent);
    if (status != RSM_ST_OK)
        return status;
    bench->floor =
        mmap(NULL, bench->size, PROT_READ | PROT_WRITE, MAP_SHARED, bench->extent->fd, 0);
    bench->buffer = malloc(bench->size);
    if (bench->floor == MAP_FAILED || bench->buffer == NULL)
        return RSM_ST_NO_MEMORY;
    const struct rsm_extent_piece piece = {bench->extent, 0, bench->size};
    status = bench->node->offer(bench->node_port, &piece, 1, READ_WRITE, &importer, &offer, &made);
    if (status != RSM_ST_OK)
        return status;
    status = rsmcore_conn_open(bench->port, &offer, bench->size, READ_WRITE, &bench->conn);
    close(offer.fds[0]);
    return status;
}

static void stop(struct bench *bench)
{
    rsmcore_conn_close(bench->conn);
    munmap(bench->floor, bench->size);
    free(bench->buffer);
    bench->node->extent_free(bench->node_port, bench->extent);
    bench->import->close(bench->port);
    bench->node->close(bench->node_port);
}

int main(void)
{
    static const size_t lengths[] = {8, 64, 4096, 64 << 10, 1 << 20, 64 << 20};
    struct bench bench = {.node = rsmcore_transport_node("shm"),
                          .import = rsmcore_transport_import("shm"),
                          .size = 64 << 20};
    if (bench.node == NULL || bench.import == NULL || start(&bench) != RSM_ST_OK) {
        fprintf(stderr, "shm_floor: the transport does not start\n");
        free(bench.buffer);
        return EXIT_FAILURE;
    }
    memset(bench.buffer, 1, bench.size);
    our_put(&bench, bench.size); /* so that no page is touched for the first time below */
    floor_get(&bench, bench.size);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        compare(&bench, "put", our_put, floor_put, lengths[i]);
        compare(&bench, "get", our_get, floor_get, lengths[i]);
    }
    compare(&bench, "put_elems 8", our_put_element, floor_put, 8);
    compare(&bench, "order", our_order, floor_put, 8);
    stop(&bench);
    return EXIT_SUCCESS;
}
