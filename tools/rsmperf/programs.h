/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Other programs that measure, and what they write. */
#ifndef RSMPERF_PROGRAMS_H
#define RSMPERF_PROGRAMS_H

#include <stdbool.h>

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

#endif
