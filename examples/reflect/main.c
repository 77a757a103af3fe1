/* SPDX-License-Identifier: BSD-3-Clause */
#include "reflect.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_MS = 100, RATE_MAX = 10000 };

static volatile sig_atomic_t stopped;

static void note_stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static void usage(FILE *stream)
{
    fprintf(stream,
            "usage: reflect [OPTION]...\n"
            "Publish this node's state to all nodes, and show the state of all.\n"
            "\n"
            "  -c CONTROLLER  the controller (sci0)\n"
            "  -k ID          the segment id, the same on all nodes (0x7ef1ec7)\n"
            "  -r RATE        updates a second (1000)\n"
            "  -t SECONDS     end after so long\n"
            "  -l             lines, one a second for each node, as where there is no terminal\n"
            "  -h             this text\n"
            "\n"
            "RSM_NODE is this node's number, from 1 to %d.\n",
            SLOTS);
}

static bool number(const char *text, unsigned long max, unsigned *into)
{
    char *end;
    unsigned long value = strtoul(text, &end, 0);
    *into = (unsigned)value;
    return end != text && *end == '\0' && *text != '-' && value >= 1 && value <= max;
}

/* @return -1: run; else the status to end with. */
static int parse(int argc, char **argv, struct options *options)
{
    int option;
    unsigned id = 0x7ef1ec7;
    bool good = true;
    while (good && (option = getopt(argc, argv, "c:k:r:t:lh")) != -1) {
        if (option == 'c')
            options->controller = optarg;
        else if (option == 'k')
            good = number(optarg, 0x7fffffff, &id);
        else if (option == 'r')
            good = number(optarg, RATE_MAX, &options->rate);
        else if (option == 't')
            good = number(optarg, 1000000, &options->seconds);
        else if (option == 'l')
            options->lines = true;
        else if (option == 'h') {
            usage(stdout);
            return EXIT_SUCCESS;
        } else
            good = false;
    }
    options->segment_id = id;
    if (good && optind == argc)
        return -1;
    usage(stderr);
    return 2;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void add_ns(struct timespec *time, long ns)
{
    time->tv_nsec += ns;
    if (time->tv_nsec >= 1000000000) {
        time->tv_nsec -= 1000000000;
        time->tv_sec++;
    }
}

static bool run(struct publisher *publisher, struct screen *screen, const struct options *options)
{
    struct timespec next;
    int64_t began = now_ms(), settled = began;
    bool good = true;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (good && !stopped) {
        int64_t now = now_ms();
        if (options->seconds != 0 && now - began >= (int64_t)options->seconds * 1000)
            break;
        good = publisher_update(publisher, (double)(now - began) / 1000);
        if (good && now - settled >= SETTLE_MS) {
            unsigned lacking;
            good = publisher_settle(publisher, &lacking);
            settled = now;
        }
        screen_show(screen, publisher, now);
        add_ns(&next, 1000000000L / (long)options->rate);
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return good;
}

int main(int argc, char **argv)
{
    static char controller[] = "sci0";
    struct options options = {
        .controller = controller, .rate = 1000, .lines = !isatty(STDOUT_FILENO)};
    struct publisher publisher;
    const struct sigaction action = {.sa_handler = note_stop};
    int status = parse(argc, argv, &options);
    if (status != -1)
        return status;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!publisher_begin(&publisher, &options))
        return EXIT_FAILURE;
    struct screen *screen = screen_begin(options.lines);
    bool good = screen != NULL && run(&publisher, screen, &options);
    if (screen != NULL)
        screen_end(screen);
    publisher_end(&publisher);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
