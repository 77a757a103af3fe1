/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmperf: how fast remote shared memory is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "serve.h"
#include "show.h"

enum { EXIT_USAGE = 2 };

/* A program started with closed standard descriptors must not get a socket of its own in their
 * place: what it prints would go there. */
static bool open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* -1: no memory. */
static int print_figures(const struct run *run)
{
    switch (run->options->format) {
    case FORMAT_JSON:
        show_json(stdout, run);
        return 0;
    case FORMAT_CSV:
        show_csv(stdout, run);
        return 0;
    case FORMAT_TABLE:
    case FORMAT_WIDE_TABLE:
        break;
    }
    return run->count > 0 ? show_text(stdout, run) : 0;
}

/* The picture's file is opened before anything is measured: a name that is wrong costs no time. */
static bool open_plot(const struct options *options, FILE **plot)
{
    *plot = options->plot != NULL ? fopen(options->plot, "we") : NULL;
    if (options->plot != NULL && *plot == NULL)
        complain("%s: %s", options->plot, strerror(errno));
    return options->plot == NULL || *plot != NULL;
}

static bool draw(const struct run *run, FILE *plot)
{
    if (plot == NULL)
        return true;
    show_svg(plot, run);
    bool good = ferror(plot) == 0;
    good &= fclose(plot) == 0;
    if (!good)
        complain("%s could not be written", run->options->plot);
    return good;
}

static int show(const struct run *run)
{
    for (unsigned i = 0; i < run->count; i++)
        if (run->results[i].failure[0] != '\0')
            complain("%s %zu: %s", run->results[i].gauge->name, run->results[i].bytes,
                     run->results[i].failure);
    if (run->interrupted)
        complain("interrupted");
    else if (run->failure[0] != '\0')
        complain("%s", run->failure);
    int failed = print_figures(run);
    if (fflush(stdout) != 0 || ferror(stdout) || failed != 0) {
        complain("standard output could not be written");
        return EXIT_FAILURE;
    }
    return run->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
    struct options options;
    struct run run;
    if (!open_standard_descriptors())
        return EXIT_FAILURE;
    switch (options_parse(argc, argv, &options)) {
    case OPTIONS_SHOWN:
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    if (options.role == ROLE_SERVE)
        return serve_main(&options);
    if (options.role == ROLE_MEMBER)
        return group_member_main(&options);
    if (options.role == ROLE_GROUP)
        return group_main(&options);
    FILE *plot;
    if (!open_plot(&options, &plot))
        return EXIT_FAILURE;
    (void)run_all(&options, &run);
    int status = show(&run);
    if (!draw(&run, plot))
        status = EXIT_FAILURE;
    run_free(&run);
    return status;
}
