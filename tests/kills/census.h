/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the processes below this one hold, to see that deaths leave nothing behind. */
#ifndef TESTS_KILLS_CENSUS_H
#define TESTS_KILLS_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CENSUS_PIDS = 4, CENSUS_TEXT = 512 };

/** Counts at one moment. */
struct census {
    unsigned processes; /* children of this process; there are no other descendants */
    unsigned memfds;    /* different ones, open or mapped in any of them */
    unsigned files;     /* in the runtime directories */
    unsigned segments;  /* exports and imports of all daemons together */
    unsigned descriptors[CENSUS_PIDS]; /* of the processes asked for */
    unsigned mappings[CENSUS_PIDS];
};

/** Count. @p pids has CENSUS_PIDS entries, 0: nobody. `files` and `segments` are left alone. */
void census_take(struct census *census, const pid_t *pids);

/** Entries of a directory, subdirectories not counted. */
unsigned census_files(const char *directory);

/** Whether nothing is more than it was; a handful of mappings does not count, for allocators keep
 *  some. If not, @p text (CENSUS_TEXT bytes) says what. */
bool census_fits(const struct census *now, const struct census *before, char *text);

#endif
