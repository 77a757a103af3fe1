/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <grp.h>
#include <regex.h>
#include <sys/prctl.h>

#include "process.h"

const char *run_program = "rsmstat";

/* ---------------------------------------------------------------- running */

static _Noreturn void become_tool(const struct world *world, uid_t uid, const char *options)
{
    char path[512], text[512], *arguments[32] = {path, (char *)(uintptr_t) "-d"};
    size_t count = 2;
    snprintf(path, sizeof path, "%s/bin/%s", getenv("RSM_BUILD_DIR"), run_program);
    snprintf(text, sizeof text, "%s %s", world->directory, options);
    for (char *word = strtok(text, " "); word != NULL && count < 31; word = strtok(NULL, " "))
        arguments[count++] = word;
    if (uid != geteuid() &&
        (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
        _exit(126);
    children_unwatch();
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(path, arguments);
    _exit(127);
}

struct run run_begin(const struct world *world, uid_t uid, const char *options, int out)
{
    int outs[2] = {-1, out}, errs[2];
    assert_non_null(getenv("RSM_BUILD_DIR"));
    if (out < 0)
        assert_int_equal(pipe2(outs, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errs, O_CLOEXEC), 0);
    fflush(NULL);
    struct run run = {.out = outs[0], .err = errs[0], .started = now_ms()};
    run.pid = fork();
    assert_true(run.pid >= 0);
    if (run.pid == 0) {
        if (dup2(outs[1], STDOUT_FILENO) < 0 || dup2(errs[1], STDERR_FILENO) < 0)
            _exit(125);
        become_tool(world, uid, options);
    }
    close(outs[1]);
    close(errs[1]);
    return run;
}

static bool is_readable(int fd, int ms)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    return poll(&readable, 1, ms) > 0;
}

/* Append to a growing text what is there. False: that was the end. */
static bool read_some(int fd, char **text, size_t *length, size_t *room)
{
    if (*room - *length < 1 << 15) {
        *room = *room == 0 ? 1 << 16 : 2 * *room;
        assert_true(*room <= RUN_BYTES);
        char *grown = realloc(*text, *room);
        if (grown == NULL) {
            fail_msg("out of memory");
            return false;
        }
        *text = grown;
    }
    assert_true(is_readable(fd, RUN_MS));
    ssize_t got = read(fd, *text + *length, *room - *length - 1);
    if (got > 0) /* EIO: a terminal's other end was closed */
        *length += (size_t)got;
    (*text)[*length] = '\0';
    return got > 0;
}

unsigned run_count(const struct run *run, const char *part)
{
    unsigned found = 0;
    for (const char *at = run->seen; at != NULL && (at = strstr(at, part)) != NULL; at++)
        found++;
    return found;
}

void run_await(struct run *run, const char *text, unsigned times)
{
    while (run_count(run, text) < times)
        assert_true(read_some(run->out, &run->seen, &run->length, &run->room));
}

struct outcome run_end(struct run *run)
{
    struct outcome outcome = {.err = NULL};
    size_t length = 0, room = 0;
    int status;
    while (read_some(run->out, &run->seen, &run->length, &run->room))
        ;
    while (read_some(run->err, &outcome.err, &length, &room))
        ;
    close(run->out);
    close(run->err);
    outcome.out = run->seen;
    outcome.out_length = run->length;
    assert_int_equal(child_await(run->pid, 0, RUN_MS, &status), run->pid);
    outcome.ms = now_ms() - run->started;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (outcome.status > 2 || outcome.status < 0)
        fail_msg("%s ended with wait status 0x%x: %s", run_program, (unsigned)status, outcome.err);
    return outcome;
}

struct outcome run_as(const struct world *world, uid_t uid, const char *options)
{
    struct run begun = run_begin(world, uid, options, -1);
    return run_end(&begun);
}

struct outcome run(const struct world *world, const char *options)
{
    return run_as(world, geteuid(), options);
}

void outcome_free(struct outcome *outcome)
{
    free(outcome->out);
    free(outcome->err);
}

/* ---------------------------------------------------------------- text */

bool has_line(const char *text, const char *pattern)
{
    char expression[256];
    snprintf(expression, sizeof expression, "(^|\n)%s\n", pattern);
    regex_t compiled;
    assert_int_equal(regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

/* ---------------------------------------------------------------- JSON */

/* Another reader than ours, where there is one. */
static void ask_python(const char *text, size_t length)
{
    static const char command[] =
        "command -v python3 >/dev/null || exit 0; "
        "exec python3 -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode(\"utf-8\"))'";
    FILE *python = popen(command, "we");
    assert_non_null(python);
    assert_int_equal(fwrite(text, 1, length, python), length);
    assert_int_equal(pclose(python), 0);
}

struct json_value *parse(const char *text, size_t length)
{
    size_t where;
    struct json_value *root = json_parse(text, length, &where);
    if (root == NULL)
        fail_msg("no JSON at byte %zu: %.200s", where, text + (where > 100 ? where - 100 : 0));
    return root;
}

struct json_value *run_json(const struct world *world, uid_t uid, const char *options, int status)
{
    char all[256];
    snprintf(all, sizeof all, "--json %s", options);
    struct outcome outcome = run_as(world, uid, all);
    if (outcome.status != status)
        fail_msg("exit status %d: %s%s", outcome.status, outcome.err, outcome.out);
    if (status == 0)
        assert_string_equal(outcome.err, "");
    struct json_value *root = parse(outcome.out, outcome.out_length);
    ask_python(outcome.out, outcome.out_length);
    outcome_free(&outcome);
    assert_int_equal(get_number(root, run_program), 1);
    return root;
}

const struct json_value *get(const struct json_value *object, const char *key, enum json_kind kind)
{
    const struct json_value *member = json_member(object, key);
    if (member == NULL || member->kind != kind)
        fail_msg("%s: %s", key, member == NULL ? "is missing" : "is of another kind");
    return member;
}

uint64_t get_number(const struct json_value *object, const char *key)
{
    return get(object, key, JSON_NUMBER)->number;
}

double get_real(const struct json_value *object, const char *key)
{
    return get(object, key, JSON_REAL)->real;
}

const char *get_string(const struct json_value *object, const char *key)
{
    return get(object, key, JSON_STRING)->string;
}

bool get_is_null(const struct json_value *object, const char *key)
{
    const struct json_value *member = json_member(object, key);
    assert_non_null(member);
    return member->kind == JSON_NULL;
}

const struct json_value *get_node(const struct json_value *root, unsigned node)
{
    const struct json_value *nodes = get(root, "nodes", JSON_ARRAY);
    for (const struct json_value *v = nodes->first; v != NULL; v = v->next)
        if (get_number(v, "node") == node)
            return v;
    fail_msg("node %u is missing", node);
    return NULL;
}

const struct json_value *find(const struct json_value *node, const char *list, const char *key,
                              uint64_t number)
{
    const struct json_value *array = get(node, list, JSON_ARRAY);
    for (const struct json_value *v = array->first; v != NULL; v = v->next) {
        const struct json_value *member = json_member(v, key);
        if (member != NULL && member->kind == JSON_NUMBER && member->number == number)
            return v;
    }
    return NULL;
}
