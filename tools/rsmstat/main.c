/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmstat: what a node has. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "control/runtime.h"
#include "options.h"
#include "show.h"
#include "table.h"
#include "watch.h"

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
    if (options->node != NULL && setenv("RSM_NODE", options->node, 1) < 0)
        return false;
    if (options->directory != NULL && setenv("RSM_RUNTIME_DIR", options->directory, 1) < 0)
        return false;
    return rsmcore_runtime_find(&targets->runtime) == RSM_ST_OK;
}

/* The node whose socket has this name, or 0. */
static uint32_t node_of_name(const char *name)
{
    char number[8];
    const char *dot = strchr(name, '.');
    if (strncmp(name, "node-", 5) != 0 || dot == NULL || strcmp(dot, ".sock") != 0 ||
        (size_t)(dot - name - 5) >= sizeof number)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)(dot - name - 5), name + 5);
    return rsmcore_node_id_parse(number);
}

/* Nodes to look at, ascending; how many. */
static size_t list_nodes(const struct targets *targets, uint32_t nodes[RSM_NODE_ID_MAX])
{
    bool there[RSM_NODE_ID_MAX + 1] = {false};
    size_t count = 0;
    if (!targets->all) {
        nodes[0] = targets->runtime.node;
        return 1;
    }
    DIR *directory = opendir(targets->runtime.directory);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        there[node_of_name(entry->d_name)] = true;
    if (directory != NULL)
        closedir(directory);
    for (uint32_t node = 1; node <= RSM_NODE_ID_MAX; node++)
        if (there[node])
            nodes[count++] = node;
    return count;
}

/* Tell the user what could not be shown. Whether anything was wanted in vain. */
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
    if (options->json)
        show_json(frame, snapshots, count, options);
    else
        failed = show_text(frame, snapshots, count, options);
    failed |= fclose(frame);
    bool written = failed == 0 && fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0;
    free(text);
    return written;
}

/* Look at all nodes and show them. The exit status; EXIT_SUCCESS without a word if interrupted. */
static int look(const struct targets *targets, const struct options *options, int interrupt,
                const char *heading)
{
    struct snapshot *snapshots[RSM_NODE_ID_MAX];
    uint32_t nodes[RSM_NODE_ID_MAX];
    size_t wanted = list_nodes(targets, nodes), count = 0;
    bool failed = false;
    for (; count < wanted && !failed; count++) {
        char path[RSM_PROTO_PATH_MAX];
        rsmcore_runtime_socket(&targets->runtime, nodes[count], path);
        snapshots[count] = snapshot_take(nodes[count], path, options->sections, interrupt);
        failed = snapshots[count] == NULL;
        if (failed)
            break;
    }
    if (interrupt < 0 || !watch_ended(interrupt, 0)) {
        if (failed || !print_frame(snapshots, count, options, heading)) {
            complain(failed ? strerror(ENOMEM) : "cannot write");
            failed = true;
        }
        failed |= report(targets, snapshots, count);
    }
    while (count > 0)
        snapshot_free(snapshots[--count]);
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
    bool first = true;
    do {
        char heading[128];
        make_heading(options, first, heading, sizeof heading);
        first = false;
        look(targets, options, interrupt, heading);
        if (ferror(stdout))
            return EXIT_FAILURE;
    } while (!watch_ended(interrupt, (int)options->interval * 1000));
    close(interrupt);
    return EXIT_SUCCESS;
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
    return options.interval == 0 ? look(&targets, &options, -1, "") : watch(&targets, &options);
}
