/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Groups (rsm/group.h): how long until every member has what was put. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "options.h"
#include "report.h"

/** One line of the table: puts of one size, each with a close barrier, to so many members. */
struct group_row {
    unsigned members;
    size_t bytes;
    uint64_t samples;
    double best, p50, p99, p9999; /**< ns */
    double of_one;                /**< p50 over that of one member; 0: it is not known */
    char failure[REPORT_BYTES];   /**< empty: there is none */
};

/** What --group found. */
struct group_run {
    const struct options *options;
    struct group_row *rows;
    unsigned count, room;
    char failure[REPORT_BYTES]; /**< why there is nothing (more) */
};

/** --group. Returns the exit status. */
int group_main(const struct options *options);

/** --member: be a member until SIGINT or SIGTERM. Returns the exit status. */
int group_member_main(const struct options *options);

/* ---- group_member.c */

/** A member in a process of its own, which ends with this one. */
struct group_member {
    int socket;
    pid_t pid;
};

/** Start a process that becomes a member on @p node when it is asked to. */
bool group_member_start(struct group_member *member, const struct options *options, uint32_t node);
/** Ask it. False: @p failure says why it is none. */
bool group_member_join(const struct group_member *member, char failure[REPORT_BYTES]);
/** Have it leave and end. */
void group_member_end(const struct group_member *member);

/* ---- group_show.c */

/** Print the rows as the options say. False: there was no memory. */
bool group_show(const struct group_run *run);
