/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parts.h"

enum { COUNT_MAX = 100000000 };

struct options {
    char *controller;
    rsm_memseg_id_t id;
    unsigned count;
};

static volatile sig_atomic_t stopped;

static void note_stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static void usage(FILE *stream)
{
    fprintf(stream,
            "usage: ring [OPTION]... memory        both processes on this host\n"
            "       ring [OPTION]... serve         have the rings, until SIGINT or SIGTERM\n"
            "       ring [OPTION]... map NODE      use those of another node by loads and stores\n"
            "       ring [OPTION]... put NODE      the same by put and get\n"
            "Two processes send messages of 64 bytes to each other by rings in shared memory.\n"
            "\n"
            "  -c CONTROLLER  the controller (sci0)\n"
            "  -k ID          the segment id (0x7217600)\n"
            "  -n COUNT       messages of each measurement (2000)\n"
            "  -h             this text\n");
}

static bool number(const char *text, unsigned long max, unsigned *into)
{
    char *end;
    unsigned long value = strtoul(text, &end, 0);
    *into = (unsigned)value;
    return end != text && *end == '\0' && *text != '-' && value >= 1 && value <= max;
}

/* Two processes of this host, as the rings were written for. */
static int run_in_memory(const struct options *options)
{
    struct channel *channel =
        mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (channel == MAP_FAILED) {
        perror("ring: mmap");
        return EXIT_FAILURE;
    }
    pid_t server = fork();
    if (server == 0) {
        server_run(channel, &stopped);
        _exit(EXIT_SUCCESS);
    }
    bool good = server > 0 && client_run("memory:", &access_memory, channel, options->count);
    if (server > 0) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int serve(const struct options *options)
{
    struct exported exported;
    if (!segment_export(&exported, options->controller, options->id))
        return EXIT_FAILURE;
    server_run(exported.channel, &stopped);
    segment_unexport(&exported);
    return EXIT_SUCCESS;
}

static int use(const struct options *options, rsm_node_id_t node, bool map)
{
    struct imported imported;
    if (!segment_import(&imported, options->controller, node, options->id))
        return EXIT_FAILURE;
    bool good = map ? segment_map(&imported) &&
                          client_run("mapping:", &access_memory, imported.mapped, options->count)
                    : transfers_begin(&imported) &&
                          client_run("put and get:", &access_transfers, &imported, options->count);
    segment_unimport(&imported);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* @return -1: run; else the status to end with. */
static int parse(int argc, char **argv, struct options *options)
{
    int option;
    bool good = true;
    while (good && (option = getopt(argc, argv, "c:k:n:h")) != -1) {
        if (option == 'c')
            options->controller = optarg;
        else if (option == 'k')
            good = number(optarg, 0x7fffffff, &options->id);
        else if (option == 'n')
            good = number(optarg, COUNT_MAX, &options->count);
        else if (option == 'h') {
            usage(stdout);
            return EXIT_SUCCESS;
        } else
            good = false;
    }
    return good && optind < argc ? -1 : 2;
}

int main(int argc, char **argv)
{
    static char controller[] = "sci0";
    struct options options = {.controller = controller, .id = 0x7217600, .count = 2000};
    const struct sigaction action = {.sa_handler = note_stop};
    unsigned node;
    int status = parse(argc, argv, &options);
    if (status == EXIT_SUCCESS)
        return status;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const char *verb = status == -1 ? argv[optind] : "";
    int operands = argc - optind - 1;
    if (strcmp(verb, "memory") == 0 && operands == 0)
        return run_in_memory(&options);
    if (strcmp(verb, "serve") == 0 && operands == 0)
        return serve(&options);
    bool map = strcmp(verb, "map") == 0;
    if ((map || strcmp(verb, "put") == 0) && operands == 1 &&
        number(argv[optind + 1], UINT32_MAX, &node))
        return use(&options, node, map);
    usage(stderr);
    return 2;
}
