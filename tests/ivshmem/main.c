/* SPDX-License-Identifier: BSD-3-Clause */
/* The server as a program: for as long as it is not killed, or for as long as a command runs. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

static const char usage[] =
    "Usage: ivshmem_server [--size MIB] [--vectors N] --socket PATH\n"
    "       ivshmem_server [--size MIB] [--vectors N] --controller NAME -- COMMAND...\n"
    "\n"
    "Serve two ivshmem clients. With a command: make a socket, and a piece of rsm.conf with a\n"
    "controller on it, whose name replaces each argument {} of the command, as the device of that\n"
    "controller replaces {device}; end with the command.\n";

static struct {
    unsigned long mib;
    unsigned vectors;
    const char *socket, *controller;
} options = {.mib = 64, .vectors = IVSHMEM_SERVER_VECTORS};

static int listener, memory, stop;

static void *serve(void *argument)
{
    if (!ivshmem_server_run(listener, memory, options.vectors, stop))
        perror("ivshmem_server");
    return NULL;
}

static int begin(const char *path)
{
    listener = ivshmem_server_listen(path);
    memory = ivshmem_server_memory((uint64_t)options.mib << 20);
    stop = eventfd(0, EFD_CLOEXEC);
    if (listener >= 0 && memory >= 0 && stop >= 0)
        return 0;
    fprintf(stderr, "ivshmem_server: %s: %s\n", path, strerror(errno));
    return -1;
}

static int write_configuration(const char *file, const char *socket)
{
    FILE *to = fopen(file, "we");
    if (to == NULL)
        return -1;
    fprintf(to, "[controller %s]\ntransport = ntb\ndevice = ivshmem:%s\n", options.controller,
            socket);
    fprintf(to, "[limits]\npeer-timeout-ms = 20000\n");
    return fclose(to);
}

static int run_command(char **command, char *configuration, char *device)
{
    int status;
    for (char **word = command; *word != NULL; word++)
        if (strcmp(*word, "{}") == 0)
            *word = configuration;
        else if (strcmp(*word, "{device}") == 0)
            *word = device;
    pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return EXIT_FAILURE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int serve_command(char **command)
{
    static const uint64_t one = 1;
    char directory[] = "/tmp/rsm-ivshmem-XXXXXX", socket[64], file[64], device[80];
    pthread_t thread;
    if (mkdtemp(directory) == NULL)
        return EXIT_FAILURE;
    snprintf(socket, sizeof socket, "%s/socket", directory);
    snprintf(file, sizeof file, "%s/rsm.conf", directory);
    snprintf(device, sizeof device, "ivshmem:%s", socket);
    int result = EXIT_FAILURE;
    if (begin(socket) == 0 && write_configuration(file, socket) == 0 &&
        pthread_create(&thread, NULL, serve, NULL) == 0) {
        result = run_command(command, file, device);
        if (write(stop, &one, sizeof one) == sizeof one)
            pthread_join(thread, NULL);
    }
    unlink(file);
    unlink(socket);
    rmdir(directory);
    return result;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"size", required_argument, NULL, 's'},
                                          {"vectors", required_argument, NULL, 'v'},
                                          {"socket", required_argument, NULL, 'p'},
                                          {"controller", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        if (option == 's')
            options.mib = strtoul(optarg, NULL, 10);
        else if (option == 'v')
            options.vectors = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'p')
            options.socket = optarg;
        else if (option == 'c')
            options.controller = optarg;
        else
            options.mib = 0;
    }
    bool runs = options.controller != NULL && options.socket == NULL && optind < argc;
    bool serves = options.socket != NULL && options.controller == NULL && optind == argc;
    if (options.mib == 0 || options.vectors == 0 || options.vectors > IVSHMEM_SERVER_VECTORS_MAX ||
        (!runs && !serves)) {
        fputs(usage, stderr);
        return 2;
    }
    if (runs)
        return serve_command(argv + optind);
    if (begin(options.socket) != 0)
        return EXIT_FAILURE;
    serve(NULL);
    return EXIT_FAILURE;
}
