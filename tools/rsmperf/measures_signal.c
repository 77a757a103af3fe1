/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes between two processes: events and words. */
#include "measures.h"

enum { ASLEEP_NS = 50000 }; /* after which a waiter is asleep, whatever it did before */

static void pause_ns(double ns)
{
    double start = clock_ns();
    while (clock_ns() - start < ns)
        continue;
}

/* ------------------------------------------------------------------ ours */

static int begin_sleep(struct bench *bench)
{
    return bench_lane(bench, WIRE_SLEEP);
}

static int begin_spin(struct bench *bench)
{
    return bench_lane(bench, WIRE_SPIN);
}

/* Both sides put in a barrier's span: a put does not wait for its arrival, which the answer shows,
 * and perftest does not wait either. */
static int begin_mirror(struct bench *bench)
{
    int error = bench_lane(bench, WIRE_MIRROR);
    if (error == RSM_SUCCESS)
        error = bench_failed(
            bench, "rsm_memseg_import_set_mode",
            rsm_memseg_import_set_mode(bench->command.handle, RSM_BARRIER_MODE_EXPLICIT));
    if (error == RSM_SUCCESS)
        error = bench_failed(bench, "rsm_memseg_import_open_barrier",
                             rsm_memseg_import_open_barrier(&bench->command.barrier));
    return error;
}

static int end_mirror(struct bench *bench)
{
    int error = bench_failed(bench, "rsm_memseg_import_close_barrier",
                             rsm_memseg_import_close_barrier(&bench->command.barrier));
    int restored =
        bench_failed(bench, "rsm_memseg_import_set_mode",
                     rsm_memseg_import_set_mode(bench->command.handle, RSM_BARRIER_MODE_IMPLICIT));
    if (error == RSM_SUCCESS)
        error = restored;
    int slept = begin_sleep(bench);
    return error == RSM_SUCCESS ? slept : error;
}

static int begin_notify(struct bench *bench)
{
    return bench_lane(bench, WIRE_NOTIFY);
}

static int end_notify(struct bench *bench)
{
    return bench_lane_by(bench, WIRE_SLEEP, bench_notify);
}

static int run_post(struct bench *bench, int (*ask)(struct bench *bench), unsigned batch,
                    double pause, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        pause_ns(pause);
        double start = clock_ns();
        error = ask(bench);
        *ns += clock_ns() - start;
    }
    return error;
}

int measure_asleep(struct bench *bench, int (*ask)(struct bench *bench), unsigned batch, double *ns)
{
    return run_post(bench, ask, batch, ASLEEP_NS, ns);
}

static int run_post_spin(struct bench *bench, unsigned batch, double *ns)
{
    return run_post(bench, bench_ask, batch, 0, ns);
}

int measure_post_sleep(struct bench *bench, unsigned batch, double *ns)
{
    return measure_asleep(bench, bench_ask, batch, ns);
}

static int run_notify_sleep(struct bench *bench, unsigned batch, double *ns)
{
    return measure_asleep(bench, bench_notify, batch, ns);
}

/* One way is half of the round trip. */
static int run_pingpong(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    double start = clock_ns();
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        uint64_t old = atomic_load(&bench->answer->pong), ping = old + 1;
        error = rsm_memseg_import_put64(bench->command.handle,
                                        (off_t)offsetof(struct wire_command, ping), &ping, 1);
        if (error == RSM_SUCCESS)
            error = spin_until_not(&bench->answer->pong, old);
    }
    *ns = (clock_ns() - start) / 2;
    return bench_failed(bench, "put and its mirrored put", error);
}

/* ------------------------------------------------------------------ limits */

static int begin_line(struct bench *bench)
{
    return partner_send(&bench->partner, PARTNER_LINE);
}

static int begin_eventfd(struct bench *bench)
{
    return partner_send(&bench->partner, PARTNER_EVENTFD);
}

static int end_limit(struct bench *bench)
{
    return partner_rest(&bench->partner);
}

static int run_lines(struct bench *bench, unsigned batch, double *ns, double trips)
{
    int error = RSM_SUCCESS;
    double start = clock_ns();
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = partner_line(&bench->partner);
    *ns = (clock_ns() - start) * trips;
    return bench_failed(bench, "cache line to another process", error);
}

/* There and back, as the event and the word that answers it. */
static int run_line_round(struct bench *bench, unsigned batch, double *ns)
{
    return run_lines(bench, batch, ns, 1);
}

static int run_line_half(struct bench *bench, unsigned batch, double *ns)
{
    return run_lines(bench, batch, ns, 0.5);
}

static int run_eventfd(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        pause_ns(ASLEEP_NS);
        double start = clock_ns();
        error = partner_eventfd(&bench->partner);
        *ns += clock_ns() - start;
    }
    return bench_failed(bench, "eventfd to another process", error);
}

const struct gauge gauge_pingpong = {
    .name = "pingpong",
    .bytes = 8,
    .ours = {.begin = begin_mirror, .run = run_pingpong, .end = end_mirror},
    .limit_name = "cache line",
    .limit = {.begin = begin_line, .run = run_line_half, .end = end_limit},
    .tcp = &tcp_half};
const struct gauge gauge_post_spin = {
    .name = "post-spin",
    .ours = {.begin = begin_spin, .run = run_post_spin, .end = begin_sleep},
    .limit_name = "cache line",
    .limit = {.begin = begin_line, .run = run_line_round, .end = end_limit}};
const struct gauge gauge_post_sleep = {
    .name = "post-sleep",
    .single = true,
    .ours = {.begin = begin_sleep, .run = measure_post_sleep},
    .limit_name = "eventfd",
    .limit = {.begin = begin_eventfd, .run = run_eventfd, .end = end_limit},
    .tcp = &tcp_asleep};
const struct gauge gauge_notify_sleep = {
    .name = "notify-sleep",
    .single = true,
    .ours = {.begin = begin_notify, .run = run_notify_sleep, .end = end_notify},
    .limit_name = "eventfd",
    .limit = {.begin = begin_eventfd, .run = run_eventfd, .end = end_limit},
    .tcp = &tcp_asleep};
