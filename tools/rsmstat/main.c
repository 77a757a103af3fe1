/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmstat: what a node has. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "protocol/runtime.h"
#include "collect.h"
#include "options.h"
#include "parallel.h"
#include "show.h"
#include "table.h"

enum { EXIT_USAGE = 2 };

/* Which nodes are looked at. */
struct targets {
    struct rsmcore_runtime runtime;
    bool all;
};

static void complain(const char *text)
{
    fputs("rsmstat: ", stderr);
    table_print_safe(stderr, text);
    fputc('\n', stderr);
}

static void on_log(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    complain(text);
}

/* Options stand in for the environment, so that both are understood in the same way. */
static bool find_targets(const struct options *options, struct targets *targets)
{
    targets->all = options->all_nodes;
    if (targets->all)
        unsetenv("RSM_NODE"); /* that the directory has no such node does not matter */
    if (options->node != NULL && setenv("RSM_NODE", options->node, 1) < 0)
        return false;
    if (options->directory != NULL && setenv("RSM_RUNTIME_DIR", options->directory, 1) < 0)
        return false;
    return rsmcore_runtime_find(&targets->runtime) == RSM_ST_OK;
}

/* Nodes to look at. */
struct nodes {
    uint32_t *list; /* ascending */
    size_t count, room;
    bool failed; /* no memory */
};

static void add_node(void *context, uint32_t node)
{
    struct nodes *nodes = context;
    if (nodes->count == nodes->room) {
        size_t room = nodes->room > 0 ? 2 * nodes->room : 16;
        uint32_t *grown = realloc(nodes->list, room * sizeof *grown);
        nodes->failed |= grown == NULL;
        if (grown == NULL)
            return;
        nodes->list = grown;
        nodes->room = room;
    }
    nodes->list[nodes->count++] = node;
}

static int by_id(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static struct nodes list_nodes(const struct targets *targets)
{
    struct nodes nodes = {.list = NULL};
    if (!targets->all)
        add_node(&nodes, targets->runtime.node);
    else
        rsmcore_runtime_each(&targets->runtime, "sock", add_node, &nodes);
    if (nodes.count > 1)
        qsort(nodes.list, nodes.count, sizeof *nodes.list, by_id);
    return nodes;
}

/* Report what could not be shown. Returns whether anything could not. */
static bool report(const struct targets *targets, struct snapshot *const snapshots[], size_t count)
{
    bool failed = false;
    for (size_t i = 0; i < count; i++) {
        if (snapshots[i]->failure[0] != '\0') {
            complain(snapshots[i]->failure);
            failed = true;
        }
        for (size_t n = 0; n < snapshots[i]->note_count; n++)
            complain(snapshots[i]->notes[n]);
    }
    if (count > 0)
        return failed;
    char text[sizeof targets->runtime.directory + 32];
    snprintf(text, sizeof text, "no rsmd in %s", targets->runtime.directory);
    complain(text);
    return true;
}

/* A terminal that is too low would roll, and the headings away with it: cut what it has no room
 * for. The length of the rest. */
static size_t fit(const char *text, size_t length)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 2)
        return length;
    unsigned lines = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\n' && ++lines == size.ws_row - 1U)
            return i + 1;
    return length;
}

/* Write in one piece, so that a terminal does not flicker. */
static bool print_frame(struct snapshot *const snapshots[], size_t count,
                        const struct options *options, const char *heading)
{
    char *text = NULL;
    size_t length = 0;
    int failed = 0;
    FILE *frame = open_memstream(&text, &length);
    if (frame == NULL)
        return false;
    fputs(heading, frame);
    if (options->prometheus)
        show_prometheus(frame, snapshots, count);
    else if (options->json)
        show_json(frame, snapshots, count, options);
    else
        failed = show_text(frame, snapshots, count, options);
    failed |= fclose(frame);
    if (failed == 0 && options->interval != 0)
        length = fit(text, length);
    bool written = failed == 0 && fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0;
    free(text);
    return written;
}

/* What was seen of the nodes. */
struct view {
    struct snapshot **list;
    size_t count;
};

static void view_free(struct view *view)
{
    while (view->count > 0)
        snapshot_free(view->list[--view->count]);
    free(view->list);
    view->list = NULL;
}

/* What several daemons are asked. */
struct round {
    const struct rsmcore_runtime *runtime;
    const uint32_t *list;
    unsigned sections;
    int interrupt;
    struct snapshot **snapshots;
};

static void look_at(void *context, size_t i)
{
    struct round *round = context;
    char path[RSM_PROTO_PATH_MAX];
    rsmcore_runtime_socket(round->runtime, round->list[i], path);
    round->snapshots[i] = snapshot_take(round->list[i], path, round->sections, round->interrupt);
}

/* Look at several nodes at the same time, so that several daemons that do not answer cost no more
 * than one. Fill in snapshots[0] to [count - 1]. False: out of memory, and none is left there. */
static bool gather(struct round *round, size_t count)
{
    bool complete = true;
    parallel_each(count, PARALLEL_MAX, look_at, round);
    for (size_t i = 0; i < count; i++)
        complete &= round->snapshots[i] != NULL;
    for (size_t i = 0; i < count && !complete; i++)
        if (round->snapshots[i] != NULL)
            snapshot_free(round->snapshots[i]);
    return complete;
}

/* From now on SIGINT and SIGTERM end nothing, but make the returned descriptor readable. -1 with
 * errno. */
static int watch_begin(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &ending, NULL) < 0)
        return -1;
    return rsmcore_fd_above_stdio(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

/* Whether one of them has come, or comes within @p ms. */
static bool watch_ended(int interrupt, int ms)
{
    struct pollfd wait = {.fd = interrupt, .events = POLLIN};
    int64_t until = rsm_deadline(ms);
    for (;;) {
        int ready = poll(&wait, 1, rsm_deadline_left_ms(until));
        if (ready >= 0)
            return ready > 0;
        if (errno != EINTR)
            return true;
    }
}

static void compare(const struct view *view, const struct view *before)
{
    for (size_t i = 0; i < view->count; i++)
        for (size_t b = 0; b < before->count; b++)
            if (before->list[b]->node == view->list[i]->node)
                snapshot_compare(view->list[i], before->list[b]);
}

/* Look at all nodes and show them, with rates since @p before, whose place the new view takes. The
 * exit status; EXIT_SUCCESS without a word if interrupted. */
static int look(const struct targets *targets, const struct options *options, int interrupt,
                const char *heading, struct view *before)
{
    struct nodes nodes = list_nodes(targets);
    struct snapshot **snapshots = calloc(nodes.count + 1, sizeof(struct snapshot *));
    size_t count = 0;
    bool failed = nodes.failed || snapshots == NULL;
    struct round round = {&targets->runtime, nodes.list, options->sections, interrupt, snapshots};
    failed = failed || !gather(&round, nodes.count);
    if (!failed)
        count = nodes.count;
    struct view view = {snapshots, count};
    compare(&view, before);
    if (interrupt < 0 || !watch_ended(interrupt, 0)) {
        if (failed || !print_frame(snapshots, count, options, heading)) {
            complain(failed ? strerror(ENOMEM) : "cannot write");
            failed = true;
        }
        failed |= report(targets, snapshots, count);
    }
    view_free(before);
    *before = view;
    free(nodes.list);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* What precedes a picture: on a terminal it replaces the former one. JSON has no heading. */
static void make_heading(const struct options *options, bool first, char *heading, size_t size)
{
    char date[32];
    time_t now = time(NULL);
    struct tm local;
    heading[0] = '\0';
    if (options->json)
        return;
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
    const char *between = isatty(STDOUT_FILENO) == 1 ? "\033[H\033[2J" : first ? "" : "\n";
    snprintf(heading, size, "%srsmstat at %s, every %u s\n\n", between, date, options->interval);
}

static int watch(const struct targets *targets, const struct options *options)
{
    int interrupt = watch_begin();
    if (interrupt < 0) {
        complain(strerror(errno));
        return EXIT_FAILURE;
    }
    struct view seen = {NULL, 0};
    bool first = true, written = true;
    do {
        char heading[128];
        make_heading(options, first, heading, sizeof heading);
        first = false;
        look(targets, options, interrupt, heading, &seen);
        written = ferror(stdout) == 0;
    } while (written && !watch_ended(interrupt, (int)options->interval * 1000));
    view_free(&seen);
    close(interrupt);
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char *argv[])
{
    struct options options;
    struct targets targets;
    switch (options_parse(argc, argv, &options)) {
    case OPTIONS_SHOWN:
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    rsmcore_log_to(on_log, RSMCORE_LOG_ERROR);
    if (!find_targets(&options, &targets))
        return EXIT_USAGE;
    if (options.interval != 0)
        return watch(&targets, &options);
    struct view seen = {NULL, 0};
    int status = look(&targets, &options, -1, "", &seen);
    view_free(&seen);
    return status;
}
