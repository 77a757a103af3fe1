/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmd, the node daemon: see rsmd(8). This file prepares the process, daemon.c runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_file.h"
#include "daemon.h"
#include "handover/handover.h"
#include "server/inheritance.h"
#include "server/logging.h"

static void leave_stdio(bool keep_stderr)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!keep_stderr)
        dup2(null, STDERR_FILENO);
    close(null);
}

/* Wait in the parent for the daemon's report. Returns the exit status. */
static int await_daemon(int from_daemon)
{
    char line[1024];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof line &&
           ((got = read(from_daemon, line + length, sizeof line - length)) > 0 ||
            (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    if (length == 1 && line[0] == 'R')
        return EXIT_SUCCESS;
    fprintf(stderr, "rsmd: %.*s", (int)length, line);
    return EXIT_FAILURE;
}

/* Go into the background; only the child returns. */
static bool go_into_background(struct rsmd_options *options)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (child > 0) {
        close(ends[1]);
        _exit(await_daemon(ends[0]));
    }
    close(ends[0]);
    setsid();
    options->ready_fd = ends[1];
    return true;
}

static int run(struct rsmd_options *options)
{
    /* A process executed in place has been prepared already. */
    bool in_place = rsmd_handover_is_in_place();
    bool background = !options->foreground && !options->embedded && !in_place;
    if (!in_place) /* pending signals stay blocked until this program handles them */
        rsmd_inherit_no_signals();
    else
        options->ready_fd = -1; /* no starter waits, and the number may be another file's */
    rsmd_raise_limits();
    if (background && !go_into_background(options)) {
        fprintf(stderr, "rsmd: cannot go into the background: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (options->embedded) {
        rsmd_inherit_no_descriptors(options->ready_fd);
        rsmd_inherit_no_schedule();
    }
    /* An embedded node is silent unless RSM_LOG asks, as the library that started it is. */
    if (!options->embedded || options->log_level >= 0)
        rsmd_logging_start(options->to_syslog, options->log_level >= 0
                                                   ? (enum rsmcore_log_level)options->log_level
                                                   : RSMCORE_LOG_INFO);
    if (!options->foreground) {
        bool wanted = options->log_level >= 0 || getenv("RSM_LOG") != NULL;
        leave_stdio(options->embedded ? wanted : !options->to_syslog);
    }
    return rsmd_run(options);
}

int main(int argc, char **argv)
{
    struct rsmd_options options;
    rsmd_inherit_stdio();
    if (!rsmd_options_parse(&options, argc, argv))
        return EXIT_FAILURE;
    if (options.help) {
        rsmd_options_help();
        return EXIT_SUCCESS;
    }
    if (options.version) {
        puts("rsmd " RSM_RELEASE);
        return EXIT_SUCCESS;
    }
    if (options.take_over != 0 && !rsmd_handover_reads(options.take_over)) {
        fprintf(stderr, "rsmd: this program cannot read the state of the running one\n");
        return EXIT_FAILURE;
    }
    rsmd_handover_note_program(argv);
    return options.check || options.take_over != 0 ? rsmd_check(&options) : run(&options);
}
