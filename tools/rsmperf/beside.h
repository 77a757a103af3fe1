/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What else two processes of this host can use for the same: UCX and MPI, where they are
 *  installed. */
#ifndef RSMPERF_BESIDE_H
#define RSMPERF_BESIDE_H

#include "run.h"

/** Names in options and figures: "ucx", "mpi". */
extern const char *const beside_names[BESIDES];

/** Fill in what those that are wanted take for the result's operation, if they have it. What goes
 *  wrong is said on standard error. */
void beside_measure(const struct options *options, struct result *result);

/** Remove what was made for it. */
void beside_end(void);

/* Each way, with @p window transfers under way together: ns for one, 0 if it could not be had. */
double beside_ucx(const struct options *options, const struct result *result, unsigned window);
double beside_mpi(const struct options *options, const struct result *result, unsigned window);
void beside_mpi_end(void);

extern const char beside_mpi_source[]; /**< mpi_put_get.c */

/**
 * Read what ucx_perftest -f -v writes.
 * @param bytes   the size of a transfer.
 * @param stream  its bandwidth counts, otherwise its median.
 * @return ns for one operation, or 0: there is none, or it makes no sense.
 */
double beside_ucx_parse(const char *text, size_t bytes, bool stream);

/** Read what mpi_put_get.c writes for transfers of that size. Returns as beside_ucx_parse(). */
double beside_mpi_parse(const char *text, size_t bytes);

#endif
