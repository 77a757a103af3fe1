/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Other programs that measure, and what they write. */
#ifndef RSMPERF_PROGRAMS_H
#define RSMPERF_PROGRAMS_H

#include <stdbool.h>

#include "run.h"

enum { PROGRAM_TEXT_BYTES = 16384 };

/* All that run something: false if it did not end well within a minute. @p text is what it wrote to
 * standard output and standard error, or why it was not started. It ends with this process. */

/** Run one program with these words, which end with NULL. */
bool program_run(const char *const words[], char text[PROGRAM_TEXT_BYTES]);

/** Run a server, and a client as soon as the server listens, of which @p text is. Words are parted
 *  by spaces. The server is ended then. */
bool program_pair(const char *server, const char *client, char text[PROGRAM_TEXT_BYTES]);

/** A port of this host that was free just now. */
unsigned program_port(void);

/**
 * Whether a program is in PATH.
 * @param package  has it, as Debian names it.
 * @param then     what follows if it is not there, in words.
 * @param said     whether that was said already.
 */
bool program_is_there(const char *program, const char *package, const char *then, bool *said);

/** Report that a program failed, with its last line of output as the reason. */
void program_complain(const char *program, char text[PROGRAM_TEXT_BYTES]);

/* perftest.c: the limit of a verbs device, what perftest's programs find on it. */

/** Run the program of perftest that does what the result is of, if there is one, and fill in its
 *  limit. What goes wrong is said on standard error. */
void perftest_limit(const struct options *options, struct result *result);

/**
 * Read a program's table.
 * @param text       its standard output.
 * @param bytes      the size whose line is wanted.
 * @param bandwidth  the program measures bandwidth, and runs with --report_gbits.
 * @return false: there is no such line, or it makes no sense.
 */
bool perftest_parse(const char *text, size_t bytes, bool bandwidth, struct figure *figure);

/* beside*.c: what else two processes of this host can use for the same, UCX and MPI, where they are
 * installed. */

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
