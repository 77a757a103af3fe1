/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of a mapping, beside the get and the put of the same bytes. */
#include "measures.h"

#include <string.h>

/* Other bytes than those of the time before. */
static void change_buffer(struct bench *bench)
{
    memset(bench->buffer, ++bench->contents, bench->transfer);
}

/* The copy, between opening and closing a barrier. */
static int copy(struct bench *bench, void *to, const void *from, double *ns)
{
    double start = clock_ns();
    int error = measure_open_span(bench);
    if (error == RSM_SUCCESS) {
        memcpy(to, from, bench->transfer);
        error = measure_close_span(bench);
    }
    *ns += clock_ns() - start;
    return error;
}

/* The pages have their memory before anything is timed. */
static int begin_mapping(struct bench *bench)
{
    double ns = 0;
    int error = rsm_memseg_import_map(bench->data.handle, &bench->mapped, RSM_MAP_NONE,
                                      RSM_PERM_RDWR, 0, bench->bytes);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_memseg_import_map", error);
    return copy(bench, bench->buffer, bench->mapped, &ns);
}

static int end_mapping(struct bench *bench)
{
    return bench_failed(bench, "rsm_memseg_import_unmap",
                        rsm_memseg_import_unmap(bench->data.handle));
}

static int run_load(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        change_buffer(bench);
        error = bench_failed(
            bench, "rsm_memseg_import_put",
            rsm_memseg_import_put(bench->data.handle, 0, bench->buffer, bench->transfer));
        if (error == RSM_SUCCESS)
            error = copy(bench, bench->buffer, bench->mapped, ns);
    }
    return error;
}

static int run_store(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        change_buffer(bench);
        error = copy(bench, bench->mapped, bench->buffer, ns);
    }
    return error;
}

#define MAPPED .sized = true, .single = true, .everywhere = true

const struct gauge gauge_map_load = {
    .name = "map-load",
    MAPPED,
    .ours = {.begin = begin_mapping, .run = run_load, .end = end_mapping},
    .limit_name = "get",
    .limit = {.run = measure_get}};
const struct gauge gauge_map_store = {
    .name = "map-store",
    MAPPED,
    .ours = {.begin = begin_mapping, .run = run_store, .end = end_mapping},
    .limit_name = "put",
    .limit = {.run = measure_put}};
