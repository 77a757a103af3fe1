/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsmtest: lines typed on one node appear on another one, through a piece of memory that the
 * exporting node shares and the importing node writes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "options.h"
#include "parties.h"
#include "report.h"

static volatile sig_atomic_t stop_signal;

static void note_stop(int number)
{
    stop_signal = number;
}

bool stop_requested(void)
{
    return stop_signal != 0;
}

/* Without SA_RESTART, so that waits come back and see the request. What was ignored stays ignored:
 * a shell does that to what it starts in the background. */
static void watch_for_stop(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = note_stop};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction former;
        if (sigaction(signals[i], NULL, &former) == 0 && former.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    }
}

/* A program started with closed standard descriptors must not get a file of its own in their
 * place: what it prints would go there. */
static bool open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

static bool find_local_node(struct options *options)
{
    rsm_topology_t *topology;
    int error = rsm_get_interconnect_topology(&topology);
    if (report_call("rsm_get_interconnect_topology", error) != RSM_SUCCESS)
        return false;
    rsm_node_id_t local = topology->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(topology);
    options->local_node = local;
    (void)printf("Local node id = %" PRIu32 "\n", local);
    if (options->node == 0) {
        options->node = local;
        (void)printf("Dest is adjusted to %" PRIu32 "\n", local);
    }
    return true;
}

static int run(struct options *options)
{
    rsmapi_controller_handle_t controller;
    narrate("opening controller %s", options->controller);
    int error = rsm_get_controller(options->controller, &controller);
    if (error != RSM_SUCCESS) {
        complain("cannot open controller %s", options->controller);
        (void)report_call("rsm_get_controller", error);
        return STATUS_FAILED;
    }
    int status = STATUS_FAILED;
    if (find_local_node(options)) {
        status = options->role == ROLE_EXPORTER ? run_exporter(options, controller)
                                                : run_importer(options, controller);
    }
    if (report_call("rsm_release_controller", rsm_release_controller(controller)) != RSM_SUCCESS)
        status = STATUS_FAILED;
    return status;
}

int main(int argc, char *argv[])
{
    struct options options;
    if (!open_standard_descriptors())
        return STATUS_FAILED;
    enum options_result parsed = options_parse(argc, argv, &options);
    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_SHOWN ? STATUS_DONE : STATUS_USAGE;
    report_verbose(options.verbose);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    watch_for_stop();

    int status = run(&options);
    if (stop_requested()) {
        complain("ended by a signal");
        status = STATUS_FAILED;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output could not be written");
        status = STATUS_FAILED;
    }
    return status;
}
