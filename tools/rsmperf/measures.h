/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The gauges, one by one. */
#pragma once

#include "gauge.h"

extern const struct gauge gauge_put, gauge_get;               /**< complete on return */
extern const struct gauge gauge_put_stream, gauge_get_stream; /**< many in one barrier's span */
extern const struct gauge gauge_put64, gauge_get64;           /**< one element, likewise */
extern const struct gauge gauge_put64_span, gauge_get64_span; /**< within a barrier's span */
extern const struct gauge gauge_barrier, gauge_order;
extern const struct gauge gauge_pingpong, gauge_post_spin, gauge_post_sleep, gauge_notify_sleep;
extern const struct gauge gauge_create, gauge_publish, gauge_connect, gauge_map, gauge_setup;
extern const struct gauge gauge_map_load, gauge_map_store; /**< beside get and put */

/* Of the API of SISCI. */
extern const struct gauge gauge_sci_memcpy, gauge_sci_memcpy_read; /**< beside put and get */
extern const struct gauge gauge_sci_store;
extern const struct gauge gauge_sci_trigger, gauge_sci_callback;
extern const struct gauge gauge_sci_dma, gauge_sci_dma_read, gauge_sci_dma_start,
    gauge_sci_dma_queue;

/* Limits with --limit tcp. */
extern const struct side tcp_put, tcp_get, tcp_put_stream, tcp_get_stream;
extern const struct side tcp_put_span; /**< of a small put that is not waited for */
extern const struct side tcp_half;     /**< of there and back */
extern const struct side tcp_asleep;   /**< there and back, where both ends sleep */

/* What several gauges have as a side; as `run` of struct side. */
int measure_put(struct bench *bench, unsigned batch, double *ns);
int measure_get(struct bench *bench, unsigned batch, double *ns);
int measure_copy_out(struct bench *bench, unsigned batch, double *ns);
int measure_post_sleep(struct bench *bench, unsigned batch, double *ns);

/** Open and close a barrier's span on the data segment. */
int measure_open_span(struct bench *bench);
int measure_close_span(struct bench *bench);

/** Let @p ask wake a sleeper, @p batch times. */
int measure_asleep(struct bench *bench, int (*ask)(struct bench *bench), unsigned batch,
                   double *ns);
