/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Running a tool in a world and reading what it wrote. Whatever goes wrong fails the test.
 */
#ifndef TESTS_RSMSTAT_RUN_H
#define TESTS_RSMSTAT_RUN_H

#include "harness.h"
#include "json_reader.h"

enum { RUN_MS = 120000, RUN_BYTES = 1 << 25 };

/** The tool: rsmstat, unless a test says otherwise. */
extern const char *run_program;

/** What a run has left. */
struct outcome {
    int status; /**< of its exit; -1: a signal ended it */
    char *out;  /**< NUL-terminated */
    size_t out_length;
    char *err;
    int64_t ms; /**< it took */
};

/** A run that goes on. */
struct run {
    pid_t pid;
    int out, err; /**< pipes to read from */
    int64_t started;
    char *seen; /**< of its standard output, so far */
    size_t length, room;
};

/** Start `TOOL -d WORLD OPTIONS`; @p options are separated by blanks. @p out: what becomes its
 *  standard output, closed here, or -1 for a pipe. */
struct run run_begin(const struct world *world, uid_t uid, const char *options, int out);
/** Wait until its standard output holds @p text so many times. */
void run_await(struct run *run, const char *text, unsigned times);
/** How often its standard output, as far as it has been read, holds @p text. */
unsigned run_count(const struct run *run, const char *text);
struct outcome run_end(struct run *run);

struct outcome run_as(const struct world *world, uid_t uid, const char *options);
struct outcome run(const struct world *world, const char *options);
void outcome_free(struct outcome *outcome);

/** Whether a whole line of the text is as an extended regular expression says. */
bool has_line(const char *text, const char *pattern);

/** Run with --json: valid JSON of the tool's and this exit status, whichever user. The caller
 *  frees. */
struct json_value *run_json(const struct world *world, uid_t uid, const char *options, int status);
/** Parse, by our own reader and, where there is one, by Python's. */
struct json_value *parse(const char *text, size_t length);

/* Members that must be there and of that kind. */
const struct json_value *get(const struct json_value *object, const char *key, enum json_kind kind);
uint64_t get_number(const struct json_value *object, const char *key);
double get_real(const struct json_value *object, const char *key);
const char *get_string(const struct json_value *object, const char *key);
bool get_is_null(const struct json_value *object, const char *key);
/** The object for a node in the whole. */
const struct json_value *get_node(const struct json_value *root, unsigned node);
/** The object in array @p list of @p node whose @p key is @p number; NULL if there is none. */
const struct json_value *find(const struct json_value *node, const char *list, const char *key,
                              uint64_t number);

#endif
