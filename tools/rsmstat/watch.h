/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Doing something again and again until the user has had enough. */
#ifndef RSMSTAT_WATCH_H
#define RSMSTAT_WATCH_H

#include <stdbool.h>

/** From now on SIGINT and SIGTERM end nothing, but make the returned descriptor readable. -1 with
 *  errno. */
int watch_begin(void);

/** Whether one of them has come, or comes within @p ms. */
bool watch_ended(int interrupt, int ms);

#endif
