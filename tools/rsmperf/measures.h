/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The gauges, one by one. */
#ifndef RSMPERF_MEASURES_H
#define RSMPERF_MEASURES_H

#include "gauge.h"

extern const struct gauge gauge_put, gauge_get;               /**< complete on return */
extern const struct gauge gauge_put_stream, gauge_get_stream; /**< many in one barrier's span */
extern const struct gauge gauge_put64, gauge_get64;           /**< one element, likewise */
extern const struct gauge gauge_put64_span, gauge_get64_span; /**< within a barrier's span */
extern const struct gauge gauge_barrier, gauge_order;
extern const struct gauge gauge_pingpong, gauge_post_spin, gauge_post_sleep, gauge_notify_sleep;
extern const struct gauge gauge_create, gauge_publish, gauge_connect, gauge_map, gauge_setup;

#endif
