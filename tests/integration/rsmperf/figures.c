/* SPDX-License-Identifier: BSD-3-Clause */
#include "figures.h"

#include <math.h>

#include "process.h"

int rsmperf_setup(void **state)
{
    run_program = "rsmperf";
    be_node(0);
    return world_setup(state);
}

void be_node(unsigned node)
{
    char text[16];
    snprintf(text, sizeof text, "%u", node);
    assert_int_equal(node == 0 ? unsetenv("RSM_NODE") : setenv("RSM_NODE", text, 1), 0);
}

static void check_times(const struct json_value *of)
{
    double best = get_real(of, "best_ns"), p50 = get_real(of, "p50_ns");
    double p99 = get_real(of, "p99_ns");
    assert_true(isfinite(best) && isfinite(p50) && isfinite(p99));
    assert_true(best > 0 && best <= p50 && best <= p99);
    assert_true(get_number(of, "samples") > 0);
    const struct json_value *rate = json_member(of, "mb_per_s");
    assert_non_null(rate);
    if (rate->kind != JSON_NULL)
        assert_true(rate->kind == JSON_REAL && rate->real > 0);
}

/* With put and get, wherever the other side is. */
static bool is_of_a_mapping(const struct json_value *figure)
{
    const char *name = get_string(figure, "operation");
    return strcmp(name, "map-load") == 0 || strcmp(name, "map-store") == 0;
}

void check_figures(const struct json_value *root, size_t count, bool compared)
{
    const struct json_value *figures = get(root, "figures", JSON_ARRAY);
    assert_int_equal(json_count(figures), count);
    assert_null(json_member(root, "error"));
    for (const struct json_value *v = figures->first; v != NULL; v = v->next) {
        if (json_member(v, "error") != NULL)
            fail_msg("%s: %s", get_string(v, "operation"), get_string(v, "error"));
        check_times(v);
        bool has_limit = compared || is_of_a_mapping(v);
        assert_true(get_is_null(v, "limit") == !has_limit);
        if (!has_limit)
            continue;
        check_times(get(v, "limit", JSON_OBJECT));
        assert_true(get_real(v, "ratio") >= 0);
    }
}

const struct json_value *figure_of(const struct json_value *root, const char *operation,
                                   uint64_t bytes)
{
    const struct json_value *figures = get(root, "figures", JSON_ARRAY);
    for (const struct json_value *v = figures->first; v != NULL; v = v->next)
        if (strcmp(get_string(v, "operation"), operation) == 0 &&
            (bytes == 0 ? get_is_null(v, "bytes") : get_number(v, "bytes") == bytes))
            return v;
    fail_msg("%s of %u bytes is missing", operation, (unsigned)bytes);
    return NULL;
}

void check_fails(const struct world *world, const char *options, int status, const char *words)
{
    struct outcome outcome = run(world, options);
    if (outcome.status != status || strstr(outcome.err, words) == NULL)
        fail_msg("%s: status %d, %s", options, outcome.status, outcome.err);
    assert_true(strncmp(outcome.err, "rsmperf: ", 9) == 0);
    outcome_free(&outcome);
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

void await_exports(const struct world *world, size_t count)
{
    int64_t deadline = now_ms() + RUN_MS;
    run_program = "rsmstat";
    for (size_t found = count + 1; found != count; pause_a_little()) {
        struct json_value *root = run_json(world, geteuid(), "-n 1", 0);
        found = json_count(get(get_node(root, 1), "exports", JSON_ARRAY));
        json_free(root);
        if (found != count && now_ms() > deadline)
            fail_msg("%zu exports instead of %zu", found, count);
    }
    run_program = "rsmperf";
}

/* Daemons have the directory in their command lines, too. */
static bool count_rsmperf(pid_t pid, void *context)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t length = read(fd, name, sizeof name - 1);
        name[length > 0 ? length : 0] = '\0';
        close(fd);
    }
    *(unsigned *)context += strcmp(name, "rsmperf\n") == 0;
    return true;
}

/* Orphans are ours. */
static void reap(void)
{
    int status;
    while (child_await(-1, 0, 0, &status) > 0)
        if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) &&
            !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
            fail_msg("an orphan ended with wait status 0x%x", (unsigned)status);
}

void await_left(const struct world *world, unsigned count)
{
    int64_t deadline = now_ms() + RUN_MS;
    for (unsigned found = count + 1; found != count; pause_a_little()) {
        found = 0;
        processes_with(world->directory, count_rsmperf, &found);
        if (found != count && now_ms() > deadline)
            fail_msg("%u processes instead of %u", found, count);
    }
    reap(); /* what has ended has no command line, and may still be a zombie */
}
