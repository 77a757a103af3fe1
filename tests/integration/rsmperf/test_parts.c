/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics, numbers in JSON, and the reader of what perftest writes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "cmocka_all.h"
#include "json.h"
#include "samples.h"

static struct samples *make(unsigned count, double first, double step)
{
    struct samples *made = calloc(1, sizeof *made);
    assert_non_null(made);
    for (unsigned r = 0; r < REPETITIONS; r++)
        for (unsigned i = 0; i < count; i++)
            samples_add(&made->slice[r], first + i * step);
    return made;
}

static void test_statistics(void **state)
{
    struct figure figure;
    struct samples *one = make(100, 1, 1);
    const struct samples *all[] = {one, one};
    (void)state;
    assert_true(samples_sum(all, 1, &figure));
    assert_true(figure.best == 1 && figure.p50 == 50 && figure.p99 == 99);
    assert_true(figure.spread == 0 && figure.count == 500);
    /* One repetition that was disturbed moves p99 and the spread, and not the median. */
    for (unsigned i = 0; i < 100; i++)
        one->slice[3].value[i] += 1000;
    assert_true(samples_sum(all, 2, &figure));
    assert_true(figure.best == 1 && figure.p50 == 50 && figure.p99 > 1090);
    assert_true(figure.spread == 1050.0 / 50 - 1 && figure.count == 1000);
    /* An importer without samples makes it worthless. */
    memset(&one->slice[4], 0, sizeof one->slice[4]);
    assert_false(samples_sum(all, 1, &figure));
    assert_false(samples_sum(all, 0, &figure));
    free(one);
}

/* Of more samples than are kept a fair choice is, and the best always counts. */
static void test_many_samples(void **state)
{
    struct figure figure;
    struct samples *made = make(50 * SLICE_SAMPLES, 100, 1);
    const struct samples *all[] = {made};
    (void)state;
    for (unsigned r = 0; r < REPETITIONS; r++)
        samples_add(&made->slice[r], 7);
    assert_true(samples_sum(all, 1, &figure));
    assert_true(figure.best == 7);
    assert_int_equal(figure.count, REPETITIONS * (50 * SLICE_SAMPLES + 1));
    assert_true(figure.p50 > 20000 && figure.p50 < 30000);
    assert_true(figure.p99 > 47500 && figure.p99 < 50100);
    free(made);
}

static void test_reals(void **state)
{
    char *text = NULL;
    size_t length = 0;
    (void)state;
    struct json json = {.out = open_memstream(&text, &length)};
    assert_non_null(json.out);
    json_open(&json, NULL, '[');
    json_real(&json, NULL, 0.5);
    json_real(&json, NULL, 1234567890.1239);
    json_real(&json, NULL, -2);
    json_real(&json, NULL, NAN);
    json_real(&json, NULL, INFINITY);
    json_real(&json, NULL, -INFINITY);
    json_close(&json, '[');
    assert_int_equal(fclose(json.out), 0);
    assert_string_equal(text, "[0.500, 1234567890.124, -2.000, null, null, null]");
    free(text);
}

static void test_perftest_tables(void **state)
{
    static const char latency[] =
        " Data ex. method : Ethernet\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec] ...\n"
        " 2       1000          1.00           9.00         2.00     	       2.10   	0.10 	"
        "3.00  8\n"
        " 8       1000          11.24          65.27        12.50     	       12.61        	"
        "1.50   		"
        "15.50   		65.27  \n";
    static const char bandwidth[] =
        " 65536      5000             10.00              8.00		   0.015259\n";
    struct figure figure;
    (void)state;
    assert_true(perftest_parse(latency, 8, false, &figure));
    assert_true(figure.best == 11240 && figure.p50 == 12500 && figure.p99 == 15500);
    assert_int_equal(figure.count, 1000);
    assert_false(perftest_parse(latency, 4, false, &figure));
    assert_true(perftest_parse(bandwidth, 65536, true, &figure));
    assert_true(figure.p50 == 65536 && fabs(figure.best - 52428.8) < 1e-6);
    assert_false(perftest_parse(bandwidth, 65536, false, &figure));
}

static void test_perftest_nonsense(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        " 8",
        " 8 1000 1 1 1",
        " 8 1000 nan nan nan nan nan nan nan",
        " 8 1000 0 0 0 0 0 0 0",
        " 8 0 1 1 1 1 1 1 1",
        " 8 1000 -1 1 -1 1 1 1 1",
        " 8 1000 1 1 1 1 1 1 1 failed",
        "-8 1000 1 1 1 1 1 1 1",
        " 8 1000 inf inf inf inf inf inf inf",
        " 8 1000 1e999 1 1e999 1 1 1e999 1",
        " 8 nan 1 1 1 1 1 1 1",
        " 8 1e300 1 1 1",
        " 8 1000\n 1 1 1 1 1 1 1",
        " 8\n1000 1 1 1",
    };
    struct figure figure;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int bandwidth = 0; bandwidth < 2; bandwidth++)
            if (perftest_parse(texts[i], 8, bandwidth != 0, &figure) && i != 3)
                fail_msg("'%s' was taken for a figure", texts[i]);
}

static void test_ucx_tables(void **state)
{
    static const char text[] =
        "some words\n"
        "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
        "10000,0.351,14.437,14.437,270.57,1000.00,69265,69265\n";
    static const char older[] = "iterations,typical_lat,avg_lat,overall_lat,avg_bw,overall_bw\n"
                                "10000,0.25,1,1,1,500\n";
    static const char *const nonsense[] = {
        "",
        "iterations,50.0_percentile_lat,overall_bw\n",
        "iterations,50.0_percentile_lat,overall_bw",
        "iterations,50.0_percentile_lat,overall_bw\n1000\n",
        "iterations,50.0_percentile_lat,overall_bw\n1000,,\n",
        "iterations,50.0_percentile_lat,overall_bw\n1000,0.000,0\n",
        "iterations,50.0_percentile_lat,overall_bw\n1000,nan,inf\n",
        "iterations,50.0_percentile_lat,overall_bw\n1000,-1,-1\n",
        "iterations,50.0_percentile_lat,overall_bw\n1000,1x,1 2\n",
        "iterations,median,bandwidth\n1000,1,1\n",
        "1000,1,1\n",
    };
    (void)state;
    assert_true(beside_ucx_parse(text, 8, false) == 351);
    assert_true(fabs(beside_ucx_parse(text, 65536, true) - 62500) < 1e-6);
    assert_true(beside_ucx_parse(older, 8, false) == 250);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        for (int stream = 0; stream < 2; stream++)
            if (beside_ucx_parse(nonsense[i], 8, stream != 0) != 0)
                fail_msg("'%s' was taken for a figure", nonsense[i]);
}

static void test_mpi_lines(void **state)
{
    static const char *const nonsense[] = {
        "",
        "rsmperf-mpi 8 1000\n",
        "rsmperf-mpi 16 1000 5\n",
        "rsmperf-mpi 8 0 5\n",
        "rsmperf-mpi 8 1000 nan\n",
        "rsmperf-mpi 8 1000 -5\n",
        "no rsmperf-mpi 8 1000 5\n",
    };
    (void)state;
    assert_true(beside_mpi_parse("rsmperf-mpi 8 1000 62.5\n", 8) == 62.5);
    assert_true(beside_mpi_parse("a warning\n\nrsmperf-mpi 8 1000 5\nanother one\n", 8) == 5);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        if (beside_mpi_parse(nonsense[i], 8) != 0)
            fail_msg("'%s' was taken for a figure", nonsense[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_many_samples),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_perftest_tables),
        cmocka_unit_test(test_perftest_nonsense),
        cmocka_unit_test(test_ucx_tables),
        cmocka_unit_test(test_mpi_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
