/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What rsmtest prints besides the dialogue: RSMAPI errors in words, and progress. All of it goes to
 * stderr.
 */
#ifndef RSMTEST_REPORT_H
#define RSMTEST_REPORT_H

#include <stdbool.h>

/** What the user of rsmtest can do about an error, to follow rsm_strerror(): "; ..." or "". */
const char *error_hint(int error);

/** Say that the RSMAPI function @p call failed, with name, number and text of the error.
 *  Returns @p error, so that a call and its report fit one expression; says nothing for 0. */
int report_call(const char *call, int error);

/** Say one line. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Say one line if -v was given. */
void narrate(const char *format, ...) __attribute__((format(printf, 1, 2)));

void report_verbose(bool verbose);

#endif
