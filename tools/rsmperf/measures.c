/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers and barriers. */
#include "measures.h"

#include <string.h>

static int set_mode(struct bench *bench, rsm_barrier_mode_t mode)
{
    return bench_failed(bench, "rsm_memseg_import_set_mode",
                        rsm_memseg_import_set_mode(bench->data.handle, mode));
}

/* ------------------------------------------------------------------ complete on return */

int measure_put(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_put(bench->data.handle, 0, bench->buffer, bench->transfer);
    *ns = clock_ns() - start;
    return bench_failed(bench, "rsm_memseg_import_put", error);
}

int measure_get(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_get(bench->data.handle, 0, bench->buffer, bench->transfer);
    *ns = clock_ns() - start;
    return bench_failed(bench, "rsm_memseg_import_get", error);
}

static int run_put64(struct bench *bench, unsigned batch, double *ns)
{
    uint64_t *element = (void *)bench->buffer;
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_put64(bench->data.handle, 0, element, 1);
    *ns = clock_ns() - start;
    return bench_failed(bench, "rsm_memseg_import_put64", error);
}

static int run_get64(struct bench *bench, unsigned batch, double *ns)
{
    uint64_t *element = (void *)bench->buffer;
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_get64(bench->data.handle, 0, element, 1);
    *ns = clock_ns() - start;
    return bench_failed(bench, "rsm_memseg_import_get64", error);
}

/* ------------------------------------------------------------------ within a barrier's span */

int measure_open_span(struct bench *bench)
{
    return bench_failed(bench, "rsm_memseg_import_open_barrier",
                        rsm_memseg_import_open_barrier(&bench->data.barrier));
}

int measure_close_span(struct bench *bench)
{
    return bench_failed(bench, "rsm_memseg_import_close_barrier",
                        rsm_memseg_import_close_barrier(&bench->data.barrier));
}

static int begin_explicit(struct bench *bench)
{
    return set_mode(bench, RSM_BARRIER_MODE_EXPLICIT);
}

static int end_explicit(struct bench *bench)
{
    return set_mode(bench, RSM_BARRIER_MODE_IMPLICIT);
}

typedef int (*run_function)(struct bench *bench, unsigned batch, double *ns);

/* Spans of a window each. */
static int run_stream(struct bench *bench, unsigned batch, double *ns, run_function run)
{
    unsigned window = gauge_window(bench->transfer);
    double start = clock_ns(), inner;
    int error = RSM_SUCCESS;
    for (unsigned done = 0; done < batch && error == RSM_SUCCESS; done += window) {
        error = measure_open_span(bench);
        if (error == RSM_SUCCESS)
            error = run(bench, window, &inner);
        if (error == RSM_SUCCESS)
            error = measure_close_span(bench);
    }
    *ns = clock_ns() - start;
    return error;
}

static int run_put_stream(struct bench *bench, unsigned batch, double *ns)
{
    return run_stream(bench, batch, ns, measure_put);
}

static int run_get_stream(struct bench *bench, unsigned batch, double *ns)
{
    return run_stream(bench, batch, ns, measure_get);
}

/* The accesses alone; the closing barrier, which the others pay each time, is not in the time. */
static int run_span(struct bench *bench, unsigned batch, double *ns, run_function run)
{
    int error = measure_open_span(bench);
    if (error == RSM_SUCCESS)
        error = run(bench, batch, ns);
    return error == RSM_SUCCESS ? measure_close_span(bench) : error;
}

static int run_put64_span(struct bench *bench, unsigned batch, double *ns)
{
    return run_span(bench, batch, ns, run_put64);
}

static int run_get64_span(struct bench *bench, unsigned batch, double *ns)
{
    return run_span(bench, batch, ns, run_get64);
}

/* ------------------------------------------------------------------ barriers */

static int run_barrier(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        error = measure_open_span(bench);
        if (error == RSM_SUCCESS)
            error = measure_close_span(bench);
    }
    *ns = clock_ns() - start;
    return error;
}

static int run_order(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_order_barrier(&bench->data.barrier);
    *ns = clock_ns() - start;
    return bench_failed(bench, "rsm_memseg_import_order_barrier", error);
}

/* ------------------------------------------------------------------ limits */

int measure_copy_out(struct bench *bench, unsigned batch, double *ns)
{
    *ns = limit_copy(bench->partner.memory, bench->buffer, bench->transfer, batch);
    return RSM_SUCCESS;
}

static int run_copy_in(struct bench *bench, unsigned batch, double *ns)
{
    *ns = limit_copy(bench->buffer, bench->partner.memory, bench->transfer, batch);
    return RSM_SUCCESS;
}

static int run_fence(struct bench *bench, unsigned batch, double *ns)
{
    (void)bench;
    *ns = limit_fence(batch);
    return RSM_SUCCESS;
}

#define COPY_OUT .limit_name = "memcpy", .limit = {.run = measure_copy_out}
#define COPY_IN  .limit_name = "memcpy", .limit = {.run = run_copy_in}
#define FENCE    .limit_name = "fence", .limit = {.run = run_fence}
#define SPAN     .begin = begin_explicit, .end = end_explicit

const struct gauge gauge_put = {
    .name = "put", .sized = true, .ours = {.run = measure_put}, COPY_OUT, .tcp = &tcp_put};
const struct gauge gauge_get = {
    .name = "get", .sized = true, .ours = {.run = measure_get}, COPY_IN, .tcp = &tcp_get};
const struct gauge gauge_put_stream = {.name = "put-stream",
                                       .sized = true,
                                       .stream = true,
                                       .ours = {SPAN, .run = run_put_stream},
                                       COPY_OUT,
                                       .tcp = &tcp_put_stream};
const struct gauge gauge_get_stream = {.name = "get-stream",
                                       .sized = true,
                                       .stream = true,
                                       .ours = {SPAN, .run = run_get_stream},
                                       COPY_IN,
                                       .tcp = &tcp_get_stream};
const struct gauge gauge_put64 = {
    .name = "put64", .bytes = 8, .ours = {.run = run_put64}, COPY_OUT, .tcp = &tcp_put};
const struct gauge gauge_get64 = {
    .name = "get64", .bytes = 8, .ours = {.run = run_get64}, COPY_IN, .tcp = &tcp_get};
const struct gauge gauge_put64_span = {.name = "put64-span",
                                       .bytes = 8,
                                       .span = true,
                                       .ours = {SPAN, .run = run_put64_span},
                                       COPY_OUT,
                                       .tcp = &tcp_put_span};
const struct gauge gauge_get64_span = {.name = "get64-span",
                                       .bytes = 8,
                                       .span = true,
                                       .ours = {SPAN, .run = run_get64_span},
                                       COPY_IN,
                                       .tcp = &tcp_get};
const struct gauge gauge_barrier = {.name = "barrier", .ours = {SPAN, .run = run_barrier}, FENCE};
const struct gauge gauge_order = {.name = "order", .ours = {SPAN, .run = run_order}, FENCE};
