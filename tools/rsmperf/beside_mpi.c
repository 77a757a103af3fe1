/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI beside us. MPI libraries have no common binary interface, and the one of interest is the
 * user's. A program of ours is therefore compiled by its mpicc when it is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

enum { PATH_BYTES = 4096, WORD_BYTES = 24 };
#define PREFIX "rsmperf-mpi "

/* What is made for it, once. */
static struct {
    char folder[PATH_BYTES - 32];
    char file[PATH_BYTES], program[PATH_BYTES];
    bool tried, usable;
} made;

static bool write_source(void)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent != '/')
        parent = "/tmp";
    if (snprintf(made.folder, sizeof made.folder, "%s/rsmperf.XXXXXX", parent) >=
            (int)sizeof made.folder ||
        mkdtemp(made.folder) == NULL) {
        complain("%s: %s", parent, strerror(errno));
        made.folder[0] = '\0';
        return false;
    }
    snprintf(made.file, sizeof made.file, "%s/put_get.c", made.folder);
    snprintf(made.program, sizeof made.program, "%s/put_get", made.folder);
    int fd = open(made.file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t length = strlen(beside_mpi_source);
    bool written = fd >= 0 && write(fd, beside_mpi_source, length) == (ssize_t)length;
    if (fd >= 0)
        written &= close(fd) == 0;
    if (!written)
        complain("%s: %s", made.file, strerror(errno));
    return written;
}

/* Open MPI refuses root, and two processes on one processor, unless the environment permits
 * both. */
static void permit(void)
{
    static const char *const settings[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},                  /* 4 */
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}, /* 5 */
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 0);
}

static bool compile(char text[PROGRAM_TEXT_BYTES])
{
    const char *words[] = {"mpicc", "-std=c99", "-O2", "-o", made.program, made.file, NULL};
    if (program_run(words, text))
        return true;
    program_complain(words[0], text);
    return false;
}

static bool make(char text[PROGRAM_TEXT_BYTES])
{
    static bool said;
    const char *then = "nothing is compared with MPI";
    made.tried = true;
    permit();
    made.usable = program_is_there("mpirun", "openmpi-bin", then, &said) &&
                  program_is_there("mpicc", "libopenmpi-dev", then, &said) && write_source() &&
                  compile(text);
    return made.usable;
}

double beside_mpi_parse(const char *text, size_t bytes)
{
    size_t found;
    double count, ns;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, PREFIX, strlen(PREFIX)) == 0 &&
            sscanf(line + strlen(PREFIX), "%zu %lf %lf", &found, &count, &ns) == 3)
            return found == bytes && count >= 1 && isfinite(ns) && ns > 0 ? ns : 0;
    }
    return 0;
}

double beside_mpi(const struct options *options, const struct result *result, unsigned window)
{
    static char text[PROGRAM_TEXT_BYTES];
    char operation[WORD_BYTES], bytes[WORD_BYTES], time_ms[WORD_BYTES], width[WORD_BYTES];
    const char *words[] = {"mpirun", "-np",   "2",   made.program, operation,
                           bytes,    time_ms, width, NULL};
    if (!made.tried ? !make(text) : !made.usable)
        return 0;
    snprintf(operation, sizeof operation, "%s", result->gauge->name);
    operation[strcspn(operation, "-")] = '\0';
    snprintf(bytes, sizeof bytes, "%zu", result->bytes);
    snprintf(time_ms, sizeof time_ms, "%g", options->time_ms / 2.0); /* as ours beside its limit */
    snprintf(width, sizeof width, "%u", window);
    double ns = program_run(words, text) ? beside_mpi_parse(text, result->bytes) : 0;
    if (ns == 0)
        program_complain(words[0], text);
    return ns;
}

void beside_mpi_end(void)
{
    if (made.folder[0] == '\0')
        return;
    unlink(made.program);
    unlink(made.file);
    rmdir(made.folder);
}
