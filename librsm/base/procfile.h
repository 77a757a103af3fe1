/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Reading text files of /proc line by line, without allocating; also in signal handlers. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

struct rsmcore_procfile {
    int fd;
    size_t have; /* bytes in buffer */
    size_t next; /* the first of them that was not handed out */
    bool failed; /* what looked like the end was a read error */
    char buffer[1024];
};

/** Open for reading, relative to directory descriptor @p directory (AT_FDCWD for none).
 *  @return false with errno set if that fails. */
bool rsmcore_procfile_open(struct rsmcore_procfile *file, int directory, const char *path);

/** Next line without its newline, ended by NUL and cut off after @p size - 1 bytes.
 *  @return false at the end of the file or on a read error. */
bool rsmcore_procfile_line(struct rsmcore_procfile *file, char *line, size_t size);

void rsmcore_procfile_close(struct rsmcore_procfile *file);

/** opendir(3) with a descriptor where the library's belong; not in signal handlers. */
DIR *rsmcore_procfile_directory(const char *path);
