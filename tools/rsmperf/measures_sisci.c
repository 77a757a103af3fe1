/* SPDX-License-Identifier: BSD-3-Clause */
/* SISCI, beside what RSMAPI or the machine takes for the same. */
#include "measures.h"

enum { STORE_BYTES = 4096 };

/* ------------------------------------------------------------------ copies */

static int copy(struct bench *bench, unsigned batch, double *ns, unsigned flags)
{
    sci_error_t error = SCI_ERR_OK;
    double start = clock_ns();
    for (unsigned i = 0; i < batch && error == SCI_ERR_OK; i++)
        SCIMemCpy(NULL, bench->buffer, bench->sisci.map, 0, bench->transfer, flags, &error);
    *ns = clock_ns() - start;
    return sisci_failed(bench, "SCIMemCpy", error);
}

static int run_memcpy(struct bench *bench, unsigned batch, double *ns)
{
    return copy(bench, batch, ns, 0);
}

static int run_memcpy_read(struct bench *bench, unsigned batch, double *ns)
{
    return copy(bench, batch, ns, SCI_FLAG_BLOCK_READ);
}

/* ------------------------------------------------------------------ stores through maps */

__attribute__((noinline)) static double store_words(volatile void *to, size_t bytes, unsigned batch)
{
    volatile uint64_t *words = to;
    double start = clock_ns();
    for (unsigned i = 0; i < batch; i++)
        for (size_t w = 0; w < bytes / sizeof *words; w++)
            words[w] = i;
    return clock_ns() - start;
}

static int run_store(struct bench *bench, unsigned batch, double *ns)
{
    *ns = store_words(bench->sisci.mapped, bench->transfer, batch);
    return RSM_SUCCESS;
}

static int run_rsm_store(struct bench *bench, unsigned batch, double *ns)
{
    *ns = store_words(bench->sisci.rsm_mapped, bench->transfer, batch);
    return RSM_SUCCESS;
}

/* ------------------------------------------------------------------ triggers */

static int ask_by(struct bench *bench, sci_remote_interrupt_t interrupt)
{
    uint64_t old = atomic_load_explicit(&bench->answer->answers, memory_order_relaxed);
    sci_error_t error;
    SCITriggerInterrupt(interrupt, 0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCITriggerInterrupt", error);
    return bench_failed(bench, "answer to a trigger", spin_until_not(&bench->answer->answers, old));
}

static int ask_waiter(struct bench *bench)
{
    return ask_by(bench, bench->sisci.awaited);
}

static int ask_callback(struct bench *bench)
{
    return ask_by(bench, bench->sisci.called);
}

static int begin_trigger(struct bench *bench)
{
    return bench_lane(bench, WIRE_INTERRUPT);
}

/* What ends the mode comes the mode's own way. */
static int end_trigger(struct bench *bench)
{
    return bench_lane_by(bench, WIRE_SLEEP, ask_waiter);
}

static int run_trigger(struct bench *bench, unsigned batch, double *ns)
{
    return measure_asleep(bench, ask_waiter, batch, ns);
}

static int run_callback(struct bench *bench, unsigned batch, double *ns)
{
    return measure_asleep(bench, ask_callback, batch, ns);
}

/* ------------------------------------------------------------------ DMA */

static int dma(struct bench *bench, unsigned batch, double *ns, unsigned flags)
{
    const struct sisci_near *near = &bench->sisci;
    sci_error_t error = SCI_ERR_OK;
    double start = clock_ns();
    for (unsigned i = 0; i < batch && error == SCI_ERR_OK; i++)
        SCIStartDmaTransfer(near->queue, near->source, near->segment, 0, bench->transfer, 0, NULL,
                            NULL, flags | SCI_FLAG_DMA_WAIT, &error);
    *ns = clock_ns() - start;
    return sisci_failed(bench, "SCIStartDmaTransfer", error);
}

static int run_dma(struct bench *bench, unsigned batch, double *ns)
{
    return dma(bench, batch, ns, 0);
}

static int run_dma_read(struct bench *bench, unsigned batch, double *ns)
{
    return dma(bench, batch, ns, SCI_FLAG_DMA_READ);
}

static int run_dma_start(struct bench *bench, unsigned batch, double *ns)
{
    const struct sisci_near *near = &bench->sisci;
    sci_error_t error = SCI_ERR_OK;
    double start = clock_ns();
    for (unsigned i = 0; i < batch && error == SCI_ERR_OK; i++) {
        SCIStartDmaTransfer(near->queue, near->source, near->segment, 0, bench->transfer, 0, NULL,
                            NULL, 0, &error);
        if (error == SCI_ERR_OK)
            SCIWaitForDMAQueue(near->queue, SCI_INFINITE_TIMEOUT, 0, &error);
    }
    *ns = clock_ns() - start;
    return sisci_failed(bench, "SCIStartDmaTransfer", error);
}

/* What sci-dma has left is DONE. */
static int begin_queue(struct bench *bench)
{
    sci_error_t error;
    SCIResetDMAQueue(bench->sisci.queue, 0, &error);
    return sisci_failed(bench, "SCIResetDMAQueue", error);
}

/* As many as the queue has entries, posted together. */
static sci_error_t gather_and_post(const struct sisci_near *near, size_t bytes, unsigned entries)
{
    const unsigned flags = SCI_FLAG_DMA_POST | SCI_FLAG_DMA_WAIT | SCI_FLAG_DMA_RESET;
    sci_error_t error = SCI_ERR_OK;
    for (unsigned i = 1; i <= entries && error == SCI_ERR_OK; i++)
        SCIEnqueueDMATransfer(near->queue, near->source, near->segment, 0, 0, (unsigned)bytes,
                              i == entries ? flags : 0, &error);
    return error;
}

static int run_dma_queue(struct bench *bench, unsigned batch, double *ns)
{
    sci_error_t error = SCI_ERR_OK;
    double start = clock_ns();
    for (unsigned left = batch; left > 0 && error == SCI_ERR_OK;) {
        unsigned entries = left < SISCI_QUEUE_ENTRIES ? left : SISCI_QUEUE_ENTRIES;
        error = gather_and_post(&bench->sisci, bench->transfer, entries);
        left -= entries;
    }
    *ns = clock_ns() - start;
    return sisci_failed(bench, "SCIEnqueueDMATransfer", error);
}

const struct gauge gauge_sci_memcpy = {.name = "sci-memcpy",
                                       .sisci = true,
                                       .sized = true,
                                       .ours = {.run = run_memcpy},
                                       .limit_name = "put",
                                       .limit = {.run = measure_put}};
const struct gauge gauge_sci_memcpy_read = {.name = "sci-memcpy-read",
                                            .sisci = true,
                                            .sized = true,
                                            .ours = {.run = run_memcpy_read},
                                            .limit_name = "get",
                                            .limit = {.run = measure_get}};
const struct gauge gauge_sci_store = {.name = "sci-store",
                                      .sisci = true,
                                      .bytes = STORE_BYTES,
                                      .ours = {.run = run_store},
                                      .limit_name = "store",
                                      .limit = {.run = run_rsm_store}};
const struct gauge gauge_sci_trigger = {
    .name = "sci-trigger",
    .sisci = true,
    .single = true,
    .ours = {.begin = begin_trigger, .run = run_trigger, .end = end_trigger},
    .limit_name = "post-sleep",
    .limit = {.run = measure_post_sleep}};
const struct gauge gauge_sci_callback = {.name = "sci-callback",
                                         .sisci = true,
                                         .single = true,
                                         .ours = {.run = run_callback},
                                         .limit_name = "post-sleep",
                                         .limit = {.run = measure_post_sleep}};
const struct gauge gauge_sci_dma = {.name = "sci-dma",
                                    .sisci = true,
                                    .sized = true,
                                    .stream = true,
                                    .ours = {.run = run_dma},
                                    .limit_name = "memcpy",
                                    .limit = {.run = measure_copy_out}};
const struct gauge gauge_sci_dma_read = {.name = "sci-dma-read",
                                         .sisci = true,
                                         .sized = true,
                                         .stream = true,
                                         .ours = {.run = run_dma_read},
                                         .limit_name = "get",
                                         .limit = {.run = measure_get}};
const struct gauge gauge_sci_dma_start = {.name = "sci-dma-start",
                                          .sisci = true,
                                          .sized = true,
                                          .ours = {.run = run_dma_start},
                                          .limit_name = "sci-dma",
                                          .limit = {.run = run_dma}};
const struct gauge gauge_sci_dma_queue = {.name = "sci-dma-queue",
                                          .sisci = true,
                                          .sized = true,
                                          .stream = true,
                                          .ours = {.begin = begin_queue, .run = run_dma_queue},
                                          .limit_name = "memcpy",
                                          .limit = {.run = measure_copy_out}};
