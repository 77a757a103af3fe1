/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of a verbs device, by stand-ins for the programs that measure it. */
#include "figures.h"

#define OPTIONS "--limit-device rxe0,rxe1 -s 64K -t 5 "

static int setup(void **state)
{
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", getenv("RSM_FAKE_PERFTEST"), getenv("PATH"));
    setenv("PATH", path, 1);
    unsetenv("RSM_FAKE_FAULT");
    return rsmperf_setup(state);
}

static void check_limit(const struct json_value *figure, const char *program, double best,
                        double p50)
{
    const struct json_value *limit = get(figure, "limit", JSON_OBJECT);
    assert_string_equal(get_string(limit, "name"), program);
    assert_true(get_real(limit, "best_ns") == best);
    assert_true(get_real(limit, "p50_ns") == p50);
    assert_true(get_real(figure, "ratio") >= 0);
}

#define PERFTEST_TEST(test) TEST_WITH(struct world *world, test, setup, world_teardown)

PERFTEST_TEST(test_limits)
{
    struct json_value *root =
        run_json(world, geteuid(), OPTIONS "-o get,put-stream,get-stream,pingpong", 0);
    check_figures(root, 4, true);
    check_limit(figure_of(root, "pingpong", 8), "ib_write_lat", 1250, 1500);
    check_limit(figure_of(root, "get", 65536), "ib_read_lat", 1250, 1500);
    /* 65536 bytes at 10 and 8 Gb/s */
    check_limit(figure_of(root, "put-stream", 65536), "ib_write_bw", 52428.8, 65536);
    check_limit(figure_of(root, "get-stream", 65536), "ib_read_bw", 52428.8, 65536);
    const struct json_value *stream = figure_of(root, "put-stream", 65536);
    assert_string_equal(get_string(get(stream, "target", JSON_OBJECT), "text"), ">= 0.95");
    json_free(root);
    /* Beside a queue of eight entries perftest has one of eight: 16 and 8 Gb/s */
    root = run_json(world, geteuid(), OPTIONS "--api sisci -o sci-dma-queue", 0);
    check_limit(figure_of(root, "sci-dma-queue", 65536), "ib_write_bw", 32768, 65536);
    json_free(root);
    /* What perftest has no program for is not compared. */
    root = run_json(world, geteuid(), OPTIONS "-o put,barrier", 0);
    check_figures(root, 2, false);
    json_free(root);
}

PERFTEST_TEST(test_faults)
{
    static const char *const faults[][2] = {
        {"server", "rsmperf: ib_read_lat: no such device\n"},
        {"client", "rsmperf: ib_read_lat: ------"},
    };
    for (int i = 0; i < 2; i++) {
        setenv("RSM_FAKE_FAULT", faults[i][0], 1);
        struct outcome outcome = run(world, OPTIONS "--json -o get");
        assert_int_equal(outcome.status, 0);
        if (strncmp(outcome.err, faults[i][1], strlen(faults[i][1])) != 0)
            fail_msg("%s", outcome.err);
        struct json_value *root = parse(outcome.out, outcome.out_length);
        check_figures(root, 1, false);
        json_free(root);
        outcome_free(&outcome);
    }
}

/* Of three runs of both sides, in turn, the one with the ratio in the middle is shown. */
PERFTEST_TEST(test_turns)
{
    char path[] = "/tmp/rsmperf-rates.XXXXXX", rest[8];
    static const char rates[] = "8e6\n8\n8e-6\n";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, rates, strlen(rates)), strlen(rates));
    close(fd);
    setenv("RSM_FAKE_RATES", path, 1);
    struct json_value *root = run_json(world, geteuid(), OPTIONS "--turns 3 -o put-stream", 0);
    unsetenv("RSM_FAKE_RATES");
    check_figures(root, 1, true);
    check_limit(figure_of(root, "put-stream", 65536), "ib_write_bw", 65536, 65536);
    json_free(root);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, rest, sizeof rest), 0); /* each was taken */
    close(fd);
    unlink(path);
}
