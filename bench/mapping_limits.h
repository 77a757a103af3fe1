/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What software mappings are compared with: a transport of memory copies, faults alone. */
#ifndef BENCH_MAPPING_LIMITS_H
#define BENCH_MAPPING_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

enum { BENCH_PAGE = 4096, BENCH_PAGES = 256 };
#define BENCH_SIZE ((size_t)BENCH_PAGE * BENCH_PAGES)

/** A connection whose transport copies from and to its segment, at once. */
struct bench_conn {
    struct rsm_conn conn; /* first */
    uint8_t *segment;
    uint64_t bytes_read; /* by get; changes under the lock of a mapping that reads */
};

/** Make a segment of @p size bytes for it, or end the process. */
void bench_connect(struct bench_conn *conn, size_t size);

/** That many bytes, present, of this process alone; or the process ends. */
uint8_t *bench_memory(size_t size);

/** Microseconds, from any point in time. */
double bench_now_us(void);

/** Microseconds that BENCH_PAGES faults take that do nothing but open their page for writing, one
 *  by one, and the call that closes them all. Any engine needs that which gives pages to a program.
 *  Before anything else handles SIGSEGV; one median of many. */
double bench_faults_us(void);

/** Sort samples; the median is then in the middle. */
void bench_sort(double *sample, unsigned count);

#endif
