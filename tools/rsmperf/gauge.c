/* SPDX-License-Identifier: BSD-3-Clause */
#include "gauge.h"

#include <string.h>

#include "measures.h"

enum {
    WARM_UPS = 3,
    SAMPLE_NS = 4000, /* the clock takes some 25 of them */
    BATCH_MAX = 4096,
    SLICE_SAMPLES_MIN = 3,
    SLICES_MAX = 20, /* so many times its time, and it ends with fewer */
    WINDOW_MAX = 64,
};
#define WINDOW_BYTES ((size_t)4 << 20)
#define NS_PER_MS    1e6

const struct gauge *const gauges[GAUGES] = {
    &gauge_put,           &gauge_get,           &gauge_put_stream,      &gauge_get_stream,
    &gauge_put64,         &gauge_get64,         &gauge_put64_span,      &gauge_get64_span,
    &gauge_pingpong,      &gauge_barrier,       &gauge_order,           &gauge_post_spin,
    &gauge_post_sleep,    &gauge_notify_sleep,  &gauge_create,          &gauge_publish,
    &gauge_connect,       &gauge_map,           &gauge_setup,           &gauge_map_load,
    &gauge_map_store,     &gauge_sci_memcpy,    &gauge_sci_memcpy_read, &gauge_sci_store,
    &gauge_sci_trigger,   &gauge_sci_callback,  &gauge_sci_dma,         &gauge_sci_dma_read,
    &gauge_sci_dma_start, &gauge_sci_dma_queue,
};

unsigned gauge_window(size_t bytes)
{
    size_t window = WINDOW_BYTES / bytes;
    return window < 1 ? 1 : window > WINDOW_MAX ? WINDOW_MAX : (unsigned)window;
}

const struct side *gauge_limit(const struct gauge *gauge, const struct options *options)
{
    if (gauge->everywhere)
        return &gauge->limit;
    if (options->limit_tcp)
        return gauge->tcp;
    return options->role == ROLE_BOTH && !options->limit_devices_given ? &gauge->limit : NULL;
}

/* What a side needs between its slices: how often it is done for one sample. */
struct pace {
    const struct side *side;
    unsigned batch;
    double slice_ns;
};

static int begin(const struct side *side, struct bench *bench)
{
    return side->begin == NULL ? RSM_SUCCESS : side->begin(bench);
}

/* Also after a failure, whose code is kept. */
static int end(const struct side *side, struct bench *bench, int error)
{
    const char *failed_call = bench->failed_call;
    int ended = side->end == NULL ? RSM_SUCCESS : side->end(bench);
    if (error == RSM_SUCCESS)
        return ended;
    bench->failed_call = failed_call;
    return error;
}

static int warm_up(const struct gauge *gauge, struct pace *pace, struct bench *bench)
{
    unsigned step = gauge->stream || gauge->span ? gauge_window(bench->transfer) : 1;
    double best = 0, ns;
    int error = begin(pace->side, bench);
    for (int i = 0; i < WARM_UPS && error == RSM_SUCCESS; i++) {
        error = pace->side->run(bench, step, &ns);
        if (i == 0 || ns < best)
            best = ns;
    }
    pace->batch = step;
    if (!gauge->single && best < SAMPLE_NS) {
        double times = SAMPLE_NS / (best > 1 ? best : 1);
        unsigned max = BATCH_MAX / step;
        pace->batch = step * (times < max ? (unsigned)times + 1 : max);
    }
    if (error == RSM_SUCCESS)
        error = pace->side->run(bench, pace->batch, &ns);
    return end(pace->side, bench, error);
}

static int take_slice(const struct pace *pace, struct bench *bench, struct slice *slice)
{
    int error = begin(pace->side, bench);
    double start = clock_ns(), passed = 0;
    memset(slice, 0, offsetof(struct slice, value));
    while (error == RSM_SUCCESS && (passed < pace->slice_ns || slice->seen < SLICE_SAMPLES_MIN) &&
           (passed < SLICES_MAX * pace->slice_ns || slice->seen == 0)) {
        double ns;
        error = pace->side->run(bench, pace->batch, &ns);
        if (error == RSM_SUCCESS)
            samples_add(slice, ns / pace->batch);
        passed = clock_ns() - start;
    }
    return end(pace->side, bench, error);
}

int gauge_take(const struct gauge *gauge, const struct side *limit_side, struct bench *bench,
               size_t bytes, unsigned time_ms, struct samples *ours, struct samples *limit)
{
    double slice_ns = time_ms * NS_PER_MS / REPETITIONS / 2;
    struct pace our_pace = {.side = &gauge->ours, .slice_ns = slice_ns};
    struct pace limit_pace = {.side = limit_side, .slice_ns = slice_ns};
    bench->transfer = bytes;
    int error = warm_up(gauge, &our_pace, bench);
    if (error == RSM_SUCCESS && limit_side != NULL)
        error = warm_up(gauge, &limit_pace, bench);
    for (unsigned i = 0; i < REPETITIONS && error == RSM_SUCCESS; i++) {
        error = take_slice(&our_pace, bench, &ours->slice[i]);
        if (error == RSM_SUCCESS && limit_side != NULL)
            error = take_slice(&limit_pace, bench, &limit->slice[i]);
    }
    return error;
}
