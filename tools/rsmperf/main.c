/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmperf: how fast remote shared memory is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static int show(const struct run *run)
{
    int failed = 0;
    for (unsigned i = 0; i < run->count; i++)
        if (run->results[i].failure[0] != '\0')
            complain("%s %zu: %s", run->results[i].gauge->name, run->results[i].bytes,
                     run->results[i].failure);
    if (run->interrupted)
        complain("interrupted");
    else if (run->failure[0] != '\0')
        complain("%s", run->failure);
    if (run->options->json)
        show_json(stdout, run);
    else if (run->count > 0)
        failed = show_text(stdout, run);
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
    (void)run_all(&options, &run);
    int status = show(&run);
    run_free(&run);
    return status;
}
