/* SPDX-License-Identifier: BSD-3-Clause */
/* What a TCP connection without librsm takes for what librsm does: `--limit tcp`. */
#include "measures.h"

#include "plain_tcp.h"

enum {
    ASLEEP_NS = 50000,  /* after which a waiter is asleep, whatever it did before */
    SMALL_PUT = 24 + 8, /* what librsm's tcp sends for one */
    WORD = 8,
};

static int failed(struct bench *bench, int error)
{
    return bench_failed(bench, "a TCP connection to compare with", error);
}

/* ------------------------------------------------------------------ there and back */

static int run_puts(struct bench *bench, size_t bytes, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        error = plain_put(bench->plain, bench->buffer, bytes, 1);
        if (error == RSM_SUCCESS)
            error = plain_answer(bench->plain, PLAIN_POLLS);
    }
    *ns = clock_ns() - start;
    return failed(bench, error);
}

static int run_put(struct bench *bench, unsigned batch, double *ns)
{
    return run_puts(bench, bench->transfer, batch, ns);
}

static int run_half(struct bench *bench, unsigned batch, double *ns)
{
    int error = run_puts(bench, WORD, batch, ns);
    *ns /= 2;
    return error;
}

static int run_get(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = plain_get(bench->plain, bench->buffer, bench->transfer, 1, PLAIN_POLLS);
    *ns = clock_ns() - start;
    return failed(bench, error);
}

/* Both ends sleep: what the answer is to reach does, too. */
static int run_asleep(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        double start = clock_ns();
        while (clock_ns() - start < ASLEEP_NS)
            continue;
        start = clock_ns();
        error = plain_put(bench->plain, bench->buffer, WORD, 1);
        if (error == RSM_SUCCESS)
            error = plain_answer(bench->plain, PLAIN_SLEEPS);
        *ns += clock_ns() - start;
    }
    return failed(bench, error);
}

/* ------------------------------------------------------------------ streams */

static int run_put_stream(struct bench *bench, unsigned batch, double *ns)
{
    unsigned window = gauge_window(bench->transfer);
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned done = 0; done < batch && error == RSM_SUCCESS; done += window) {
        error = plain_put(bench->plain, bench->buffer, bench->transfer, window);
        if (error == RSM_SUCCESS)
            error = plain_answer(bench->plain, PLAIN_POLLS);
    }
    *ns = clock_ns() - start;
    return failed(bench, error);
}

static int run_get_stream(struct bench *bench, unsigned batch, double *ns)
{
    unsigned window = gauge_window(bench->transfer);
    double start = clock_ns();
    int error = RSM_SUCCESS;
    for (unsigned done = 0; done < batch && error == RSM_SUCCESS; done += window)
        error = plain_get(bench->plain, bench->buffer, bench->transfer, window, PLAIN_POLLS);
    *ns = clock_ns() - start;
    return failed(bench, error);
}

/* The sends alone: the answer is not in the time. */
static int run_put_span(struct bench *bench, unsigned batch, double *ns)
{
    double start = clock_ns();
    int error = plain_put(bench->plain, bench->buffer, SMALL_PUT, batch);
    *ns = clock_ns() - start;
    if (error == RSM_SUCCESS)
        error = plain_answer(bench->plain, PLAIN_POLLS);
    return failed(bench, error);
}

const struct side tcp_put = {.run = run_put}, tcp_get = {.run = run_get};
const struct side tcp_put_stream = {.run = run_put_stream},
                  tcp_get_stream = {.run = run_get_stream};
const struct side tcp_put_span = {.run = run_put_span};
const struct side tcp_half = {.run = run_half}, tcp_asleep = {.run = run_asleep};
