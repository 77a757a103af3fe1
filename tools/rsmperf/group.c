/* SPDX-License-Identifier: BSD-3-Clause */
#include "group.h"

#include <errno.h>
#include <rsm/group.h>
#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

enum {
    SAMPLES_MAX = 1 << 20, /* of one row: when there are so many it ends, whatever the time */
    WARM_UP = 100,
    JOIN_TRIES = 100, /* until a member that was started is found, or another one */
    TRY_MS = 100,
    FIRST_TRIES = 20, /* the same, where it is not known whether there is one */
};

struct writer {
    const struct options *options;
    struct group_run *run;
    rsmapi_controller_handle_t controller;
    rsm_group_handle_t group;
    uint8_t *bytes; /* as many as the largest size */
    double *sample; /* SAMPLES_MAX */
    struct group_member started[MEMBERS_MAX];
    unsigned start_count;
};

static bool failed(struct writer *writer, const char *call, int error)
{
    report_error(writer->run->failure, call, error);
    return false;
}

/* ---------------------------------------------------------------- members */

/* Those that are connected. */
static int count_members(struct writer *writer, unsigned *members)
{
    rsm_group_member_t all[4 * MEMBERS_MAX];
    uint_t count = sizeof all / sizeof *all;
    *members = 0;
    int error = rsm_group_get_members(writer->group, all, &count);
    count = count < sizeof all / sizeof *all ? count : sizeof all / sizeof *all;
    for (uint_t i = 0; error == RSM_SUCCESS && i < count; i++)
        *members += all[i].error == RSM_SUCCESS;
    return error;
}

static bool await_members(struct writer *writer, unsigned least, unsigned tries, unsigned *members)
{
    rsm_group_event_t event;
    for (unsigned i = 0; i < tries; i++) {
        int error = count_members(writer, members);
        if (error != RSM_SUCCESS)
            return failed(writer, "rsm_group_get_members", error);
        if (*members >= least)
            return true;
        error = rsm_group_event_wait(writer->group, TRY_MS, &event);
        if (error != RSM_SUCCESS && error != RSMERR_TIMEOUT)
            return failed(writer, "rsm_group_event_wait", error);
    }
    return false;
}

/* Before this process uses the library: they are forked. */
static bool start_members(struct writer *writer)
{
    const struct options *options = writer->options;
    for (; writer->start_count < options->member_count; writer->start_count++)
        if (!group_member_start(&writer->started[writer->start_count], options,
                                options->members[writer->start_count])) {
            snprintf(writer->run->failure, REPORT_BYTES, "%s", strerror(errno));
            return false;
        }
    return true;
}

/* ---------------------------------------------------------------- figures */

static struct group_row *add_row(struct group_run *run)
{
    if (run->count == run->room) {
        unsigned room = run->room == 0 ? 32 : 2 * run->room;
        struct group_row *grown = realloc(run->rows, room * sizeof *grown);
        if (grown == NULL) {
            snprintf(run->failure, REPORT_BYTES, "%s", strerror(ENOMEM));
            return NULL;
        }
        run->rows = grown;
        run->room = room;
    }
    return &run->rows[run->count++];
}

/* Put, and wait until every member has it. */
static int put_to_all(struct writer *writer, size_t bytes, uint_t *lacking, const char **call)
{
    *call = "rsm_group_put";
    int error = rsm_group_put(writer->group, 0, writer->bytes, bytes);
    if (error != RSM_SUCCESS)
        return error;
    *call = "rsm_group_close_barrier";
    return rsm_group_close_barrier(writer->group, lacking);
}

static uint64_t take_samples(struct writer *writer, struct group_row *row)
{
    uint64_t count = 0;
    uint_t lacking = 0;
    const char *call = "";
    int error = RSM_SUCCESS;
    for (unsigned i = 0; i < WARM_UP && error == RSM_SUCCESS; i++)
        error = put_to_all(writer, row->bytes, &lacking, &call);
    double now = clock_ns(), end = now + writer->options->time_ms * 1e6;
    while (error == RSM_SUCCESS && count < SAMPLES_MAX && now < end) {
        double start = now;
        writer->bytes[0]++;
        error = put_to_all(writer, row->bytes, &lacking, &call);
        now = clock_ns();
        writer->sample[count++] = now - start;
    }
    if (error == RSMERR_BARRIER_FAILURE)
        snprintf(row->failure, REPORT_BYTES, "%u of the members may lack data", lacking);
    else if (error == RSMERR_BAD_OFFSET)
        snprintf(row->failure, REPORT_BYTES,
                 "too large for every member: give their 'rsmperf --member' the same --sizes");
    else if (error != RSM_SUCCESS)
        report_error(row->failure, call, error);
    return count;
}

static double p50_of_one(const struct group_run *run, size_t bytes)
{
    for (unsigned i = 0; i < run->count; i++)
        if (run->rows[i].members == 1 && run->rows[i].bytes == bytes &&
            run->rows[i].failure[0] == '\0')
            return run->rows[i].p50;
    return 0;
}

/* With the members that there are. A row in which they changed says nothing. */
static bool measure(struct writer *writer, size_t bytes)
{
    struct group_row row = {.bytes = bytes};
    unsigned after;
    int error = count_members(writer, &row.members);
    if (error == RSM_SUCCESS) {
        row.samples = take_samples(writer, &row);
        error = count_members(writer, &after);
    }
    if (error != RSM_SUCCESS)
        return failed(writer, "rsm_group_get_members", error);
    if (row.failure[0] == '\0' && after != row.members)
        snprintf(row.failure, REPORT_BYTES, "there were %u members, and then %u", row.members,
                 after);
    if (row.failure[0] == '\0') {
        row.best = samples_quantile(writer->sample, row.samples, 0);
        row.p50 = samples_quantile(writer->sample, row.samples, 0.5);
        row.p99 = samples_quantile(writer->sample, row.samples, 0.99);
        row.p9999 = samples_quantile(writer->sample, row.samples, 0.9999);
        double one = p50_of_one(writer->run, bytes);
        row.of_one = row.members == 1 ? 1 : one > 0 ? row.p50 / one : 0;
    }
    struct group_row *added = add_row(writer->run);
    if (added == NULL)
        return false;
    *added = row;
    return true;
}

static bool measure_sizes(struct writer *writer)
{
    const struct options *options = writer->options;
    for (unsigned i = 0; i < options->size_count; i++)
        if (!measure(writer, options->sizes[i]))
            return false;
    return true;
}

/* With 1, 2, 4 ... of the members that this process has started, and with all. There are no others,
 * or the figures would be of more members than they say. */
static bool measure_started(struct writer *writer)
{
    unsigned joined = 0, there = 0;
    if (await_members(writer, 1, 2, &there))
        snprintf(writer->run->failure, REPORT_BYTES,
                 "the group has members already: end their 'rsmperf --member', or give this "
                 "command another --id");
    if (writer->run->failure[0] != '\0')
        return false;
    for (unsigned wanted = 1; joined < writer->start_count; wanted *= 2) {
        wanted = wanted < writer->start_count ? wanted : writer->start_count;
        for (; joined < wanted; joined++)
            if (!group_member_join(&writer->started[joined], writer->run->failure))
                return false;
        if (!await_members(writer, wanted, JOIN_TRIES, &there)) {
            if (writer->run->failure[0] == '\0')
                snprintf(writer->run->failure, REPORT_BYTES, "%u of %u members were found", there,
                         wanted);
            return false;
        }
        if (!measure_sizes(writer))
            return false;
    }
    return true;
}

static bool measure_found(struct writer *writer)
{
    unsigned there = 0;
    if (await_members(writer, 1, FIRST_TRIES, &there))
        return measure_sizes(writer);
    if (writer->run->failure[0] == '\0')
        snprintf(writer->run->failure, REPORT_BYTES,
                 "no member was found: run 'rsmperf --member' on the nodes that are to be "
                 "members, or name nodes of this host by --members");
    return false;
}

/* ---------------------------------------------------------------- */

static bool begin(struct writer *writer)
{
    const struct options *options = writer->options;
    char name[NAME_BYTES];
    memcpy(name, options->controller, sizeof name);
    writer->bytes = calloc(1, options->sizes[options->size_count - 1]);
    writer->sample = malloc(SAMPLES_MAX * sizeof *writer->sample);
    if (writer->bytes == NULL || writer->sample == NULL) {
        snprintf(writer->run->failure, REPORT_BYTES, "%s", strerror(ENOMEM));
        return false;
    }
    int error = rsm_get_controller(name, &writer->controller);
    if (error != RSM_SUCCESS)
        return failed(writer, "rsm_get_controller", error);
    error = rsm_group_connect(writer->controller, options->id, &writer->group);
    return error == RSM_SUCCESS || failed(writer, "rsm_group_connect", error);
}

static void end(struct writer *writer)
{
    if (writer->group != NULL)
        (void)rsm_group_disconnect(writer->group);
    if (writer->controller != NULL)
        (void)rsm_release_controller(writer->controller);
    while (writer->start_count > 0) /* a later one has the sockets to those before it, too */
        group_member_end(&writer->started[--writer->start_count]);
    free(writer->bytes);
    free(writer->sample);
}

static bool report(const struct group_run *run)
{
    bool good = run->failure[0] == '\0';
    for (unsigned i = 0; i < run->count; i++)
        if (run->rows[i].failure[0] != '\0') {
            complain("%zu bytes to %u member%s: %s", run->rows[i].bytes, run->rows[i].members,
                     run->rows[i].members == 1 ? "" : "s", run->rows[i].failure);
            good = false;
        }
    if (run->failure[0] != '\0')
        complain("%s", run->failure);
    return good;
}

int group_main(const struct options *options)
{
    struct group_run run = {.options = options};
    struct writer writer = {.options = options, .run = &run};
    if (start_members(&writer) && begin(&writer))
        (void)(options->member_count > 0 ? measure_started(&writer) : measure_found(&writer));
    end(&writer);
    bool good = report(&run);
    bool shown = group_show(&run) && fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!shown)
        complain("standard output could not be written");
    free(run.rows);
    return good && shown ? EXIT_SUCCESS : EXIT_FAILURE;
}
